#include "plan/planner.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

PlanInput MadeUpInput() {
  NeedList layer, batch;
  layer.Param(0, "weights", 1000);
  layer.Grad(1, "gradient", 1000);
  layer.State(2, "h", 40);
  layer.Tape(3, "gates", NeedUnit::RowStep, 160);
  layer.Tape(4, "starts", NeedUnit::BorderRow, 80);
  layer.Scratch(5, "cells", NeedUnit::BlockAndRow, 40, StepMoment::Backward, StepMoment::Backward);
  layer.Slots(6, "slots", 40);
  batch.Data(0, "features", NeedUnit::RowStep, 8);
  batch.Scratch(1, "write buffer", NeedUnit::Whole, 3000, StepMoment::Save, StepMoment::Save);
  return {.owners = {{"lstm", layer.needs()}, {"batch", batch.needs()}},
          .worst_lengths = {40, 17, 16, 1},
          .slice_rows = 4,
          .slice_steps = true,
          .layers = {"lstm"}};
}

TEST(Planner, UnitsAreCountedByTheWorstRowGroup) {
  const PlanInput input = MadeUpInput();
  const Cut everything{.group_rows = 4, .recompute = {.segment_blocks = 3}};
  const Extent extent = ExtentOf(input, everything);
  EXPECT_EQ(extent.rows, 4);
  EXPECT_EQ(extent.group_row_steps, 74);
  EXPECT_EQ(extent.block_row_steps, 16 * 3 + 1);
  EXPECT_EQ(extent.kept_row_steps, 74);
  EXPECT_EQ(extent.kept_border_rows, 3 + 2 + 1 + 1);
  const Plan plan = PlanWith(input, everything);
  EXPECT_EQ(plan.buffers[2].bytes, 160);
  EXPECT_EQ(plan.buffers[3].bytes, 74 * 160);
  EXPECT_EQ(plan.buffers[4].bytes, 7 * 80);
  EXPECT_EQ(plan.buffers[5].bytes, (49 + 4) * 40);
  EXPECT_EQ(plan.buffers[6].bytes, 0) << "no slots";
  EXPECT_EQ(plan.buffers[7].bytes, 74 * 8);
  EXPECT_EQ(plan.stages.at(0).blocks, 3);
  EXPECT_EQ(plan.recompute_factor, 1.0);
}

TEST(Planner, ASegmentKeepsItsBlocksAndEverySlotTheStateOfAllRows) {
  const Extent extent = ExtentOf(MadeUpInput(), {4, {.segment_blocks = 2, .slots = 3}});
  EXPECT_EQ(extent.kept_row_steps, 32 + 17 + 16 + 1);
  EXPECT_EQ(extent.kept_border_rows, 2 + 2 + 1 + 1);
  EXPECT_EQ(PlanWith(MadeUpInput(), {4, {.segment_blocks = 2, .slots = 3}}).buffers[6].bytes, 4 * 40 * 3);
}

// What the group beside holds is planned for its own rows, which are no longer and may be one fewer; what is counted by rows is
// as large as the first's.
TEST(Planner, TheGroupBesideIsCountedByItsOwnRows) {
  PlanInput input = MadeUpInput();
  input.groups_abreast = 2;
  input.worst_lengths_beside = {17, 17, 2};
  input.owners.push_back({"lstm beside", input.owners[0].needs, /*beside=*/true});
  const size_t beside = input.owners[0].needs.size() + input.owners[1].needs.size();
  const Plan plan = PlanWith(input, {4, {.segment_blocks = 3}});
  EXPECT_EQ(plan.buffers[3].bytes, 74 * 160);
  EXPECT_EQ(plan.buffers[beside + 2].bytes, 160);
  EXPECT_EQ(plan.buffers[beside + 3].bytes, (17 + 17 + 2) * 160);
  EXPECT_EQ(plan.buffers[beside + 4].bytes, (2 + 2 + 1) * 80);
  EXPECT_EQ(plan.buffers[beside + 5].bytes, (16 + 16 + 2 + 4) * 40);
  EXPECT_EQ(PlanWith(input, {2, {.segment_blocks = 1}}).buffers[beside + 3].bytes, (16 + 16) * 160);
}

// Two groups of four rows are as many rows as one of eight: fewer than the job's own come in steps of eight side by side.
TEST(Planner, RowGroupsSideBySideShrinkTogether) {
  PlanInput input = MadeUpInput();
  input.worst_lengths.assign(16, 40);
  input.groups_abreast = 2;
  EXPECT_EQ(FitToBudget(input).groups_abreast, 2);
  EXPECT_EQ(FitToBudget(input).group_rows, 4) << "nothing fits, and the smallest is shown";
  for (const int64_t rows : {12, 8, 4}) {
    input.budget_bytes = PlanWith(input, {rows, {.segment_blocks = 1}}).peak_bytes;
    input.max_repeats = 100;
    const Plan plan = FitToBudget(input);
    EXPECT_TRUE(plan.feasible);
    EXPECT_EQ(plan.group_rows, rows);
    EXPECT_TRUE(plan.rounding_only_change);
  }
}

TEST(Planner, EvaluationKeepsOneBlock) {
  PlanInput input = MadeUpInput();
  input.forward_only = true;
  input.budget_bytes = 1 << 30;
  const Plan plan = FitToBudget(input);
  EXPECT_EQ(plan.buffers[3].bytes, 49 * 160);
  EXPECT_EQ(plan.recompute_factor, 1.0);
}

TEST(Planner, OwnersSumToThePeak) {
  const Plan plan = PlanWith(MadeUpInput(), {4, {.segment_blocks = 2, .slots = 1}});
  int64_t sum = 0;
  for (const auto& [owner, bytes] : plan.owners) {
    EXPECT_GE(bytes, 0) << owner;
    sum += bytes;
  }
  EXPECT_EQ(sum, plan.peak_bytes);
  EXPECT_EQ(plan.peak_bytes, plan.base_bytes + plan.arena_bytes + plan.slack_bytes);
}

PlanInput LongInput(int64_t budget_bytes) {
  PlanInput input = MadeUpInput();
  input.worst_lengths.assign(8, 1600);  // 100 blocks
  input.base_bytes = 1 << 20;
  input.budget_bytes = budget_bytes;
  return input;
}

TEST(Planner, ALargeBudgetKeepsEverythingAndTheLeastMemoryForIt) {
  const Plan plan = FitToBudget(LongInput(1 << 30));
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(plan.stages.at(0).segment_blocks, 100);
  EXPECT_EQ(plan.peak_bytes, plan.full_speed_bytes);
  EXPECT_LT(plan.min_bytes, plan.full_speed_bytes);
}

TEST(Planner, EveryBudgetFromTheSmallestUpIsHeldAndMoreIsNeverSlower) {
  const Plan unlimited = FitToBudget(LongInput(1 << 30));
  double factor = 1e9;
  for (int64_t budget = unlimited.min_bytes; budget <= unlimited.full_speed_bytes + 4096; budget += 4096) {
    const Plan plan = FitToBudget(LongInput(budget));
    ASSERT_TRUE(plan.feasible) << budget;
    EXPECT_LE(plan.peak_bytes, budget);
    EXPECT_LE(plan.recompute_factor, factor) << budget;
    EXPECT_LE(plan.stages.at(0).repeats, 3);
    EXPECT_EQ(plan.min_bytes, unlimited.min_bytes);
    factor = plan.recompute_factor;
  }
  EXPECT_EQ(factor, 1.0);
}

TEST(Planner, ABudgetBelowTheSmallestIsRefusedWithTheSmallestThatWorks) {
  const int64_t smallest = FitToBudget(LongInput(1 << 30)).min_bytes;
  const Plan plan = FitToBudget(LongInput(smallest - 1));
  EXPECT_FALSE(plan.feasible);
  const Status refused = CheckFeasible(plan);
  EXPECT_EQ(refused.kind(), StatusKind::OverBudget);
  EXPECT_EQ(refused.min_bytes(), smallest);
  EXPECT_NE(refused.message().find("features of batch"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("most of it: program"), std::string::npos) << refused.message();
  EXPECT_TRUE(CheckFeasible(FitToBudget(LongInput(smallest))).ok());
}

TEST(Planner, ABudgetThatAnotherRunHasNamedIsTakenThoughTheBaseWavers) {
  PlanInput input = LongInput(0);
  const int64_t named = FitToBudget(input).min_bytes;
  input.base_bytes += 16 * 1024;  // this run holds four pages more
  input.budget_bytes = named;
  EXPECT_FALSE(FitToBudget(input).feasible);
  input.lowest_base_bytes = input.base_bytes - 24 * 1024;
  const Plan plan = FitToBudget(input);
  EXPECT_TRUE(plan.feasible);
  EXPECT_LE(plan.peak_bytes, named);
  input.budget_bytes = named - 64 * 1024;
  EXPECT_FALSE(FitToBudget(input).feasible);
}

TEST(Planner, MoreRepeatsAllowASmallerBudget) {
  PlanInput input = LongInput(1 << 30);
  const int64_t usual = FitToBudget(input).min_bytes;
  input.max_repeats = 10;
  EXPECT_LT(FitToBudget(input).min_bytes, usual);
  input.max_repeats = 0;
  EXPECT_EQ(FitToBudget(input).min_bytes, FitToBudget(input).full_speed_bytes);
}

PlanInput ManyRows(int64_t budget_bytes) {
  PlanInput input = LongInput(budget_bytes);
  input.worst_lengths.assign(30, 1600);
  return input;
}

TEST(Planner, TheSmallestBudgetOfTheJobsOwnGroupsThatAnotherRunHasNamedKeepsThem) {
  const int64_t named = FitToBudget(ManyRows(1 << 30)).own_groups_bytes;
  PlanInput input = ManyRows(named);
  input.base_bytes += 16 * 1024;  // this run holds four pages more
  EXPECT_LT(FitToBudget(input).group_rows, 30) << "nothing is shown";
  input.lowest_base_bytes = input.base_bytes - 24 * 1024;
  EXPECT_EQ(FitToBudget(input).group_rows, 30);
  EXPECT_LE(FitToBudget(input).peak_bytes, named);
  input.budget_bytes = named - 64 * 1024;
  EXPECT_LT(FitToBudget(input).group_rows, 30);
  EXPECT_TRUE(FitToBudget(input).feasible);
}

TEST(Planner, SmallerGroupsOnlyWhenNothingElseFits) {
  const Plan unlimited = FitToBudget(ManyRows(1 << 30));
  EXPECT_EQ(unlimited.group_rows, 30);
  EXPECT_FALSE(unlimited.rounding_only_change);
  EXPECT_LT(unlimited.min_bytes, unlimited.own_groups_bytes);
  const Plan own = FitToBudget(ManyRows(unlimited.own_groups_bytes));
  EXPECT_TRUE(own.feasible);
  EXPECT_EQ(own.group_rows, 30);
  const Plan fewer = FitToBudget(ManyRows(unlimited.own_groups_bytes - 1));
  EXPECT_TRUE(fewer.feasible);
  EXPECT_EQ(fewer.group_rows, 24) << "the largest multiple of eight that fits";
  EXPECT_TRUE(fewer.rounding_only_change);
  const Plan fewest = FitToBudget(ManyRows(unlimited.min_bytes));
  EXPECT_TRUE(fewest.feasible);
  EXPECT_EQ(fewest.group_rows, 8);
  EXPECT_FALSE(FitToBudget(ManyRows(unlimited.min_bytes - 1)).feasible);
  EXPECT_EQ(SmallestBudget(ManyRows(0)), unlimited.min_bytes);
}

TEST(Planner, SlotsInAFileTakeTwoPlacesInMemoryAndSaveForwardRuns) {
  const Plan unlimited = FitToBudget(LongInput(1 << 30));
  PlanInput input = LongInput(unlimited.min_bytes);
  const Plan without = FitToBudget(input);
  input.spill = true;
  const Plan with = FitToBudget(input);
  EXPECT_LT(with.min_bytes, without.min_bytes);
  EXPECT_TRUE(with.stages.at(0).spilled);
  EXPECT_LT(with.recompute_factor, without.recompute_factor);
  EXPECT_EQ(with.stages.at(0).repeats, 1);
  EXPECT_EQ(with.buffers[6].bytes, kSpillWindow * 8 * 40);
  input.budget_bytes = unlimited.full_speed_bytes;
  EXPECT_FALSE(FitToBudget(input).stages.at(0).spilled) << "nothing is spilled where everything fits";
}

TEST(Planner, TimeFollowsFromWorkAndForwardRuns) {
  PlanInput input = LongInput(1 << 30);
  input.work = {.forward = 100.0, .backward = 180.0, .update = 20.0};
  input.operations_per_second = 10.0;
  const Plan fast = FitToBudget(input);
  EXPECT_DOUBLE_EQ(fast.seconds_per_epoch, 30.0);
  EXPECT_EQ(fast.extra_time, 0.0);
  input.budget_bytes = fast.min_bytes;
  const Plan slow = FitToBudget(input);
  EXPECT_DOUBLE_EQ(slow.extra_time, (slow.recompute_factor - 1.0) / 3.0);
  EXPECT_DOUBLE_EQ(slow.seconds_per_epoch, 30.0 * (1.0 + slow.extra_time));
  EXPECT_DOUBLE_EQ(fast.min_extra_time, slow.extra_time);
}

}  // namespace
}  // namespace plimsoll
