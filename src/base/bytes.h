// bytes: amounts of memory as text, both ways. MB is 10^6 bytes, MiB is 2^20.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plimsoll/status.h"
#include "plimsoll/text.h"  // PrettyBytes

namespace plimsoll {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * 1024;

constexpr int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// Rounded up to what is printed: a user who types the number gets a budget that works.
std::string PrettyBytesUp(int64_t bytes);

// A budget as the user writes it.
struct MemoryAmount {
  enum class Kind { Bytes, Percent, Auto } kind = Kind::Auto;
  int64_t bytes = 0;     // Kind::Bytes
  double percent = 0.0;  // Kind::Percent, in (0, 100]
};
Result<MemoryAmount> ParseMemory(std::string_view text);

}  // namespace plimsoll
