// setup: everything a job needs before its first step, in the one order that makes the budget hold:
//   open data -> spec -> layers -> threads -> product tiles -> needs and lengths -> program pages in memory -> measure the
//   process base -> plan inside the budget -> map and populate the arena. After it nothing allocates.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arena/arena.h"
#include "base/spill_file.h"
#include "base/threads.h"
#include "data/batch.h"
#include "data/order.h"
#include "data/samples.h"
#include "infer/metrics.h"
#include "kernels/product.h"
#include "model/network.h"
#include "model/penalty.h"
#include "model/step.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"
#include "plimsoll/trainer.h"
#include "train/text_data.h"

namespace plimsoll {

struct Setup;

struct SetupOptions {
  bool training = true;                               // false: evaluation alone
  bool must_fit = true;                               // false: a plan over the budget is a result too
  std::optional<Recompute> recompute = std::nullopt;  // this cut of the job's own row groups, whatever the budget
  ProductBackend backend = ProductBackend::Generated;
  InstructionSet instructions = BestInstructions();
  Observer* observer = nullptr;
  // For a run that saves or goes on from what it saved:
  int64_t group_rows = 0;  // rows that run together, whatever else would fit; 0: as the planner likes
  std::function<Status(const Setup&)> check = nullptr;  // may refuse the job before it is planned
  int64_t trace_bytes = 0;
  bool per_class = false;            // a score without training counts each class, and what it was taken for
  std::vector<EntityTag> tags = {};  // of the class names, where the data have some
  int64_t candidates_bytes = 0;      // NeedOptions
};

// A job, planned. Made by SetUp; Open gives it memory.
struct Setup {
  Job job;  // resolved: widths, absolute paths
  std::unique_ptr<Samples> samples;
  std::unique_ptr<Samples> valid;  // null: none, or a share of `samples`
  std::unique_ptr<Split> split;    // of `samples`
  std::unique_ptr<TextData> text;  // where the words are that ids stand for; null: the data are no text
  std::unique_ptr<Network> network;
  std::unique_ptr<ProductSet> products;
  std::unique_ptr<ThreadPool> pool;
  std::vector<std::string> outputs;  // their names, where the job lists several
  // Of each group side by side; null: the job names no folder for it.
  std::array<std::unique_ptr<SpillFile>, kMostAbreast> spill;
  uint64_t fingerprint = 0;           // of the data to train on
  int64_t row_steps = 0;              // of all samples
  std::vector<int64_t> longest;       // lengths of the worst kGroupRows rows, or of as many as a batch has, descending
  int64_t trace_bytes = 0;            // for the pieces of a trace; 0: there is none
  MetricPlan metrics;                 // of every score
  bool confusion = true;              // scores count which class was taken for which
  const StopRequest* stop = nullptr;  // null: nobody asks
  PlanInput input;                    // what `plan` was made from
  Plan plan;
};
Result<std::unique_ptr<Setup>> SetUp(const Job& job, const SetupOptions& options);
// The same of a job whose data are text.
Result<std::unique_ptr<Setup>> SetUpText(const Job& job, const SetupOptions& options);
// The same on samples that are open already; `valid` may be null.
Result<std::unique_ptr<Setup>> SetUpWith(const Job& job, std::unique_ptr<Samples> samples, std::unique_ptr<Samples> valid,
                                         const SetupOptions& options);

// How the data of a job are read, but for the files themselves.
SamplesRequest RequestOf(const Job& job);

// Whose State goes on from batch to batch: scores leave that of training alone.
enum class CarriedBy { Training, Scores };

// The memory of a planned job and the steps that run in it.
struct Engine {
  // Of a row group that runs beside the first one.
  struct Beside {
    NetworkMemory memory;
    Step step;
    Beside(Setup& setup, const Arena& arena, const NetworkMemory& first);
  };
  Arena arena;
  NetworkMemory memory;
  Step step;
  std::unique_ptr<Beside> beside;  // null: row groups run one after the other, as in scores they always do
  Penalty penalty;
  int64_t carried_width;  // values of a row whose State goes on from batch to batch
  int abreast;            // groups that rows are dealt out to in turn

  Engine(Setup& setup, Arena arena_of_plan);
  BatchBuffers batch_buffers(CarriedBy use = CarriedBy::Training) const;
  // Of row groups that have been trained on, those that ran again not counted.
  int64_t trained_row_steps() const;
  // Of the step, and of the one beside it, which may be the same where they take turns. Null: nothing is measured.
  void SetTimelines(Timeline* first, Timeline* second);
  // Takes another plan of the same job. What training carries from step to step keeps its place.
  Status Replan(Setup& setup, const Plan& plan);
  // Debug builds: stops when a buffer was written beyond its end.
  void CheckGuards(const Plan& plan) const;
};
Result<std::unique_ptr<Engine>> Open(Setup& setup);

// A job beside its data, as far as needs follow from it.
struct NeededFor {
  const Job& job;
  SampleShape shape;
  int64_t samples = 0;
  bool training = true;
  int64_t trace_bytes = 0;
  bool confusion = true;
  int64_t metric_bytes = 0;
  int64_t candidates_bytes = 0;
};
// A batch's steps in the mean, as a Network wants them. `row_steps`: of all samples.
int64_t BatchSteps(const Job& job, int64_t samples, int64_t row_steps);
// Fills in what follows from the model: needs, names, row groups, slices, work. longest: as in Setup, of this job.
void DescribeNetwork(PlanInput& input, const Network& network, const NeededFor& needed, int64_t row_steps,
                     const std::vector<int64_t>& longest);

// Row groups of so many rows and no others: those that a run has begun with, for the same bits.
void KeepGroups(PlanInput& input, int64_t group_rows);

// What the lengths of all samples come to.
struct LengthFacts {
  std::vector<int64_t> longest;  // of the worst rows together that any order of the samples can give
  int64_t row_steps = 0;         // of the training samples
};
LengthFacts LookAtLengths(const Samples& samples, const Samples* more, int64_t batch_size);

}  // namespace plimsoll
