// rows: what one node gives for one sample: a row a step, or one row behind a pooling layer.
//   The plain currency of src/reference; a sample is calculated alone, so there is no batch dimension and no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::reference {

template <typename T>
struct Rows {
  int64_t count = 0;
  int64_t width = 0;
  std::vector<T> values;  // row-major, [count, width]

  Rows() = default;
  Rows(int64_t rows, int64_t columns) : count(rows), width(columns), values(static_cast<size_t>(rows * columns)) {}  // zeros
  T* row(int64_t r) { return values.data() + r * width; }
  const T* row(int64_t r) const { return values.data() + r * width; }
};

template <typename T>
std::vector<T> StartOrZeros(const std::vector<T>& start, int64_t width) {
  return start.empty() ? std::vector<T>(static_cast<size_t>(width)) : start;
}

}  // namespace plimsoll::reference
