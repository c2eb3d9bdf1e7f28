// prefetch: asks for memory that will be needed soon, so that it comes while other work goes on.
#pragma once

#include <cstdint>

namespace plimsoll {

inline void Prefetch(const float* from, int64_t floats) {
  constexpr int64_t kLineFloats = 16;  // of a line of the cache
  for (int64_t at = 0; at < floats; at += kLineFloats) __builtin_prefetch(from + at);
}

}  // namespace plimsoll
