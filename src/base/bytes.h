// bytes: amounts of memory as text, both ways. MB is 10^6 bytes, MiB is 2^20.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * 1024;

constexpr int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

std::string PrettyBytes(int64_t bytes);  // "188.4 MB", "9.2 kB"

// A budget as the user writes it.
struct MemoryAmount {
  enum class Kind { Bytes, Percent, Auto } kind = Kind::Auto;
  int64_t bytes = 0;     // Kind::Bytes
  double percent = 0.0;  // Kind::Percent, in (0, 100]
};
Result<MemoryAmount> ParseMemory(std::string_view text);

}  // namespace plimsoll
