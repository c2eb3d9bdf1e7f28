// row_group: the sequences that run together, packed. Rows are sorted by length, longest first, so the rows active at a step
//   are a prefix; the rows of a step lie together. Step t begins at row-step Before(t).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "plimsoll/observer.h"

namespace plimsoll {

// Most rows of the groups that run at a time. A property of the job alone (with the batch size), never of the threads, and of
// the budget only where nothing else fits.
inline constexpr int64_t kGroupRows = 64;

// Most groups that run side by side; they share kGroupRows out.
inline constexpr int kMostAbreast = 2;

// Targets of a whole batch, by which losses are divided: sequences, or their steps where there is one target a step.
struct BatchItems {
  int64_t rows = 0;
  int64_t row_steps = 0;
  int64_t Of(bool per_step) const { return per_step ? row_steps : rows; }
};

// Of one output: the one or the other.
struct TargetRows {
  const int32_t* classes = nullptr;  // [row-steps] or [rows]; with target_lengths [rows][longest_target]
  const float* values = nullptr;     // the same times target width
};

struct RowGroup {
  int64_t rows = 0;
  int64_t steps = 0;                        // of the longest row
  const int64_t* samples = nullptr;         // [rows] sample numbers
  const int32_t* lengths = nullptr;         // [rows] descending
  const int32_t* ids = nullptr;             // [row-steps], or
  const float* features = nullptr;          // [row-steps][width]
  const float* weights = nullptr;           // [rows] what each counts; null: 1
  const int32_t* target_lengths = nullptr;  // [rows] labels of each target, where it is a sequence without steps
  int64_t longest_target = 0;               // of the data
  const float* start = nullptr;             // [rows][values of State] what State begins with; null: zeros
  float* end = nullptr;                     // the same of what it ends with, to be written; null: nobody wants it
  std::array<TargetRows, kMostOutputs> targets = {};

  // Row-steps before step t.
  int64_t Before(int64_t t) const {
    int64_t sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += std::min<int64_t>(lengths[row], t);
    return sum;
  }
  int64_t Active(int64_t t) const {
    int64_t row = rows;
    while (row > 0 && lengths[row - 1] <= t) --row;
    return row;
  }
  // The row and the step of a packed row-step.
  struct Place {
    int64_t row, step;
  };
  Place PlaceOf(int64_t row_step) const {
    Place place{row_step, 0};
    for (; place.row >= Active(place.step); ++place.step) place.row -= Active(place.step);
    return place;
  }
};

}  // namespace plimsoll
