// lengths: how many time steps each sample has, in little memory.
//   in:    one number for all, or an array of one number a sample
//   out:   length and first row of sample i
//   never: keeps a table where all lengths are equal
// A ragged set costs 4 bytes a sample, and 8 more for each 64 samples: the row where the 64 begin. The rows of a sample
// follow from that by at most 63 additions.
#pragma once

#include <cstdint>
#include <vector>

#include "data/npy.h"
#include "plimsoll/status.h"

namespace plimsoll {

class Lengths {
 public:
  // The product must fit; it does where an array of that shape was found.
  static Lengths Same(int64_t count, int64_t steps) { return {count, steps, count * steps}; }
  // Refuses what is not a one-dimensional array of at least one whole number, each from 1 to 2^31 - 1.
  static Result<Lengths> Read(const NpyArray& array);
  // Rows of `steps` that begin with, or end with, padding: where each begins and how long it is, at least 1.
  static Lengths Inside(std::vector<int32_t> starts, std::vector<int32_t> lengths);

  int64_t count() const { return count_; }
  int64_t longest() const { return longest_; }
  int64_t total() const { return total_; }  // of all samples
  bool all_same() const { return table_.empty(); }
  int64_t length(int64_t sample) const { return all_same() ? longest_ : table_[static_cast<size_t>(sample)]; }
  // The step of a padded row that a sample begins with.
  int64_t start(int64_t sample) const { return starts_.empty() ? 0 : starts_[static_cast<size_t>(sample)]; }
  int64_t first_row(int64_t sample) const;  // sum of the lengths before `sample`
  int64_t sample_of_row(int64_t row) const;

 private:
  Lengths(int64_t count, int64_t longest, int64_t total) : count_(count), longest_(longest), total_(total) {}
  void FillGroups();

  int64_t count_;
  int64_t longest_;
  int64_t total_;
  std::vector<int32_t> table_;         // empty: all are `longest_`
  std::vector<int32_t> starts_;        // empty: all are 0
  std::vector<int64_t> group_starts_;  // first row of samples 0, 64, 128, ...
};

}  // namespace plimsoll
