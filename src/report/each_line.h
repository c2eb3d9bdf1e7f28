// each_line: the lines of a file of any length, in bounded memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

// Calls take(line, whole); a line longer than `most` bytes is cut there and not whole. Half a line at the end is none.
template <typename Take>
Status EachLine(const File& file, size_t most, const Take& take) {
  constexpr int64_t kPieceBytes = 64 * 1024;
  std::string line, piece(static_cast<size_t>(kPieceBytes), '\0');
  bool whole = true;
  for (int64_t at = 0; at < file.size(); at += kPieceBytes) {
    const int64_t bytes = std::min(kPieceBytes, file.size() - at);
    PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(at, bytes, piece.data()));
    for (const char c : std::string_view(piece.data(), static_cast<size_t>(bytes))) {
      if (c != '\n') {
        whole = whole && line.size() < most;
        if (whole) line += c;
        continue;
      }
      take(line, whole);
      line.clear();
      whole = true;
    }
  }
  return Status::Ok();
}

}  // namespace plimsoll
