// scale: how the columns of a series become numbers around 0: minus a mean, over a deviation, both learnt from the training
// part.
//   scale.txt: a line a column, after a header: role (input or target), name, mean, deviation, missing (1: some values of the
//   training part are missing, and the column has a second feature that says 1 where a value is known)
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr const char* kScaleFile = "/scale.txt";

struct ColumnScale {
  bool target = false;
  std::string name;
  double mean = 0.0;
  double deviation = 1.0;  // above 0
  bool missing = false;
};

// A raw value as the model sees it; a missing one is 0.
inline float Scaled(const ColumnScale& column, double value) {
  return std::isnan(value) ? 0.0f : static_cast<float>((value - column.mean) / column.deviation);
}

std::string ScaleAsText(const std::vector<ColumnScale>& columns);
Result<std::vector<ColumnScale>> ReadScale(const std::string& folder);

}  // namespace plimsoll
