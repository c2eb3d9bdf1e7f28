// trainer: the run. Setup, first score, epochs of updates, last score, model folder.
#include "plimsoll/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/memory_watch.h"
#include "infer/examples.h"
#include "infer/scorer.h"
#include "model/train_options.h"
#include "report/run_log.h"
#include "train/batches.h"
#include "train/best_score.h"
#include "train/budget.h"
#include "train/lengths.h"
#include "train/measure.h"
#include "train/model_folder.h"
#include "train/resize_desk.h"
#include "train/resume.h"
#include "train/saver.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCurvePoints = 16;
constexpr double kLookSeconds = 1.0;  // between two looks at what the system asks
constexpr int64_t kMostSkippedInARow = 5;
constexpr int kMostSkippedLately = 10;  // of the last kSkipWindow batches
constexpr int kSkipWindow = 100;
constexpr int64_t kPeakTolerance = 256 * kKiB;  // the kernel's counters run behind by some pages

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Run {
 public:
  Run(Setup& setup, Engine& engine, ResizeDesk desk, const RunOptions& options, Observer* observer,
      std::optional<SnapshotFolder> snapshots, Clock::time_point began)
      : setup_(setup),
        engine_(engine),
        desk_(std::move(desk)),
        out_(options.out),
        observer_(observer),
        stop_(options.stop),
        max_seconds_(options.max_seconds),
        update_(setup, engine),
        best_(setup.job.train, FactsOf(setup)),
        saver_(std::move(snapshots), setup, engine, state_, observer),
        measure_(setup, engine, options),
        watch_(options.groups),
        stated_bytes_(setup.plan.budget_bytes),
        asked_bytes_(setup.plan.budget_bytes),
        began_(began) {
    state_.group_rows = setup.plan.group_rows;
    state_.data = setup.fingerprint;
  }

  // Begins with fresh weights and their score.
  Status Begin();
  // Begins where a snapshot ended.
  Status Continue(const ResumePoint& point, const ChangedJob& changed);
  Status CheckSpace() { return saver_.on() ? saver_.folder()->CheckSpace(saver_.content().bytes()) : Status::Ok(); }
  // Trains to the end and saves; what is left to do is to make a model of it.
  Status Epochs();
  // The weights that are scored and saved take the place of those that are trained: the best, and of those the averages.
  Status Finish(RunResult& result);
  void Fill(RunResult& result) const;
  Result<Score> ScoreNow() {
    return ScoreRun(setup_, engine_, {.observer = observer_, .examples = example_room(), .confusion = confusion()});
  }
  // Of the last score, where there are few classes.
  std::span<int64_t> confusion() const {
    const int64_t classes = setup_.network->confused_classes();
    if (classes == 0) return {};
    return {engine_.memory.owner(NetworkOwner::Files).I64(ConfusionCounts), static_cast<size_t>(classes * classes)};
  }
  // Of the last score.
  std::span<const Example> examples() const {
    const std::span<const Example> room = example_room();
    const auto end = std::find_if(room.begin(), room.end(), [](const Example& example) { return example.sample < 0; });
    return room.first(static_cast<size_t>(end - room.begin()));
  }
  void TellFacts() const;
  Status FinishTrace() {
    if (measure_.traced_nothing() && observer_ != nullptr) {
      observer_->Message(out_.empty() ? "no trace is written: the run has no folder"
                                      : fmt::format("the trace is empty: the run ended after update {}", update_.done()));
    }
    return measure_.FinishTrace();
  }
  int64_t peak_bytes() const { return std::max(peak_before_, PeakResidentBytes()); }

 private:
  enum class End { None, Done, Patience, Time, Signal };

  static ScoreFacts FactsOf(const Setup& setup);
  std::span<Example> example_room() const {
    return {reinterpret_cast<Example*>(engine_.memory.owner(NetworkOwner::Files).Bytes(Examples)), kMostExamples};
  }
  Status Train();
  Status Epoch();
  Status EndEpoch(Clock::time_point start, bool whole);
  Status JudgeEpoch(const EpochReport& end);
  Status StepOn(const EpochBatches& batches);
  Status Skip(const Status& why);
  bool AskedToEnd();
  Status TakeNewBudget();
  Status ChangeBudget(int64_t bytes, ResizeAnswer& answer);
  Status HearSystem();
  Status CheckPeak() const;
  Status WhereToGoOn(const Status& why);
  // A failure that need not end a run.
  void Tell(const Status& status) const {
    if (!status.ok()) Tell(status.message());
  }
  void Tell(std::string_view text) const {
    if (observer_ != nullptr) observer_->Message(text);
  }

  Setup& setup_;
  Engine& engine_;
  ResizeDesk desk_;
  const std::string& out_;
  Observer* observer_;
  const StopRequest* stop_;
  double max_seconds_;
  RunState state_;
  Update update_;
  BestScore best_;
  Saver saver_;
  Measure measure_;
  MemoryWatch watch_;
  int64_t stated_bytes_;      // what the user allows: by the job, or by resize since
  int64_t asked_bytes_;       // what the system was last heard to allow
  int64_t peak_before_ = 0;   // under the budgets before this one
  bool peak_is_ours_ = true;  // the peak that the system tells is of this budget, not of a larger one before
  int64_t resumed_at_ = 0;    // updates
  End end_ = End::None;
  bool last_is_best_ = false;  // the weights are those of the best epoch, or of a part of one that is better still
  Clock::time_point began_;
  Clock::time_point looked_ = Clock::now();
};

ScoreFacts Run::FactsOf(const Setup& setup) {
  const ModelOutput& output = setup.network->spec().output();
  const bool ctc = output.loss == Loss::Ctc;
  return {.valid = setup.valid != nullptr || setup.split->valid_count() > 0,
          .classes = setup.outputs.empty() && output.class_targets() && !ctc,
          .labels = ctc};
}

Status Run::Begin() {
  PLIMSOLL_RETURN_IF_ERROR(BestScore::Check(setup_.job.train, FactsOf(setup_)));
  if (RestoresBest(setup_.job.train) && !saver_.on()) Tell("the run has no folder: the best epoch cannot be gone back to");
  PLIMSOLL_RETURN_IF_ERROR(update_.Start());
  const Result<Score> first = ScoreNow();
  if (!first.ok()) return first.status();
  state_.first = first.value();
  saver_.Changed();
  return Status::Ok();
}

Status Run::Continue(const ResumePoint& point, const ChangedJob& changed) {
  PLIMSOLL_RETURN_IF_ERROR(BestScore::Check(setup_.job.train, FactsOf(setup_)));
  state_ = point.front.state;
  for (const std::string& passed : point.passed_over) Tell(fmt::format("passed over {}", passed));
  for (const std::string& change : changed.harmless) Tell(fmt::format("changed: {}", change));
  if (point.front.kernels != setup_.products->Describe()) {
    Tell(fmt::format("the run began with {}, this machine has {}: last bits may differ", point.front.kernels,
                     setup_.products->Describe()));
  }
  PLIMSOLL_RETURN_IF_ERROR(LoadTensors(point.file, saver_.content(), saver_.buffer()));
  update_.Continue(state_.updates, state_.step, changed.rate ? nullptr : &state_.plateau);
  best_.Restore(state_.best);
  resumed_at_ = state_.updates;
  saver_.Loaded();
  Tell(fmt::format("resumed from {}: {} updates done, epoch {}", point.file, state_.updates, state_.epoch));
  if (observer_ != nullptr) observer_->Resumed(state_.updates, state_.epoch);
  SnapshotFolder* folder = saver_.folder();
  if (folder == nullptr) return Status::Ok();
  const std::string best = point.folder() + "/" + SnapshotName(state_.best_generation);
  if (state_.best_generation > 0 && folder->next() == 1) {  // a new folder: the best epoch comes along
    Status brought = folder->Adopt(best, state_.best_generation, saver_.buffer());
    if (brought.kind() == StatusKind::Data) {
      Tell(fmt::format("{}; the best epoch is sought anew", brought.message()));
      state_.best_generation = 0;
      best_.Restore({});
    } else if (!brought.ok()) {
      return brought;
    }
  }
  folder->BeginAfter(point.newest);
  return Status::Ok();
}

bool Run::AskedToEnd() {
  if (max_seconds_ > 0.0 && SecondsSince(began_) >= max_seconds_) end_ = End::Time;
  if (stop_ != nullptr && *stop_ != StatusKind::Ok) end_ = End::Signal;
  return end_ != End::None;
}

Status Run::Epochs() {
  Status trained = Train();
  // A stop while epochs are scored is no failure: the state is that behind the epoch's last update.
  if (stop_ != nullptr && *stop_ != StatusKind::Ok && trained.kind() == stop_->load()) {
    end_ = End::Signal;
    trained = Status::Ok();
  }
  if (trained.kind() == StatusKind::Diverged) return WhereToGoOn(trained);
  state_.updates = update_.done();
  state_.plateau = update_.plateau();
  state_.best = best_.state();
  const Status saved = saver_.changed() ? saver_.Save(SaveReason::Last) : Status::Ok();
  if (!trained.ok() || !saved.ok()) return WhereToGoOn(trained.ok() ? saved : trained);
  if (end_ != End::Signal) return Status::Ok();
  const StatusKind kind = *stop_;
  const char* by = kind == StatusKind::Interrupted ? "interrupted" : "terminated";
  if (!saver_.on())
    return {kind, {.message = fmt::format("{} after update {}; the run has no folder to save in", by, state_.updates)}};
  return {kind,
          {.message = fmt::format("{} after update {}; saved in {}", by, state_.updates, saver_.folder()->path()),
           .hint = fmt::format("plimsoll train --resume {} goes on from there", out_)}};
}

// A run that ends badly says which generation is good.
Status Run::WhereToGoOn(const Status& why) {
  const uint64_t good = saver_.on() ? saver_.folder()->newest_verified() : 0;
  if (good == 0) return why;
  const std::string file = saver_.folder()->PathOf(good);
  return {why.kind(),
          {.message = fmt::format("{}; the last good state is in {}", why.message(), file),
           .hint = fmt::format("{}{}--resume {}{}", why.hint(), why.hint().empty() ? "" : "; then ", out_,
                               why.kind() == StatusKind::Diverged ? " --allow-changes" : "")}};
}

Status Run::Train() {
  while (end_ == End::None) {
    if (best_.OutOfPatience()) {
      end_ = End::Patience;
    } else if (state_.epoch > setup_.job.train.epochs || update_.LimitReached()) {
      end_ = End::Done;
    } else {
      PLIMSOLL_RETURN_IF_ERROR(Epoch());
    }
  }
  return Status::Ok();
}

Status Run::Epoch() {
  EpochBatches batches(setup_, engine_, state_.epoch);
  batches.SkipTo(std::min(state_.step, batches.count()));
  const Clock::time_point start = Clock::now();
  while (!update_.LimitReached() && !AskedToEnd() && batches.Next()) PLIMSOLL_RETURN_IF_ERROR(StepOn(batches));
  if (end_ != End::None) return Status::Ok();
  const bool whole = state_.step == batches.count();
  if (!whole) end_ = End::Done;  // by max_steps, in the middle
  return EndEpoch(start, whole);
}

Status Run::StepOn(const EpochBatches& batches) {
  PLIMSOLL_RETURN_IF_ERROR(TakeNewBudget());
  int64_t* numbers = engine_.memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  const Clock::time_point start = Clock::now();
  const double learning_rate = update_.learning_rate();
  const int64_t number = update_.done() + 1;
  measure_.Begin(number);
  const int64_t count = batches.Fill(numbers);
  update_.ReadAhead(batches);
  Status done = update_.Gradients(numbers, count, state_.sums, batches.number());
  if (done.ok()) done = update_.Apply();
  const StepTimes* times = measure_.End(number);
  const bool can_skip = setup_.job.train.skip_nonfinite && update_.done() == state_.updates;
  if (done.kind() == StatusKind::Diverged && can_skip) {
    PLIMSOLL_RETURN_IF_ERROR(Skip(done));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(done);
    state_.skipped.in_a_row = 0;
    state_.skipped.last = {state_.skipped.last[0] << 1, state_.skipped.last[1] << 1 | state_.skipped.last[0] >> 63};
  }
  state_.step = batches.number();
  state_.updates = update_.done();
  last_is_best_ = false;
  saver_.Changed();
  if (observer_ != nullptr) {
    const Score so_far = ToScore(state_.sums, setup_);
    observer_->Step({.epoch = state_.epoch,
                     .epochs = setup_.job.train.epochs,
                     .step_in_epoch = batches.number(),
                     .steps_per_epoch = batches.count(),
                     .update = update_.done(),
                     .loss = so_far.loss,
                     .accuracy = so_far.accuracy,
                     .step_ms = SecondsSince(start) * 1e3,
                     .resident_bytes = ResidentBytes(),
                     .budget_bytes = setup_.plan.budget_bytes,
                     .items = so_far.items,
                     .learning_rate = learning_rate,
                     .times = times});
  }
  if (!saver_.Due()) return Status::Ok();
  state_.plateau = update_.plateau();
  state_.best = best_.state();
  return saver_.Save(SaveReason::Interval);
}

// Leaves out an update that is not finite, which only the user can ask for: it drops samples.
Status Run::Skip(const Status& why) {
  SkipState& skipped = state_.skipped;
  skipped.last = {skipped.last[0] << 1 | 1, skipped.last[1] << 1 | skipped.last[0] >> 63};
  ++skipped.total;
  ++skipped.in_a_row;
  const uint64_t older = skipped.last[1] & ((uint64_t{1} << (kSkipWindow - 64)) - 1);
  const int lately = std::popcount(skipped.last[0]) + std::popcount(older);
  if (skipped.in_a_row > kMostSkippedInARow || lately > kMostSkippedLately) {
    return Status::Diverged(fmt::format("{}; {} updates in a row and {} of the last {} were left out already", why.message(),
                                        skipped.in_a_row - 1, lately - 1, kSkipWindow),
                            why.hint());
  }
  update_.ForgetState();
  Tell(fmt::format("skipped batch {} of epoch {}: {}", state_.step + 1, state_.epoch, why.message()));
  return Status::Ok();
}

Status Run::EndEpoch(Clock::time_point start, bool whole) {
  EpochReport end;
  end.epoch = state_.epoch;
  end.epochs = setup_.job.train.epochs;
  end.updates = update_.done();
  end.train = ToScore(state_.sums, setup_);
  end.outputs = setup_.outputs;
  end.useful_row_steps = update_.useful_row_steps();
  end.computed_row_steps = engine_.trained_row_steps();
  if (FactsOf(setup_).valid) {
    const Clock::time_point scored = Clock::now();
    const Result<Score> valid = update_.ScoreAveraged(observer_);
    if (!valid.ok()) return valid.status();
    end.has_valid = true;
    end.valid = valid.value();
    end.valid_seconds = SecondsSince(scored);
  }
  if (whole) {
    PLIMSOLL_RETURN_IF_ERROR(JudgeEpoch(end));
  } else {  // not an epoch to go by, but its weights may be the best there are
    last_is_best_ = best_.IsBetter(best_.ValueOf(end));
  }
  engine_.CheckGuards(setup_.plan);
  end.peak_bytes = PeakResidentBytes();
  end.seconds = SecondsSince(start);
  if (observer_ != nullptr) observer_->Epoch(end);
  return CheckPeak();
}

// What the end of an epoch decides: the rate of a plateau, the best epoch, how much patience is left.
Status Run::JudgeEpoch(const EpochReport& end) {
  const double value = best_.ValueOf(end);
  const BestScore::State before = best_.state();
  update_.EpochEnded(value);
  last_is_best_ = best_.EpochEnded(end.epoch, value);
  ++state_.epoch;
  state_.step = 0;
  state_.sums = {};
  state_.plateau = update_.plateau();
  state_.best = best_.state();
  saver_.Changed();
  const bool keeps = RestoresBest(setup_.job.train);
  if (!last_is_best_ || !saver_.on() || (!keeps && !saver_.IsCheap())) return Status::Ok();
  const uint64_t generation = saver_.folder()->next();
  PLIMSOLL_RETURN_IF_ERROR(saver_.Save(SaveReason::Best));
  if (keeps && state_.best_generation != generation) {  // an epoch that could not be saved cannot be gone back to
    best_.Restore(before);
    state_.best = before;
  }
  return Status::Ok();
}

Status Run::Finish(RunResult& result) {
  Status restored;
  if (RestoresBest(setup_.job.train) && !last_is_best_ && state_.best_generation > 0 && saver_.on()) {
    restored = LoadTensors(saver_.folder()->PathOf(state_.best_generation), saver_.content(), saver_.buffer());
    if (restored.ok()) result.best_epoch = state_.best.epoch;
    engine_.step.PrepareWeights();
  }
  update_.SwapAverages();
  return restored;
}

void Run::Fill(RunResult& result) const {
  result.first = state_.first;
  result.updates = update_.done();
  result.epochs = state_.epoch - (state_.step > 0 ? 0 : 1);
  result.resumed_at = resumed_at_;
  result.skipped = state_.skipped.total;
  if (end_ == End::Patience) result.ended = "patience";
  if (end_ == End::Time) result.ended = "max_time";
}

void Run::TellFacts() const {
  if (observer_ == nullptr) return;
  const Job& job = setup_.job;
  RunFacts facts{.task = TaskName(job.task),
                 .samples = setup_.split->train_count(),
                 .valid_samples = setup_.valid != nullptr ? setup_.valid->count() : setup_.split->valid_count(),
                 .epochs = job.train.epochs,
                 .steps_per_epoch = EpochBatches(setup_, engine_, 1).count(),
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
  KeepGroups(input, setup_.plan.group_rows);
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
    Tell(answer.message);
    return Status::Ok();
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckPeak());  // of the budget that ends here
  peak_before_ = std::max(peak_before_, PeakResidentBytes());
  Tell(measure_.FinishTrace());  // the pieces lie in the arena
  PLIMSOLL_RETURN_IF_ERROR(engine_.Replan(setup_, plan));
  update_.Rebind();
  peak_is_ours_ = ResetPeakResident();
  if (!peak_is_ours_) Tell("the system does not let the peak be counted anew: resident memory is checked instead");
  if (!out_.empty()) Tell(WriteTextFile(out_ + "/plan.json", PlanJson(setup_.plan)));
  if (observer_ != nullptr) observer_->Planned(setup_.plan);
  return Status::Ok();
}

// Writes what the run folder says of itself. `fresh`: makes the folder, too.
Status DescribeRun(const std::string& out, const Setup& setup, bool fresh) {
  if (out.empty()) return Status::Ok();
  if (fresh) PLIMSOLL_RETURN_IF_ERROR(MakeFolder(out));
  PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(out + "/job.toml", JobAsToml(setup.job)));
  return WriteTextFile(out + "/plan.json", PlanJson(setup.plan));
}

Result<std::optional<SnapshotFolder>> OpenSnapshots(const std::string& out, const Setup& setup, const ResumePoint* point) {
  if (out.empty()) return std::optional<SnapshotFolder>();
  SnapshotFolder::Known known;
  if (point != nullptr) known = {.generation = point->generation, .best = point->front.state.best_generation};
  Result<SnapshotFolder> folder = SnapshotFolder::Open(out + kSnapshotFolder, setup.job.train.keep, known);
  if (!folder.ok()) return folder.status();
  return std::optional<SnapshotFolder>(std::move(folder).value());
}

// A run that goes on writes into the folder that it comes from, or into a new one.
Status CheckOut(const RunOptions& options, const ResumePoint& point) {
  std::error_code ignored;
  if (!FolderExists(options.out) || std::filesystem::equivalent(point.folder(), options.out + kSnapshotFolder, ignored))
    return Status::Ok();
  return Status::Usage(fmt::format("{} exists already, and {} is not of it", options.out, point.file),
                       "another --out, or none: then the run goes on where it was");
}

}  // namespace

Result<RunResult> Train(const Job& job, const RunOptions& options) {
  const Clock::time_point start = Clock::now();
  FlushDenormals flush;
  ResetPeakResident();           // what a caller held before is not this run's
  RunLog log(options.observer);  // before the process base is measured
  Observer* observer = options.out.empty() ? options.observer : &log;
  const bool fresh = !FolderExists(options.out);
  std::optional<ResizeDesk> desk;  // its lock comes before anything is read of a folder that others may train in
  std::optional<ResumePoint> point;
  SetupOptions setting{.observer = observer, .trace_bytes = options.trace.last > 0 && !options.out.empty() ? kTraceBytes : 0};
  ChangedJob changed;
  if (!options.resume.empty()) {
    if (FolderExists(options.out + kSnapshotFolder)) {
      Result<ResizeDesk> opened = ResizeDesk::Open(options.out);
      if (!opened.ok()) return opened.status();
      desk = std::move(opened).value();
    }
    Result<ResumePoint> found = FindResumePoint(options.resume, options.out);
    if (!found.ok()) return found.status();
    point = std::move(found).value();
    PLIMSOLL_RETURN_IF_ERROR(CheckOut(options, *point));
    setting.group_rows = point->front.state.group_rows;
    setting.check = [&](const Setup& described) {
      Result<ChangedJob> checked = CheckSameJob(*point, described, options.allow_changes);
      if (!checked.ok()) return checked.status();
      changed = std::move(checked).value();
      return Status::Ok();
    };
  }
  Result<std::unique_ptr<Setup>> setup = SetUp(job, setting);
  if (!setup.ok()) return setup.status();
  Setup& ready = **setup;
  ready.stop = options.stop;
  Result<std::unique_ptr<Engine>> engine = Open(ready);
  if (!engine.ok()) return engine.status();
  PLIMSOLL_RETURN_IF_ERROR(DescribeRun(options.out, ready, fresh || !point));
  if (!desk) {
    Result<ResizeDesk> opened = ResizeDesk::Open(options.out);
    if (!opened.ok()) return opened.status();
    desk = std::move(opened).value();
  }
  Result<std::optional<SnapshotFolder>> snapshots = OpenSnapshots(options.out, ready, point ? &*point : nullptr);
  if (!snapshots.ok()) return snapshots.status();
  if (!options.out.empty()) PLIMSOLL_RETURN_IF_ERROR(log.Open(options.out, ready.metrics.metrics));

  RunResult result;
  Run run(ready, **engine, std::move(*desk), options, observer, std::move(snapshots).value(), start);
  run.TellFacts();
  if (observer != nullptr) observer->Planned(ready.plan);
  Status begun = run.CheckSpace();
  if (begun.ok()) begun = point ? run.Continue(*point, changed) : run.Begin();
  point.reset();
  if (!begun.ok()) {  // nothing to begin with: nothing of a new run stays
    std::error_code ignored;
    if (!options.out.empty() && fresh) std::filesystem::remove_all(options.out, ignored);
    return begun;
  }
  const Status trained = run.Epochs(), traced = run.FinishTrace();
  if (!trained.ok()) {
    log.Note(trained.message());
    return trained;
  }
  run.Fill(result);
  const Status restored = run.Finish(result);
  const Result<Score> last = run.ScoreNow();
  if (last.status().kind() == StatusKind::Interrupted || last.status().kind() == StatusKind::Terminated)
    return Status(last.status().kind(), {.message = "stopped before the last score; all training is done and saved",
                                         .hint = fmt::format("plimsoll train --resume {} makes the model", options.out)});
  if (!last.ok()) return last.status();
  result.last = last.value();
  if (!options.out.empty()) {
    result.model_folder = options.out + "/model";
    PLIMSOLL_RETURN_IF_ERROR(WriteModel(result.model_folder, ready, **engine));
  }
  if (!restored.ok())
    return Status::Data(
        fmt::format("the best epoch cannot be read again: {}; the model is that of the last one", restored.message()),
        "plimsoll evaluate says whether it is good enough");
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
                     .confusion = run.confusion(),
                     .example_kind = ExampleKindOf(ready.network->spec()),
                     .examples = run.examples()});
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
