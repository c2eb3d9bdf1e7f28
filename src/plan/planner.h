// planner: from needs, the worst row group and a budget to a Plan: what is kept and what is run again, and every buffer with
//   life, bytes and offset.
//   in:    what every owner needs, the lengths of the worst row group, block length, process base, budget
//   out:   the plan that needs the fewest forward runs of those that fit; else the smallest one, marked as not feasible
//   The job's own row groups are kept as long as any cut in time fits.
//   never: knows a layer, a file or the clock, so it is tested with made-up numbers
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/cost.h"
#include "plan/needs.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct OwnerNeeds {
  std::string owner;
  std::vector<Need> needs;
  bool beside = false;  // of the second of two row groups that run side by side
};

struct PlanInput {
  std::vector<OwnerNeeds> owners;
  std::vector<int64_t> worst_lengths;         // of the worst row group of the job's own size, descending
  std::vector<int64_t> worst_lengths_beside;  // the same of the group that runs beside it, row by row no longer
  int64_t groups_abreast = 1;                 // row groups that run side by side; owners say what each of them holds
  int64_t block_steps = 16;
  int64_t slice_rows = 0;           // most rows of a slice of the output layer
  bool slice_steps = false;         // the output layer sees every step; else one row a sequence
  std::vector<std::string> layers;  // names, for the report
  PlacementRules placement;
  bool forward_only = false;  // evaluation: no Tape beyond the block that runs
  bool spill = false;         // slots may lie in a file
  EpochWork work;
  double operations_per_second = 0.0;  // 0: unknown
  int64_t base_bytes = 0;              // what the process holds beside the arena
  // The base may be as little as this: counts where nothing would fit otherwise, or only smaller row groups. 0: it is exact.
  int64_t lowest_base_bytes = 0;
  int64_t budget_bytes = 0;
  int64_t max_repeats = 3;  // times a block may run forward beyond the first, at most
  int64_t fewest_rows = 8;  // of the row groups side by side; a job whose own groups are smaller keeps them
};

// How a job is cut: rows that run together, and what of their steps is kept.
struct Cut {
  int64_t group_rows = 0;
  Recompute recompute;
};

int64_t BlocksOfWorstGroup(const PlanInput& input);
// Of the first row group, or of the one beside it.
Extent ExtentOf(const PlanInput& input, const Cut& cut, bool beside = false);

// The plan with this cut, whether it fits or not. Buffers stand in the order of owners and their needs. min_bytes,
// own_groups_bytes and full_speed_bytes are its own.
Plan PlanWith(const PlanInput& input, const Cut& cut);

// Row groups smaller than the job's are tried only when nothing else fits.
Plan FitToBudget(const PlanInput& input);

// The smallest budget that works.
int64_t SmallestBudget(const PlanInput& input);

// How a plan cuts its groups.
Recompute RecomputeOf(const Plan& plan);

// The refusal of a plan that is not feasible; Ok for one that is.
Status CheckFeasible(const Plan& plan);

}  // namespace plimsoll
