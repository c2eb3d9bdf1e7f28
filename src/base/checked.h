// checked: the one place where sizes that come from outside are multiplied and added.
//   in:    numbers from a file or a job
//   out:   the exact result, or nothing when it does not fit
//   never: wraps
#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

inline std::optional<int64_t> CheckedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

inline std::optional<int64_t> CheckedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

}  // namespace plimsoll
