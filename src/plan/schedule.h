// schedule: the actions of one training step on one row group, in order. model/step runs them.
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

struct Action {
  enum class Kind {
    Advance,  // run blocks forward, keep nothing but State
    Keep,     // State to a slot
    Restore,  // slot to State
    Record,   // run blocks forward, keep the Tape
    Reverse,  // loss and backward over the recorded blocks
  };
  Kind kind = Kind::Record;
  int64_t first_block = 0;
  int64_t blocks = 0;
  int slot = 0;  // Keep and Restore
};

// Everything is kept: one Record and one Reverse over all blocks of the group.
std::array<Action, 2> FullStorageSchedule(int64_t blocks);

}  // namespace plimsoll
