// arena: the one allocation of a run. It has exactly the size of the plan, is touched before step 1, and training only
//   borrows from it. Nothing else in the library allocates while it trains.
#pragma once

#include <cstdint>

#include "plimsoll/status.h"

namespace plimsoll {

// Every buffer starts at a multiple of this (a cache line; two vectors of AVX2).
inline constexpr int64_t kBufferAlign = 64;

// Debug builds leave this much unused space behind every buffer and fill it with a pattern, so that a write beyond
// the end is found (Arena::FirstDamagedGuard). Release builds have none.
#ifdef NDEBUG
inline constexpr int64_t kGuardBytes = 0;
#else
inline constexpr int64_t kGuardBytes = 64;
#endif

class Arena {
 public:
  // Maps and populates. A refusal by the system is Status::OverBudget: the machine has less than the plan needs.
  static Result<Arena> Create(int64_t bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  int64_t bytes() const { return bytes_; }
  // Grows or shrinks it; what lies in the kept part stays, though its address may change. Freed pages go back to the system.
  Status Resize(int64_t bytes);
  char* At(int64_t offset) const;  // offset inside the arena, or it is a mistake of ours

  // The guard zone behind a buffer that ends at `end`.
  void FillGuard(int64_t end) const;
  bool GuardIntact(int64_t end) const;

 private:
  Arena(char* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace plimsoll
