// trainer: the run. Setup, first score, epochs of updates, last score, model folder.
#include "plimsoll/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/memory_watch.h"
#include "infer/scorer.h"
#include "report/run_log.h"
#include "train/batches.h"
#include "train/budget.h"
#include "train/measure.h"
#include "train/model_folder.h"
#include "train/resize_desk.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCurvePoints = 16;
constexpr double kLookSeconds = 1.0;            // between two looks at what the system asks
constexpr int64_t kPeakTolerance = 256 * kKiB;  // the kernel's counters run behind by some pages

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Run {
 public:
  Run(Setup& setup, Engine& engine, ResizeDesk desk, const RunOptions& options, Observer* observer)
      : setup_(setup),
        engine_(engine),
        desk_(std::move(desk)),
        out_(options.out),
        observer_(observer),
        update_(setup, engine),
        measure_(setup, engine, options),
        watch_(options.groups),
        stated_bytes_(setup.plan.budget_bytes),
        asked_bytes_(setup.plan.budget_bytes) {}

  Status Start() { return update_.Start(); }
  Status Epochs(RunResult& result);
  Result<Score> ScoreNow() { return ScoreRun(setup_, engine_, {.observer = observer_, .confusion = confusion()}); }
  // Of the last score, where there are few classes.
  std::span<int64_t> confusion() const {
    const int64_t classes = setup_.network->confused_classes();
    if (classes == 0) return {};
    return {engine_.memory.owner(NetworkOwner::Files).I64(ConfusionCounts), static_cast<size_t>(classes * classes)};
  }
  void TellFacts() const;
  Status FinishTrace() {
    if (measure_.traced_nothing() && observer_ != nullptr) {
      observer_->Message(out_.empty() ? "no trace is written: the run has no folder"
                                      : fmt::format("the trace is empty: the run ended after update {}", update_.done()));
    }
    return measure_.FinishTrace();
  }
  // The weights that are scored and saved take the place of those that are trained.
  void Finish() { update_.SwapAverages(); }
  int64_t peak_bytes() const { return std::max(peak_before_, PeakResidentBytes()); }

 private:
  Status Epoch(int64_t epoch);
  Status TakeNewBudget();
  Status ChangeBudget(int64_t bytes, ResizeAnswer& answer);
  Status HearSystem();
  Status CheckPeak() const;
  // A failure that need not end a run.
  void Tell(const Status& status) const {
    if (!status.ok() && observer_ != nullptr) observer_->Message(status.message());
  }
  bool has_valid() const { return setup_.valid != nullptr || setup_.split->valid_count() > 0; }

  Setup& setup_;
  Engine& engine_;
  ResizeDesk desk_;
  const std::string& out_;
  Observer* observer_;
  Update update_;
  Measure measure_;
  MemoryWatch watch_;
  int64_t stated_bytes_;      // what the user allows: by the job, or by resize since
  int64_t asked_bytes_;       // what the system was last heard to allow
  int64_t peak_before_ = 0;   // under the budgets before this one
  bool peak_is_ours_ = true;  // the peak that the system tells is of this budget, not of a larger one before
  Clock::time_point looked_ = Clock::now();
};

Status Run::Epochs(RunResult& result) {
  for (int64_t epoch = 1; epoch <= setup_.job.train.epochs && !update_.LimitReached(); ++epoch) {
    PLIMSOLL_RETURN_IF_ERROR(Epoch(epoch));
    result.epochs = epoch;
  }
  result.updates = update_.done();
  return Status::Ok();
}

Status Run::Epoch(int64_t epoch) {
  const TrainOptions& options = setup_.job.train;
  EpochBatches batches(setup_, epoch);
  const Clock::time_point epoch_start = Clock::now();
  StepReport report{.epoch = epoch, .epochs = options.epochs, .steps_per_epoch = batches.count()};
  StepSums sums;
  while (!update_.LimitReached() && batches.Next()) {
    PLIMSOLL_RETURN_IF_ERROR(TakeNewBudget());
    report.budget_bytes = setup_.plan.budget_bytes;
    int64_t* numbers = engine_.memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
    const Clock::time_point start = Clock::now();
    report.learning_rate = update_.learning_rate();
    measure_.Begin(update_.done() + 1);
    PLIMSOLL_RETURN_IF_ERROR(update_.Gradients(numbers, batches.Fill(numbers), sums, batches.number()));
    PLIMSOLL_RETURN_IF_ERROR(update_.Apply());
    report.times = measure_.End(update_.done());
    if (observer_ == nullptr) continue;
    report.step_in_epoch = batches.number();
    report.update = update_.done();
    const Score so_far = ToScore(sums, setup_.network->spec());
    report.loss = so_far.loss;
    report.accuracy = so_far.accuracy;
    report.items = so_far.items;
    report.step_ms = SecondsSince(start) * 1e3;
    report.resident_bytes = ResidentBytes();
    observer_->Step(report);
  }

  EpochReport end;
  end.epoch = epoch;
  end.epochs = options.epochs;
  end.updates = update_.done();
  end.train = ToScore(sums, setup_.network->spec());
  end.outputs = setup_.outputs;
  if (has_valid()) {
    const Clock::time_point start = Clock::now();
    const Result<Score> valid = update_.ScoreAveraged(observer_);
    if (!valid.ok()) return valid.status();
    end.has_valid = true;
    end.valid = valid.value();
    end.valid_seconds = SecondsSince(start);
  }
  update_.EpochEnded(end.has_valid ? end.valid.loss : end.train.loss);
  engine_.CheckGuards(setup_.plan);
  end.peak_bytes = PeakResidentBytes();
  end.seconds = SecondsSince(epoch_start);
  if (observer_ != nullptr) observer_->Epoch(end);
  return CheckPeak();
}

void Run::TellFacts() const {
  if (observer_ == nullptr) return;
  const Job& job = setup_.job;
  RunFacts facts{.task = job.task == Task::Classify ? "classify" : "regress",
                 .samples = setup_.split->train_count(),
                 .valid_samples = setup_.valid != nullptr ? setup_.valid->count() : setup_.split->valid_count(),
                 .epochs = job.train.epochs,
                 .steps_per_epoch = EpochBatches(setup_, 1).count(),
                 .batch_size = std::min(job.train.batch_size, setup_.samples->count()),
                 .threads = setup_.pool->size(),
                 .lengths = CountLengths(*setup_.samples),
                 .layers = measure_.layer_names()};
  for (int layer = 0; layer < setup_.network->layers(); ++layer) {
    for (const WeightTensor& tensor : setup_.network->layer(layer).Weights()) facts.parameters += tensor.rows * tensor.columns;
  }
  observer_->Started(facts);
}

Status Run::CheckPeak() const {
  const int64_t peak = peak_is_ours_ ? PeakResidentBytes() : ResidentBytes();
  if (peak <= setup_.plan.budget_bytes + kPeakTolerance) return Status::Ok();
  return Status::PromiseBroken(fmt::format("{} resident, the budget is {} (planned {})", PrettyBytes(peak),
                                           PrettyBytes(setup_.plan.budget_bytes), PrettyBytes(setup_.plan.peak_bytes)),
                               "please report this with the run's plan.json");
}

// Between two updates: a request of the user's, then what the system asks.
Status Run::TakeNewBudget() {
  if (const std::optional<ResizeDesk::Request> request = desk_.Poll()) {
    ResizeAnswer answer;
    const Result<Budget> budget = ResolveBudget(request->memory, ReadMemoryFacts(), ResidentBytes());
    if (budget.ok()) {
      PLIMSOLL_RETURN_IF_ERROR(ChangeBudget(budget.value().bytes, answer));
      if (answer.taken) {
        stated_bytes_ = asked_bytes_ = budget.value().bytes;
        answer.message = budget.value().note;
      }
    } else {
      answer.message = budget.status().message();
    }
    Tell(desk_.Answer(request->id, answer));
  }
  return watch_.watches() ? HearSystem() : Status::Ok();
}

Status Run::HearSystem() {
  if (SecondsSince(looked_) < kLookSeconds) return Status::Ok();
  looked_ = Clock::now();
  const bool pressure = watch_.UnderPressure();
  const int64_t wanted = FollowSystem(stated_bytes_, watch_.High(), pressure, setup_.plan);
  if (pressure) stated_bytes_ = wanted;  // what was given up is not taken back
  if (wanted == asked_bytes_) return Status::Ok();
  asked_bytes_ = wanted;
  ResizeAnswer answer;
  return ChangeBudget(wanted, answer);
}

Status Run::ChangeBudget(int64_t bytes, ResizeAnswer& answer) {
  PlanInput input = setup_.input;
  input.budget_bytes = bytes;
  input.worst_lengths.resize(static_cast<size_t>(setup_.plan.group_rows));  // row groups stay as they are: the same bits
  input.fewest_rows = setup_.plan.group_rows;
  Plan plan = FitToBudget(input);
  plan.rounding_only_change = setup_.plan.rounding_only_change;
  plan.assumptions = setup_.plan.assumptions;
  answer = {.taken = plan.feasible,
            .update = update_.done(),
            .budget_bytes = bytes,
            .peak_bytes = plan.peak_bytes,
            .min_bytes = plan.min_bytes};
  if (!plan.feasible) {
    answer.message = fmt::format("{} are too little for the running job: the smallest budget that it can take is {} ({} bytes)",
                                 PrettyBytes(bytes), PrettyBytesUp(plan.min_bytes), plan.min_bytes);
    if (observer_ != nullptr) observer_->Message(answer.message);
    return Status::Ok();
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckPeak());  // of the budget that ends here
  peak_before_ = std::max(peak_before_, PeakResidentBytes());
  Tell(measure_.FinishTrace());  // the pieces lie in the arena
  PLIMSOLL_RETURN_IF_ERROR(engine_.Replan(setup_, plan));
  update_.Rebind();
  peak_is_ours_ = ResetPeakResident();
  if (!peak_is_ours_ && observer_ != nullptr) {
    observer_->Message("the system does not let the peak be counted anew: resident memory is checked instead");
  }
  if (!out_.empty()) Tell(WriteTextFile(out_ + "/plan.json", PlanJson(setup_.plan)));
  if (observer_ != nullptr) observer_->Planned(setup_.plan);
  return Status::Ok();
}

}  // namespace

Result<RunResult> Train(const Job& job, const RunOptions& options) {
  const Clock::time_point start = Clock::now();
  FlushDenormals flush;
  ResetPeakResident();           // what a caller held before is not this run's
  RunLog log(options.observer);  // before the process base is measured
  Observer* observer = options.out.empty() ? options.observer : &log;
  Result<std::unique_ptr<Setup>> setup =
      SetUp(job, {.observer = observer, .trace_bytes = options.trace.last > 0 && !options.out.empty() ? kTraceBytes : 0});
  if (!setup.ok()) return setup.status();
  Setup& ready = **setup;
  Result<std::unique_ptr<Engine>> engine = Open(ready);
  if (!engine.ok()) return engine.status();
  if (!options.out.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(MakeFolder(options.out));
    PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(options.out + "/job.toml", JobAsToml(ready.job)));
    PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(options.out + "/plan.json", PlanJson(ready.plan)));
    PLIMSOLL_RETURN_IF_ERROR(log.Open(options.out));
  }
  Result<ResizeDesk> desk = ResizeDesk::Open(options.out);
  if (!desk.ok()) return desk.status();

  RunResult result;
  Run run(ready, **engine, std::move(desk).value(), options, observer);
  run.TellFacts();
  if (observer != nullptr) observer->Planned(ready.plan);
  if (Status started = run.Start(); !started.ok()) {  // no weights to begin with: nothing of the run stays
    std::error_code ignored;
    if (!options.out.empty()) std::filesystem::remove_all(options.out, ignored);
    return started;
  }
  const Result<Score> first = run.ScoreNow();
  if (!first.ok()) return first.status();
  result.first = first.value();
  const Status trained = run.Epochs(result), traced = run.FinishTrace();
  if (!trained.ok()) {
    log.Note(trained.message());
    return trained;
  }
  run.Finish();
  const Result<Score> last = run.ScoreNow();
  if (!last.ok()) return last.status();
  result.last = last.value();
  if (!options.out.empty()) {
    result.model_folder = options.out + "/model";
    PLIMSOLL_RETURN_IF_ERROR(WriteModel(result.model_folder, ready, **engine));
  }
  result.plan = ready.plan;
  result.outputs = ready.outputs;
  result.seconds = SecondsSince(start);
  result.peak_bytes = run.peak_bytes();
  if (observer != nullptr) {
    observer->Ended({.first = result.first,
                     .last = result.last,
                     .updates = result.updates,
                     .epochs = result.epochs,
                     .seconds = result.seconds,
                     .peak_bytes = result.peak_bytes,
                     .classes = ready.network->confused_classes(),
                     .confusion = run.confusion()});
  }
  // What only tells of the run fails last: the model is there.
  PLIMSOLL_RETURN_IF_ERROR(traced);
  PLIMSOLL_RETURN_IF_ERROR(log.status());
  return result;
}

Result<Plan> MakePlan(const Job& job) {
  RunLog log(nullptr);  // nothing is written; a run has one before its process base is measured, and names the same minimum
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.must_fit = false, .observer = &log});
  if (!setup.ok()) return setup.status();
  return (*setup)->plan;
}

Result<std::vector<Plan>> MakeCurve(const Job& job) {
  RunLog log(nullptr);  // as in MakePlan
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.must_fit = false, .observer = &log});
  if (!setup.ok()) return setup.status();
  const Plan& plan = (*setup)->plan;
  std::vector<Plan> curve;
  const double spread = static_cast<double>(plan.full_speed_bytes) / static_cast<double>(plan.min_bytes);
  for (int point = 0; point < kCurvePoints; ++point) {
    const double share = static_cast<double>(point) / (kCurvePoints - 1);
    PlanInput input = (*setup)->input;
    input.budget_bytes = point + 1 == kCurvePoints
                             ? plan.full_speed_bytes
                             : static_cast<int64_t>(std::ceil(static_cast<double>(plan.min_bytes) * std::pow(spread, share)));
    Plan at = FitToBudget(input);
    at.budget_bytes = at.peak_bytes;  // the least that gives this plan
    if (curve.empty() || at.peak_bytes > curve.back().peak_bytes) curve.push_back(std::move(at));
  }
  return curve;
}

}  // namespace plimsoll
