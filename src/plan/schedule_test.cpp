#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <map>

namespace plimsoll {
namespace {

// Runs a schedule on nothing and checks that it could be run: State is where an action needs it, the Tape holds what is
// reversed, every block is reversed once from the last to the first. Returns the number of segment forward runs.
int64_t RunOnPaper(const Recompute& recompute, int64_t blocks, int64_t* most_runs = nullptr) {
  Schedule schedule(recompute, blocks);
  schedule.Start(blocks);
  std::map<int64_t, int64_t> slots = {{kStartSlot, 0}};
  std::vector<int64_t> runs(static_cast<size_t>(blocks));
  int64_t state = 0, reversed_from = blocks, tape_begin = -1, tape_end = -1;
  for (Action action; schedule.Next(action);) {
    const int64_t begin = action.first_block, end = begin + action.blocks;
    switch (action.kind) {
      case Action::Kind::Keep:
        EXPECT_EQ(state, begin);
        EXPECT_GE(action.slot, 0);
        EXPECT_LT(action.slot, recompute.slots);
        slots[action.slot] = state;
        break;
      case Action::Kind::Restore:
        EXPECT_EQ(slots.at(action.slot), begin);
        state = begin;
        break;
      case Action::Kind::Record:
        EXPECT_LE(action.blocks, recompute.segment_blocks);
        tape_begin = begin;
        tape_end = end;
        [[fallthrough]];
      case Action::Kind::Advance:
        EXPECT_EQ(state, begin);
        EXPECT_GT(end, begin);
        state = end;
        for (int64_t block = begin; block < end; ++block) ++runs[static_cast<size_t>(block)];
        break;
      case Action::Kind::Reverse:
        EXPECT_EQ(begin, tape_begin);
        EXPECT_EQ(end, tape_end);
        EXPECT_EQ(end, reversed_from);
        reversed_from = begin;
        break;
    }
  }
  EXPECT_EQ(reversed_from, 0);
  int64_t sum = 0;
  for (const int64_t count : runs) {
    sum += count;
    if (most_runs != nullptr) *most_runs = std::max(*most_runs, count);
  }
  return sum;
}

TEST(Schedule, EverySizeReversesEveryBlockOnceFromTheEnd) {
  for (int64_t blocks = 1; blocks <= 40; ++blocks) {
    for (int64_t segment = 1; segment <= blocks; ++segment) {
      for (int64_t slots = 0; slots <= 6; ++slots) RunOnPaper({segment, slots}, blocks);
    }
  }
}

TEST(Schedule, ForwardRunsAreThoseOfTheClosedForm) {
  for (int64_t segments = 1; segments <= 200; ++segments) {
    for (const int64_t slots : {0, 1, 2, 3, 5, 9, 200}) {
      const RecomputeCost cost = CostOf(segments, slots);
      int64_t most = 0;
      EXPECT_EQ(RunOnPaper({1, slots}, segments, &most), cost.forward_runs) << segments << " segments, " << slots << " slots";
      EXPECT_LE(most, cost.repeats + 1) << segments << " segments, " << slots << " slots";
    }
  }
}

TEST(Schedule, NoOtherPlaceToSplitIsCheaper) {  // the closed form against a search over all ways to keep State
  constexpr int kMost = 40;
  std::vector<std::vector<int64_t>> best(kMost + 1, std::vector<int64_t>(8));
  for (int places = 1; places < 8; ++places) {
    for (int length = 1; length <= kMost; ++length) {
      const auto at = [&](int n, int p) { return best[static_cast<size_t>(n)][static_cast<size_t>(p)]; };
      int64_t least = length * (length + 1) / 2;
      for (int split = 1; split < length && places > 1; ++split) {
        least = std::min(least, split + at(length - split, places - 1) + at(split, places));
      }
      best[static_cast<size_t>(length)][static_cast<size_t>(places)] = least;
      EXPECT_EQ(CostOf(length, places - 1).forward_runs, least) << length << " segments, " << places << " places";
    }
  }
}

TEST(Schedule, AllInOneSegmentIsRecordAndReverse) {
  Schedule schedule({.segment_blocks = 9, .slots = 0}, 9);
  for (const int64_t blocks : {9, 4}) {
    schedule.Start(blocks);
    Action action;
    ASSERT_TRUE(schedule.Next(action));
    EXPECT_EQ(action.kind, Action::Kind::Record);
    EXPECT_EQ(action.blocks, blocks);
    ASSERT_TRUE(schedule.Next(action));
    EXPECT_EQ(action.kind, Action::Kind::Reverse);
    EXPECT_FALSE(schedule.Next(action));
  }
}

TEST(Schedule, TheFirstSegmentIsTheShortOne) {
  EXPECT_EQ(RunOnPaper({.segment_blocks = 31, .slots = 2}, 63), 63 + 32) << "of 1, 31 and 31 blocks the last runs once";
}

TEST(Schedule, ManySlotsRepeatEverySegmentButTheLastOnce) {
  const RecomputeCost cost = CostOf(63, 62);
  EXPECT_EQ(cost.forward_runs, 63 + 62);
  EXPECT_EQ(cost.repeats, 1);
}

}  // namespace
}  // namespace plimsoll
