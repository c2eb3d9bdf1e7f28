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
  batch.Data(0, "features", NeedUnit::RowStep, 8);
  batch.Scratch(1, "write buffer", NeedUnit::Whole, 3000, StepMoment::Save, StepMoment::Save);
  return {.owners = {{"lstm", layer.needs()}, {"batch", batch.needs()}},
          .worst_lengths = {40, 17, 16, 1},
          .slice_rows = 4,
          .layers = {"lstm"}};
}

TEST(Planner, UnitsAreCountedByTheWorstRowGroup) {
  const PlanInput input = MadeUpInput();
  const Extent extent = FullExtent(input.worst_lengths, 16, 4);
  EXPECT_EQ(extent.rows, 4);
  EXPECT_EQ(extent.group_row_steps, 74);
  EXPECT_EQ(extent.block_row_steps, 16 * 3 + 1);
  EXPECT_EQ(extent.kept_border_rows, 3 + 2 + 1 + 1);
  const Plan plan = MakeBufferPlan(input, extent);
  EXPECT_EQ(plan.buffers[2].bytes, 160);
  EXPECT_EQ(plan.buffers[3].bytes, 74 * 160);
  EXPECT_EQ(plan.buffers[4].bytes, 7 * 80);
  EXPECT_EQ(plan.buffers[5].bytes, (49 + 4) * 40);
  EXPECT_EQ(plan.buffers[6].bytes, 74 * 8);
  EXPECT_EQ(plan.stages.at(0).blocks, 3);
}

TEST(Planner, EvaluationKeepsOneBlock) {
  const Extent extent = ForwardExtent({40, 17, 16, 1}, 16, 4);
  EXPECT_EQ(extent.kept_row_steps, 49);
  EXPECT_EQ(extent.kept_border_rows, 4);
  EXPECT_EQ(extent.group_row_steps, 74);
}

TEST(Planner, OwnersSumToThePeak) {
  const PlanInput input = MadeUpInput();
  Plan plan = MakeBufferPlan(input, FullExtent(input.worst_lengths, 16, 4));
  ASSERT_TRUE(SettleBudget(plan, 1 << 20, 1 << 30).ok());
  int64_t sum = 0;
  for (const auto& [owner, bytes] : plan.owners) {
    EXPECT_GE(bytes, 0) << owner;
    sum += bytes;
  }
  EXPECT_EQ(sum, plan.peak_bytes);
  EXPECT_EQ(plan.peak_bytes, plan.base_bytes + plan.arena_bytes + plan.slack_bytes);
}

TEST(Planner, ABudgetBelowThePeakIsRefusedWithTheSmallestThatWorks) {
  const PlanInput input = MadeUpInput();
  Plan plan = MakeBufferPlan(input, FullExtent(input.worst_lengths, 16, 4));
  const Status refused = SettleBudget(plan, 1 << 20, 1 << 20);
  EXPECT_EQ(refused.kind(), StatusKind::OverBudget);
  EXPECT_EQ(refused.min_bytes(), plan.peak_bytes);
  EXPECT_FALSE(plan.feasible);
  EXPECT_NE(refused.message().find("gates of lstm"), std::string::npos) << refused.message();
  EXPECT_TRUE(SettleBudget(plan, 1 << 20, refused.min_bytes()).ok());
  EXPECT_FALSE(SettleBudget(plan, 1 << 20, refused.min_bytes() - 1).ok());
}

}  // namespace
}  // namespace plimsoll
