// allocation_test_count: what the test program of this folder has taken from the heap (progress_test.cpp counts).
#pragma once

#include <cstdint>

namespace plimsoll {

int64_t AllocationsSoFar();

}  // namespace plimsoll
