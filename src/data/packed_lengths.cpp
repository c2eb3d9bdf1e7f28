#include "data/packed_lengths.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kGroup = 64;
constexpr int64_t kPieceElements = 16 * 1024;

}  // namespace

Result<PackedLengths> PackedLengths::Read(const File& file, int64_t count, int64_t longest, int64_t total, int64_t extra) {
  const auto damaged = [&] {
    return Status::Data(fmt::format("{}: is damaged", file.path()), "remove the folder that it is in");
  };
  if (count < 1 || count > INT64_MAX / 8 || file.size() != count * 4) return damaged();
  PackedLengths lengths;
  lengths.count_ = count;
  lengths.longest_ = longest;
  lengths.extra_ = extra;
  const bool same = total == count * longest;
  if (!same) {
    if (longest <= UINT8_MAX) {
      lengths.narrow_.resize(static_cast<size_t>(count));
    } else if (longest <= UINT16_MAX) {
      lengths.middle_.resize(static_cast<size_t>(count));
    } else {
      lengths.wide_.resize(static_cast<size_t>(count));
    }
    lengths.group_starts_.reserve(static_cast<size_t>((count + kGroup - 1) / kGroup));
  }
  std::vector<int32_t> piece(static_cast<size_t>(std::min(count, kPieceElements)));
  int64_t row = 0, sum = 0;
  for (int64_t first = 0; first < count; first += kPieceElements) {
    const int64_t now = std::min(kPieceElements, count - first);
    PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(first * 4, now * 4, piece.data()));
    for (int64_t i = 0; i < now; ++i) {
      const int32_t length = piece[static_cast<size_t>(i)];
      if (length < 1 || length > longest || (same && length != longest)) return damaged();
      sum += length;
      if (same) continue;
      const auto at = static_cast<size_t>(first + i);
      if ((first + i) % kGroup == 0) lengths.group_starts_.push_back(row);
      row += length + extra;
      if (!lengths.narrow_.empty()) {
        lengths.narrow_[at] = static_cast<uint8_t>(length);
      } else if (!lengths.middle_.empty()) {
        lengths.middle_[at] = static_cast<uint16_t>(length);
      } else {
        lengths.wide_[at] = length;
      }
    }
  }
  if (sum != total) return damaged();
  return lengths;
}

int64_t PackedLengths::first_row(int64_t sample) const {
  if (group_starts_.empty()) return sample * (longest_ + extra_);
  int64_t row = group_starts_[static_cast<size_t>(sample / kGroup)];
  for (int64_t i = sample / kGroup * kGroup; i < sample; ++i) row += length(i) + extra_;
  return row;
}

}  // namespace plimsoll
