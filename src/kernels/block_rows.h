// block_rows: which rows are active at each step of a Block. Rows are sorted by length, so the active rows of a step are a
//   prefix; the rows of a step lie together, step after step (packed), and `first` is where each step begins.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace plimsoll {

// Time steps of a Block: the unit of the batched products. A constant of the library, because the order in which weight
// gradients are added depends on it.
inline constexpr int kBlockSteps = 16;

constexpr int64_t BlocksOf(int64_t steps) { return (steps + kBlockSteps - 1) / kBlockSteps; }

// A width in whole vectors of eight floats.
constexpr int64_t WholeVectors(int64_t width) { return (width + 7) / 8 * 8; }

struct BlockRows {
  int steps = 0;                        // at most kBlockSteps
  int32_t rows[kBlockSteps] = {};       // active rows, never growing
  int32_t first[kBlockSteps + 1] = {};  // row-steps before each step; first[steps] is their number
  int64_t row_steps() const { return first[steps]; }
};

// A block of one step, for what knows no time.
inline BlockRows OneStep(int64_t rows) {
  BlockRows block;
  block.steps = 1;
  block.rows[0] = block.first[1] = static_cast<int32_t>(rows);
  return block;
}

// The rows [begin, end) that one part of the pool takes through all steps of a block: cut so that the parts have about the same
// number of row-steps. Who takes a row never changes its bits.
inline Share RowShare(const BlockRows& block, int part, int parts) {
  if (parts == 1) return {0, block.rows[0]};
  const int64_t total = block.row_steps();
  const auto cut = [&](int64_t wanted) {
    int64_t sum = 0;
    int32_t row = 0;
    while (row < block.rows[0] && sum < wanted) {
      int active = 0;
      while (active < block.steps && block.rows[active] > row) ++active;
      sum += active;
      ++row;
    }
    return int64_t{row};
  };
  return {cut(total * part / parts), part + 1 == parts ? int64_t{block.rows[0]} : cut(total * (part + 1) / parts)};
}

// Rows of a share that are active at a step.
inline int64_t ActiveIn(const BlockRows& block, int step, const Share& share) {
  return std::max<int64_t>(0, std::min<int64_t>(share.end, block.rows[step]) - share.begin);
}

// Of n active rows from `first` on: those that go on behind step `end`, counted from the sequence's start.
inline int64_t GoingOn(const int32_t* lengths, int64_t first, int64_t n, int64_t end) {
  while (n > 0 && lengths[first + n - 1] <= end) --n;
  return n;
}

// Floats between two rows of activations of a width: whole vectors, and never a multiple of 2 KiB, whose rows would
// compete for the same few lines of the first cache.
constexpr int64_t ActivationStride(int64_t width) {
  const int64_t whole = WholeVectors(width);
  return whole % 512 == 0 ? whole + 16 : whole;
}

}  // namespace plimsoll
