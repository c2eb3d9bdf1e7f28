// trainer: what can be done with a Job. The command-line program is built on this header alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"

namespace plimsoll {

// How a run is asked, from a signal handler or another thread, to finish its step, save and end: Interrupted or Terminated,
// which is then what Train fails with. Ok: nobody asks.
using StopRequest = std::atomic<StatusKind>;
static_assert(StopRequest::is_always_lock_free);

// Updates whose timeline is written to trace.json in the run folder. Its buffer is in the plan: 1 MB.
struct TraceOptions {
  int64_t first = 0;
  int64_t last = 0;  // 0: none
};

struct RunOptions {
  std::string out;                        // run folder; must not exist, parents must. Empty: nothing is written
  Observer* observer = nullptr;           // not owned
  std::string groups = "/sys/fs/cgroup";  // where memory groups are mounted; the run follows what its own one asks
  // Goes on from a snapshot: "last" or "best" of `out`, which then exists, or a path: a run folder or a file. From a path,
  // `out` is that run's own folder, or a new one.
  std::string resume = {};
  bool allow_changes = false;         // of the job, where they are harmless (docs/runs.md)
  const StopRequest* stop = nullptr;  // not owned
  double max_seconds = 0.0;           // then the run saves and ends as if it were done; 0: no limit
  int64_t log_every = 0;              // updates from one measured line of the logs to the next; 0: 1000 lines a run, or all
  TraceOptions trace = {};
};

struct RunResult {
  Plan plan;
  Score first;  // before training, on the validation data, else on the first 1024 training samples
  Score last;   // the same after training
  int64_t updates = 0;
  int64_t epochs = 0;
  double seconds = 0.0;
  int64_t peak_bytes = 0;  // VmHWM of the process
  std::string model_folder;
  std::string ended = {};            // why before all epochs: "patience" or "max_time"; else empty
  int64_t best_epoch = 0;            // whose weights the model holds, where it is not the last one; 0: it is
  int64_t resumed_at = 0;            // updates that were done before this run
  int64_t skipped = 0;               // updates that were left out, not being finite
  std::vector<std::string> outputs;  // names of several outputs, in the order of the scores' `outputs`
};
Result<RunResult> Train(const Job& job, const RunOptions& options);

// Tells a running job, by its run folder, of a new budget; it takes it between two updates: the same batches and the same
// gradient, in another plan. Waits for its answer.
struct ResizeAnswer {
  bool taken = false;
  bool pending = false;  // no answer in the time given; the request stays
  int64_t update = 0;    // updates done when it was taken or refused
  int64_t budget_bytes = 0;
  int64_t peak_bytes = 0;  // of the new plan
  int64_t min_bytes = 0;   // the smallest budget that the running job can take
  std::string message;     // why it was refused; else a note, or empty
};
Result<ResizeAnswer> Resize(const std::string& run, const std::string& memory, double wait_seconds);

// Plans without training. The process base is measured by doing the same start-up as Train. A plan that does not fit is a
// result, with feasible = false and the smallest budget that works.
Result<Plan> MakePlan(const Job& job);
// The same at budgets from the smallest that works to the first without recompute: what memory buys.
Result<std::vector<Plan>> MakeCurve(const Job& job);

// Scores a trained model (a run or model folder) on the job's data or on `data_file`.
struct EvaluateRequest {
  std::string model;      // run folder or model folder
  std::string data_file;  // empty: the data of the model's job, validation part where there is one
  std::string targets;    // beside a .npy data file
  std::string lengths;
  std::string target_lengths;
  std::string initial_state;
  std::string memory;   // empty: the job's own
  int64_t threads = 0;  // 0: the job's own
  // What the model's job names and this program brings along.
  std::vector<CustomOptions> custom_layers = {};
  std::shared_ptr<const CustomLoss> custom_loss = nullptr;
  std::shared_ptr<CustomMetric> custom_metric = nullptr;
  Observer* observer = nullptr;  // told what the data are, and how far reading and scoring have got
};
// Of one class, or of one of several labels.
struct ClassScore {
  std::string name;  // of arrays its number
  double precision = 0.0;
  double recall = 0.0;
  double f1 = 0.0;
  int64_t support = 0;  // items that are of it
};
struct EvaluateResult {
  Score score;
  int64_t samples = 0;
  Plan plan;
  int64_t peak_bytes = 0;
  std::vector<std::string> outputs;  // as in RunResult
  std::vector<ClassScore> classes;   // empty: there are none, or it is a language model
  std::vector<int64_t> confusion;    // [true class][class that was given], where there are few; else empty
};
Result<EvaluateResult> Evaluate(const EvaluateRequest& request);

// One training step of the job under its plan, bit for bit against other schedules, other threads and the portable products,
// and within tolerance against plain loops in double precision. The reference runs outside the budget.
struct TensorDifference {
  std::string tensor;
  int64_t elements = 0;
  double max_abs = 0.0;   // largest absolute difference
  double relative = 0.0;  // norm of the difference over norm of the reference
  double allowed = 0.0;   // bound on `relative`
  bool ok = false;
};
inline constexpr int64_t kMostVerifiedRowSteps = 65536;  // of the first batch, so that the reference ends soon
struct VerifyReport {
  std::vector<TensorDifference> tensors;  // loss, outputs, every gradient
  bool same_bits = false;                 // threads and schedules gave the same gradient bytes
  int64_t row_steps = 0;                  // what was compared
  bool ok = false;
};
Result<VerifyReport> Verify(const Job& job);

struct LayerSummary {
  std::string name;
  std::string description;  // "LSTM(units=128)"
  std::string output;       // "(rows, steps, 128)"
  int64_t parameters = 0;
  int64_t weight_bytes = 0;  // as stored
  int64_t tape_bytes_per_row_step = 0;
};
struct ModelSummary {
  std::vector<LayerSummary> layers;
  int64_t parameters = 0;
};
Result<ModelSummary> Summarize(const Job& job);

struct MachineReport {
  std::string cpu;
  std::vector<std::string> features;
  int64_t cores = 0;
  int64_t memory_bytes = 0;
  int64_t available_bytes = 0;
  int64_t limit_bytes = 0;  // of the container; 0: none
  std::string limit_source;
  std::string product_backend;   // "libxsmm (AVX-512)" or "Highway (AVX2)"
  std::string pointwise_target;  // Highway's choice
  std::vector<std::pair<std::string, std::string>> libraries;
  int64_t peak_bytes = 0;
};
MachineReport Doctor();

}  // namespace plimsoll
