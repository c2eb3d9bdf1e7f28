// lengths: one look at all lengths, and a second that fills the table where they differ.
//   in:    the array `lengths`
//   out:   the table of lengths.h
//   never: allocates for more samples than the file has numbers
#include "data/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/checked.h"

namespace plimsoll {
namespace {

constexpr int64_t kGroup = 64;
constexpr int64_t kPieceElements = 16 * 1024;  // 64 KiB

}  // namespace

Result<Lengths> Lengths::Read(const NpyArray& array) {
  if (array.shape.size() != 1 || IsFloat(array.type)) {
    return Status::Data(fmt::format("{}: is {} of {}; wanted one whole number a sample, shape (samples,)", array.name,
                                    ShapeText(array.shape), NpyTypeName(array.type)));
  }
  const int64_t count = array.elements;
  if (count == 0) return Status::Data(fmt::format("{}: is empty; wanted at least one sample", array.name));

  // First look: are they all the same, and what do they sum to?
  std::vector<int32_t> piece(static_cast<size_t>(std::min(count, kPieceElements)));
  int32_t shortest = INT32_MAX, longest = 0;
  std::optional<int64_t> total = 0;
  for (int64_t first = 0; first < count; first += kPieceElements) {
    const int64_t now = std::min(kPieceElements, count - first);
    const auto converted = ReadAsIndex(array, first, now, piece.data());
    if (!converted.ok()) return converted.status();
    for (int64_t i = 0; i < now; ++i) {
      const int32_t length = i < converted.value() ? piece[static_cast<size_t>(i)] : 0;
      if (length == 0) {
        return Status::Data(fmt::format("{}, sample {}: length is {}; wanted 1 to 2147483647", array.name, first + i,
                                        ElementText(array, first + i)),
                            "leave samples without steps out");
      }
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
      total = CheckedSum(*total, length);
      if (!total) return Status::Data(fmt::format("{}: the lengths sum to more rows than any file has", array.name));
    }
  }
  Lengths lengths(count, longest, *total);
  if (shortest == longest) return lengths;

  // `count` is backed by bytes in the file, so it may decide an allocation.
  lengths.table_.resize(static_cast<size_t>(count));
  const auto converted = ReadAsIndex(array, 0, count, lengths.table_.data());
  if (!converted.ok()) return converted.status();
  const auto [least, most] = std::minmax_element(lengths.table_.begin(), lengths.table_.end());
  if (converted.value() != count || *least != shortest || *most != longest) {
    return Status::Data(fmt::format("{}: changed while it was read", array.name));
  }
  if (std::accumulate(lengths.table_.begin(), lengths.table_.end(), int64_t{0}) != lengths.total_)
    return Status::Data(fmt::format("{}: changed while it was read", array.name));
  lengths.FillGroups();
  return lengths;
}

Lengths Lengths::Inside(std::vector<int32_t> starts, std::vector<int32_t> lengths) {
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  Lengths made(static_cast<int64_t>(lengths.size()), *most, std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
  if (*std::max_element(starts.begin(), starts.end()) > 0) made.starts_ = std::move(starts);
  if (*least == *most) return made;
  made.table_ = std::move(lengths);
  made.FillGroups();
  return made;
}

void Lengths::FillGroups() {
  group_starts_.reserve(static_cast<size_t>((count_ + kGroup - 1) / kGroup));
  int64_t row = 0;
  for (int64_t sample = 0; sample < count_; ++sample) {
    if (sample % kGroup == 0) group_starts_.push_back(row);
    row += table_[static_cast<size_t>(sample)];
  }
}

int64_t Lengths::first_row(int64_t sample) const {
  if (all_same()) return sample * longest_;
  int64_t row = group_starts_[static_cast<size_t>(sample / kGroup)];
  for (int64_t i = sample / kGroup * kGroup; i < sample; ++i) row += table_[static_cast<size_t>(i)];
  return row;
}

int64_t Lengths::sample_of_row(int64_t row) const {
  if (all_same()) return row / longest_;
  const auto group = std::upper_bound(group_starts_.begin(), group_starts_.end(), row) - group_starts_.begin() - 1;
  int64_t sample = group * kGroup;
  for (int64_t end = group_starts_[static_cast<size_t>(group)] + length(sample); end <= row; end += length(sample)) ++sample;
  return sample;
}

}  // namespace plimsoll
