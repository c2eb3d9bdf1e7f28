// planner: from needs and the worst row group to a Plan: every buffer with life, bytes and offset, and their sum.
//   in:    what every owner needs, the lengths of the worst row group, block length, process base
//   out:   the plan; whether it fits is the caller's question to the budget
//   never: knows a layer, a file or the clock, so it is tested with made-up numbers
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/needs.h"
#include "plan/placement.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct OwnerNeeds {
  std::string owner;
  std::vector<Need> needs;
};

struct PlanInput {
  std::vector<OwnerNeeds> owners;
  std::vector<int64_t> worst_lengths;  // of the worst row group, descending
  int64_t block_steps = 16;
  int64_t slice_rows = 0;
  std::vector<std::string> layers;  // names, for the report
  PlacementRules placement;
};

// The extent of a row group whose blocks are all kept.
Extent FullExtent(const std::vector<int64_t>& lengths, int64_t block_steps, int64_t slice_rows);
// The same where nothing is kept beyond the block that runs: evaluation.
Extent ForwardExtent(const std::vector<int64_t>& lengths, int64_t block_steps, int64_t slice_rows);

// Buffers stand in the order of owners and their needs. base, budget and feasibility are filled in by SettleBudget.
Plan MakeBufferPlan(const PlanInput& input, const Extent& extent);

// Adds what the process holds beside the arena, and compares with the budget. OverBudget when it does not fit.
Status SettleBudget(Plan& plan, int64_t base_bytes, int64_t budget_bytes);

}  // namespace plimsoll
