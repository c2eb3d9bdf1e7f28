// placement: gives every planned buffer its offset in the Arena.
//   in:    buffers (bytes, first and last moment of the step in which they are used)
//   out:   the same buffers with offsets, and the peak
//   never: looks at layers, data or the clock; same input, same output
// What is carried from step to step (Param, Moment) lies first, in the same place whatever else is planned.
// Invariant: two buffers in use in the same moment never share a byte.
#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/plan.h"

namespace plimsoll {

struct PlacementRules {
  int64_t align = 64;
  int64_t guard_bytes = 0;  // kept free behind every buffer; with guards no two buffers share a place
};

// Sets the offsets; returns the bytes of the arena that holds them.
int64_t PlaceBuffers(std::vector<PlannedBuffer>& buffers, const PlacementRules& rules);

}  // namespace plimsoll
