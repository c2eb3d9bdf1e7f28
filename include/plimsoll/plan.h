// plan: what a run will hold in memory, to the byte, known before its first step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

// How long a buffer lives and why.
enum class Life {
  Param,    // weights and their packed copies: the whole run
  Grad,     // gradient of the batch: first row group to update
  Moment,   // optimizer state: the whole run
  State,    // carried over a time border, forward or backward
  Tape,     // kept by forward for backward; may be computed again
  Scratch,  // inside one operation
  Data,     // the batch
};
const char* LifeName(Life life);

struct PlannedBuffer {
  std::string owner;  // layer name, "optimizer", "batch", ...
  std::string name;
  Life life = Life::Scratch;
  int64_t bytes = 0;
  int64_t offset = 0;  // in the arena
  int first = 0;       // moments of a step (StepMoment) between which it is in use
  int last = 0;
  bool beside = false;  // of the second of two row groups that run side by side
};

struct PlannedStage {
  std::vector<std::string> layers;
  int64_t blocks = 0;          // of the longest row group
  int64_t segment_blocks = 0;  // whose Tape is in memory together
  int64_t slots = 0;
  bool spilled = false;  // the slots lie in a file
  int64_t repeats = 0;   // times a block runs forward beyond the first
};

// A change of the job that lowers the smallest budget.
struct PlanChange {
  std::string change;     // "train.batch_size = 4"
  int64_t min_bytes = 0;  // the smallest budget with it
};

struct Plan {
  bool feasible = false;
  int64_t budget_bytes = 0;
  int64_t peak_bytes = 0;  // base + arena + slack
  int64_t base_bytes = 0;  // program, libraries, generated code, data index: measured after warm-up
  int64_t arena_bytes = 0;
  int64_t slack_bytes = 0;
  int64_t min_bytes = 0;                                // smallest budget that works
  int64_t own_groups_bytes = 0;                         // smallest budget with the job's own row groups
  int64_t full_speed_bytes = 0;                         // smallest budget without recompute
  std::vector<std::pair<std::string, int64_t>> owners;  // sums to peak_bytes
  std::vector<PlannedBuffer> buffers;
  int64_t group_rows = 0;      // that run together
  int64_t groups_abreast = 1;  // row groups that rows are dealt out to in turn; training runs them side by side
  bool rounding_only_change = false;
  int64_t block_steps = 0;
  std::vector<PlannedStage> stages;
  int64_t loss_slice_rows = 0;
  double recompute_factor = 1.0;    // forward runs of a block, on average
  double extra_time = 0.0;          // of an epoch, over one without recompute: 0.33 is a third more
  double min_extra_time = 0.0;      // the same at min_bytes
  double seconds_per_epoch = 0.0;   // predicted; 0: unknown
  std::vector<PlanChange> changes;  // those that lower min_bytes most; only where the plan does not fit
  std::vector<std::string> assumptions;
};

std::string PlanText(const Plan& plan);   // the lines that a run begins with
std::string PlanTable(const Plan& plan);  // owners and buffers, for people
std::string PlanJson(const Plan& plan);

// One job planned at several budgets, smallest first: what memory buys. `columns`: width of the terminal.
std::string CurveText(const std::vector<Plan>& plans, int columns);  // a table and a picture
std::string CurveJson(const std::vector<Plan>& plans);
std::string CurveSvg(const std::vector<Plan>& plans);
Status WriteCurveSvg(const std::vector<Plan>& plans, const std::string& path);

}  // namespace plimsoll
