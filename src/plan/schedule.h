// schedule: the actions of one training step on one row group, in order. model/step runs them.
//   With room for the Tape of all blocks it is Record, Reverse. With less, blocks go in segments whose Tape fits, and State is
//   kept at some segment borders to run on from: the binomial schedule of Griewank and Walther (Revolve), which for its number
//   of slots needs the fewest forward runs. The State at the very start is zero and needs no slot. Where blocks do not divide
//   evenly the first segment is the short one: the last one is recorded in the first run and never runs again, so it is whole.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

struct Action {
  enum class Kind {
    Advance,  // run blocks forward, keep nothing but State
    Keep,     // State to a slot
    Restore,  // slot to State; kStartSlot: State to zero
    Record,   // run blocks forward, keep the Tape
    Reverse,  // loss and backward over the recorded blocks
  };
  Kind kind = Kind::Record;
  int64_t first_block = 0;
  int64_t blocks = 0;
  int64_t slot = 0;  // Keep and Restore
};
inline constexpr int64_t kStartSlot = -1;

// Slots in a file pass through memory: one on its way out, or the next one on its way in while the last one is used.
inline constexpr int64_t kSpillWindow = 2;

// How a group is cut. All of it in one segment needs no slots.
struct Recompute {
  int64_t segment_blocks = 1;  // whose Tape is in memory together
  int64_t slots = 0;           // copies of State beside the zero start
  bool spilled = false;        // they lie in a file
};

// Forward runs of the segments of a group, in all, and the most that one segment runs beyond its Record.
struct RecomputeCost {
  int64_t forward_runs = 0;
  int64_t repeats = 0;
};
RecomputeCost CostOf(int64_t segments, int64_t slots);

// Gives the actions of one group after another. Nothing is allocated after construction.
class Schedule {
 public:
  Schedule(const Recompute& recompute, int64_t most_blocks);

  void Start(int64_t blocks);  // of the next group; at most `most_blocks`
  bool Next(Action& action);   // false: the group is done

 private:
  // Segments [begin, end) still to be reversed; State at `begin` lies in `slot`.
  struct Span {
    int64_t begin, end, slot;
  };
  int64_t FirstBlock(int64_t segment) const;
  Action OnBlocks(Action::Kind kind, int64_t begin_segment, int64_t end_segment) const;
  Recompute recompute_;
  int64_t missing_ = 0;      // blocks that the first segment has less
  std::vector<Span> spans_;  // innermost last
  int64_t state_at_ = 0;     // segment before which State stands; -1: unknown
  bool recorded_ = false;    // the last segment of the innermost span is on the Tape
};

}  // namespace plimsoll
