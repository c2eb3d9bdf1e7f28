// allocation_test_count: what a test program takes from the heap. Replaces operator new, in every program that includes it.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace plimsoll {

struct HeapCount {
  std::atomic<int64_t> allocations = 0;
  std::atomic<size_t> largest = 0;  // of all that were asked for
  std::atomic<size_t> live = 0;     // bytes that are held now, and the most that were
  std::atomic<size_t> peak = 0;
};
inline constinit HeapCount heap;

inline void* CountedAllocation(size_t bytes) noexcept {
  ++heap.allocations;
  heap.largest = std::max(heap.largest.load(), bytes);
  void* memory = std::malloc(bytes);
  if (memory != nullptr) {
    heap.live += malloc_usable_size(memory);
    heap.peak = std::max(heap.peak.load(), heap.live.load());
  }
  return memory;
}

}  // namespace plimsoll

// Weak, because several tests of one program include this. Not inlined, or the compiler sees free() meet memory of operator new
// and warns.
[[gnu::weak, gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = plimsoll::CountedAllocation(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak, gnu::noinline]] void* operator new[](size_t bytes) { return operator new(bytes); }
[[gnu::weak, gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return plimsoll::CountedAllocation(bytes);
}
[[gnu::weak, gnu::noinline]] void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return plimsoll::CountedAllocation(bytes);
}
[[gnu::weak, gnu::noinline]] void operator delete(void* memory) noexcept {
  plimsoll::heap.live -= malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::weak, gnu::noinline]] void operator delete[](void* memory) noexcept { operator delete(memory); }
[[gnu::weak, gnu::noinline]] void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
[[gnu::weak, gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { operator delete(memory); }
