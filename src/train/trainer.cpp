// trainer: the run. Setup, first score, epochs of updates, last score, model folder.
#include "plimsoll/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/bytes.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/random.h"
#include "infer/scorer.h"
#include "train/model_folder.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kScoredTrainingSamples = 1024;  // without validation data
constexpr int64_t kPeakTolerance = 256 * kKiB;    // the kernel's counters run behind by some pages

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Run {
 public:
  Run(Setup& setup, Engine& engine, Observer* observer)
      : setup_(setup), engine_(engine), observer_(observer), update_(setup, engine) {}

  Status Start() { return update_.Start(); }
  Status Epochs(RunResult& result);
  Result<Score> ScoreNow();

 private:
  Status Epoch(int64_t epoch);
  bool LimitReached() const { return setup_.job.train.max_steps > 0 && update_.done() >= setup_.job.train.max_steps; }
  bool has_valid() const { return setup_.valid != nullptr || setup_.split->valid_count() > 0; }

  Setup& setup_;
  Engine& engine_;
  Observer* observer_;
  Update update_;
};

Result<Score> Run::ScoreNow() {
  if (setup_.valid != nullptr) return ScoreSamples(setup_, engine_, ScoredPart::ValidationFile, setup_.valid->count());
  if (setup_.split->valid_count() > 0)
    return ScoreSamples(setup_, engine_, ScoredPart::ValidationShare, setup_.split->valid_count());
  return ScoreSamples(setup_, engine_, ScoredPart::Training, std::min(kScoredTrainingSamples, setup_.split->train_count()));
}

Status Run::Epochs(RunResult& result) {
  for (int64_t epoch = 1; epoch <= setup_.job.train.epochs && !LimitReached(); ++epoch) {
    PLIMSOLL_RETURN_IF_ERROR(Epoch(epoch));
    result.epochs = epoch;
  }
  result.updates = update_.done();
  return Status::Ok();
}

Status Run::Epoch(int64_t epoch) {
  const TrainOptions& options = setup_.job.train;
  const int64_t samples = setup_.split->train_count(), batch_size = std::min(options.batch_size, setup_.samples->count());
  const EpochOrder order(samples, SeedFor(options.seed, RandomUse::Order), epoch, options.shuffle);
  int64_t* numbers = engine_.memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  const Clock::time_point epoch_start = Clock::now();
  StepReport report{.epoch = epoch,
                    .epochs = options.epochs,
                    .steps_per_epoch = (samples + batch_size - 1) / batch_size,
                    .budget_bytes = setup_.plan.budget_bytes};
  StepSums sums;
  for (int64_t place = 0; place < samples && !LimitReached(); place += batch_size) {
    const Clock::time_point start = Clock::now();
    const int64_t count = std::min(batch_size, samples - place);
    for (int64_t i = 0; i < count; ++i) numbers[i] = setup_.split->train(order[place + i]);
    PLIMSOLL_RETURN_IF_ERROR(update_.Gradients(numbers, count, sums));
    PLIMSOLL_RETURN_IF_ERROR(update_.Apply());
    if (observer_ == nullptr) continue;
    report.step_in_epoch += 1;
    report.update = update_.done();
    report.loss = sums.loss / static_cast<double>(sums.items);
    if (setup_.job.task == Task::Classify) report.accuracy = sums.hits / static_cast<double>(sums.items);
    report.step_ms = SecondsSince(start) * 1e3;
    report.resident_bytes = ResidentBytes();
    observer_->Step(report);
  }

  EpochReport end;
  end.epoch = epoch;
  end.epochs = options.epochs;
  end.updates = update_.done();
  end.train = ToScore(sums, setup_.job.task);
  if (has_valid()) {
    const Result<Score> valid = ScoreNow();
    if (!valid.ok()) return valid.status();
    end.has_valid = true;
    end.valid = valid.value();
  }
  engine_.CheckGuards(setup_.plan);
  end.peak_bytes = PeakResidentBytes();
  end.seconds = SecondsSince(epoch_start);
  if (observer_ != nullptr) observer_->Epoch(end);
  if (end.peak_bytes > setup_.plan.budget_bytes + kPeakTolerance) {
    return Status::PromiseBroken(fmt::format("{} resident, the budget is {} (planned {})", PrettyBytes(end.peak_bytes),
                                             PrettyBytes(setup_.plan.budget_bytes), PrettyBytes(setup_.plan.peak_bytes)),
                                 "please report this with the run's plan.json");
  }
  return Status::Ok();
}

Status WriteText(const std::string& path, const std::string& text) {
  Result<FileWriter> writer = FileWriter::Create(path);
  if (!writer.ok()) return writer.status();
  PLIMSOLL_RETURN_IF_ERROR(writer->Write(text));
  return writer->Commit();
}

}  // namespace

Result<RunResult> Train(const Job& job, const RunOptions& options) {
  const Clock::time_point start = Clock::now();
  FlushDenormals flush;
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.observer = options.observer});
  if (!setup.ok()) return setup.status();
  Setup& ready = **setup;
  if (!options.out.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(MakeFolder(options.out));
    PLIMSOLL_RETURN_IF_ERROR(WriteText(options.out + "/job.toml", JobAsToml(ready.job)));
    PLIMSOLL_RETURN_IF_ERROR(WriteText(options.out + "/plan.json", PlanJson(ready.plan)));
  }
  Result<std::unique_ptr<Engine>> engine = Open(ready);
  if (!engine.ok()) return engine.status();
  if (options.observer != nullptr) options.observer->Planned(ready.plan);

  RunResult result;
  result.plan = ready.plan;
  Run run(ready, **engine, options.observer);
  PLIMSOLL_RETURN_IF_ERROR(run.Start());
  const Result<Score> first = run.ScoreNow();
  if (!first.ok()) return first.status();
  result.first = first.value();
  PLIMSOLL_RETURN_IF_ERROR(run.Epochs(result));
  const Result<Score> last = run.ScoreNow();
  if (!last.ok()) return last.status();
  result.last = last.value();
  if (!options.out.empty()) {
    result.model_folder = options.out + "/model";
    PLIMSOLL_RETURN_IF_ERROR(WriteModel(result.model_folder, ready, **engine));
  }
  result.seconds = SecondsSince(start);
  result.peak_bytes = PeakResidentBytes();
  return result;
}

Result<Plan> MakePlan(const Job& job) {
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.must_fit = false});
  if (!setup.ok()) return setup.status();
  return (*setup)->plan;
}

}  // namespace plimsoll
