// packed_lengths: how many steps each sample of a Store has, in as few bytes as the longest one needs.
//   in:    a file of one int32 a sample
//   out:   length and first row of sample i
//   never: keeps a table where all lengths are equal
// 1, 2 or 4 bytes a sample, and 8 more for each 64 samples: the row where the 64 begin.
#pragma once

#include <cstdint>
#include <vector>

#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

class PackedLengths {
 public:
  // `longest` and `total` are what the file must come to. `extra`: rows of a sample beyond its length.
  static Result<PackedLengths> Read(const File& file, int64_t count, int64_t longest, int64_t total, int64_t extra);

  int64_t count() const { return count_; }
  int64_t length(int64_t sample) const {
    const auto at = static_cast<size_t>(sample);
    if (!narrow_.empty()) return narrow_[at];
    if (!middle_.empty()) return middle_[at];
    return wide_.empty() ? longest_ : wide_[at];
  }
  int64_t first_row(int64_t sample) const;

 private:
  int64_t count_ = 0;
  int64_t longest_ = 0;
  int64_t extra_ = 0;
  std::vector<uint8_t> narrow_;  // one of the three; none: all are `longest_`
  std::vector<uint16_t> middle_;
  std::vector<int32_t> wide_;
  std::vector<int64_t> group_starts_;
};

}  // namespace plimsoll
