// trace: the measured updates of a run as a timeline that Chrome and Perfetto show.
//   in:    the pieces of work that a Timeline has kept; the plan, for the bytes of the arena that are in use meanwhile
//   out:   trace.json: spans of the training thread and of a row group that runs beside its own, and a counter of arena bytes
//          by life
//   never: allocates: text goes through a buffer of its own; what a failure says apart
#pragma once

#include <array>
#include <span>
#include <string>

#include "base/timeline.h"
#include "data/row_group.h"
#include "plimsoll/plan.h"

namespace plimsoll {

// Bytes of the arena in use in each moment of a step, by life.
inline constexpr size_t kMoments = 7;
inline constexpr size_t kLives = 7;
using ArenaUse = std::array<std::array<int64_t, kLives>, kMoments>;
ArenaUse ArenaUseOf(const Plan& plan);

struct Trace {
  std::array<std::span<const TracedPiece>, kMostAbreast> pieces;  // of the training thread, and of the group beside its own
  int64_t dropped = 0;                                            // pieces that the buffer could not hold
  std::span<const std::string> layers;
  ArenaUse arena;
};
Status WriteTrace(const std::string& path, const Trace& trace);

}  // namespace plimsoll
