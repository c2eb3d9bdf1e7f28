// A run that is stopped, damaged or changed, and what becomes of it when it goes on.
#include "train/resume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "plimsoll/custom.h"
#include "plimsoll/trainer.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

// Sums of random values: ragged, small, quick.
Job SmallJob() {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=20&samples=100&min_steps=2";
  job.data.valid_share = 0.2;
  job.layers = {{"", LSTMOptions{.units = 3, .dropout = 0.2}}, {"", DenseOptions{}}};
  job.train.batch_size = 16;
  job.train.epochs = 3;
  job.train.threads = 1;
  job.train.save_every = "4";
  job.train.lr_schedule = LrSchedule::Cosine;  // a rate that goes by the whole length of the run
  job.memory.budget = "1GB";
  return job;
}

std::string Weights(const std::string& run) { return Contents(run + "/model/model.safetensors"); }

// Listens, and asks for an end after so many updates.
class Watcher final : public Observer {
 public:
  explicit Watcher(int64_t stop_at = -1) : stop_at_(stop_at) {}
  void Message(std::string_view text) override { messages.emplace_back(text); }
  void Step(const StepReport& report) override {
    if (report.update == stop_at_) stop = StatusKind::Terminated;
  }
  void Saved(const SaveReport& report) override { saved.push_back(report.updates); }
  bool Told(std::string_view text) const {
    for (const std::string& message : messages) {
      if (message.find(text) != std::string::npos) return true;
    }
    return false;
  }
  StopRequest stop = StatusKind::Ok;
  std::vector<std::string> messages;
  std::vector<int64_t> saved;

 private:
  int64_t stop_at_;
};

void ExpectSameScores(const Score& score, const Score& wanted) {
  EXPECT_EQ(score.loss, wanted.loss);
  EXPECT_TRUE(std::equal(
      score.metrics.begin(), score.metrics.end(), wanted.metrics.begin(), wanted.metrics.end(),
      [](const MetricValue& one, const MetricValue& other) { return one.metric == other.metric && one.value == other.value; }));
}

TEST(Resume, AStoppedRunSavesAndGoesOnToTheSameWeightsFromAnyUpdate) {
  Folder folder;
  const Job job = SmallJob();
  Watcher straight;
  Result<RunResult> unbroken = Train(job, {.out = folder / "straight", .observer = &straight});
  ASSERT_TRUE(unbroken.ok());
  ASSERT_NE(unbroken->first.metrics.begin(), unbroken->first.metrics.end());
  EXPECT_EQ(straight.saved.back(), 15) << "the last save is behind the last update";
  for (int64_t at = 1; at < 15; ++at) {
    const std::string run = folder / fmt::format("run{}", at);
    Watcher watcher(at);
    const Result<RunResult> stopped = Train(job, {.out = run, .observer = &watcher, .stop = &watcher.stop});
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.status().kind(), StatusKind::Terminated);
    EXPECT_FALSE(std::filesystem::exists(run + "/model"));
    Job elsewhere = job;
    elsewhere.train.threads = 1 + at % 3;
    elsewhere.memory.budget = at % 2 == 0 ? "512MB" : "1GB";
    const bool moves = at % 4 == 0;
    const std::string out = moves ? run + "_moved" : run;
    Result<RunResult> resumed = Train(elsewhere, {.out = out, .resume = moves ? run : "last"});
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_EQ(resumed->resumed_at, at);
    EXPECT_EQ(resumed->updates, 15);
    ExpectSameScores(resumed->first, unbroken->first);
    ExpectSameScores(resumed->last, unbroken->last);
    EXPECT_EQ(Weights(out), Weights(folder / "straight")) << "stopped after update " << at;
  }
}

TEST(Resume, EveryTruncationAndManyFlippedBitsAreFoundAndTheOlderGenerationWins) {
  Folder folder;
  ASSERT_TRUE(Train(SmallJob(), {.out = folder / "run"}).ok());
  const std::string snapshots = folder / "run/snapshots";
  const std::vector<uint64_t> generations = GenerationsIn(snapshots);
  ASSERT_GE(generations.size(), 2u);
  const std::string newest = snapshots + "/" + SnapshotName(generations[0]), whole = Contents(newest);
  const auto falls_back = [&] {
    const Result<ResumePoint> point = FindResumePoint(folder / "run", "");
    return point.ok() && point.value().generation == generations[1] && point.value().passed_over.size() == 1 &&
           point.value().passed_over[0].starts_with(SnapshotName(generations[0]));
  };
  ASSERT_EQ(FindResumePoint(folder / "run", "")->generation, generations[0]);
  for (size_t length = whole.size(); length-- > 0;) {
    std::filesystem::resize_file(newest, length);
    ASSERT_TRUE(falls_back()) << length;
  }
  RandomSequence random(SeedFor(1, RandomUse::Test), 0);
  std::ofstream(newest, std::ios::binary) << whole;
  std::fstream file(newest, std::ios::binary | std::ios::in | std::ios::out);
  for (int flip = 0; flip < 2000; ++flip) {
    const size_t bit = random.Below(whole.size() * 8), at = bit / 8;
    file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(whole[at] ^ 1 << bit % 8)).flush();
    ASSERT_TRUE(falls_back()) << bit;
    file.seekp(static_cast<std::streamoff>(at)).put(whole[at]).flush();
  }
  EXPECT_EQ(FindResumePoint(folder / "run", "")->generation, generations[0]) << "the control";
}

// Somebody's content with right checksums: it is taken or refused, and nothing worse.
TEST(Resume, ContentOfAnybodysMakingIsTakenOrRefused) {
  Folder folder;
  const Job job = SmallJob();
  Watcher watcher(6);
  ASSERT_FALSE(Train(job, {.out = folder / "run", .observer = &watcher, .stop = &watcher.stop}).ok());
  const std::string file = FindResumePoint("last", folder / "run")->file, bytes = Contents(file);
  std::vector<std::byte> buffer(static_cast<size_t>(kSnapshotBlockBytes));
  const Descriptor source(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  SnapshotReader reader(source.number(), static_cast<int64_t>(bytes.size()), buffer);
  ASSERT_TRUE(reader.Start());
  std::vector<std::byte> content(static_cast<size_t>(reader.content_bytes()));
  ASSERT_TRUE(reader.Read(content) && reader.Finish());
  RandomSequence random(SeedFor(2, RandomUse::Test), 0);
  const std::string made = folder / "made.plimsoll";
  int taken = 0, refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> changed = content;
    const uint64_t numbers = 125 * 8;  // most in front, where lengths and counts stand
    for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      const uint64_t at = random.Below(random.Below(2) == 0 ? numbers : changed.size());
      changed[at] = static_cast<std::byte>(random.Below(4) == 0 ? 255 : random.Below(256));
    }
    if (random.Below(10) == 0) changed.resize(random.Below(changed.size()));
    const Descriptor out(open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    SnapshotWriter writer(out.number(), buffer, 5, static_cast<int64_t>(changed.size()));
    ASSERT_TRUE(writer.Start() == 0 && writer.Write(changed) == 0 && writer.Finish() == 0);
    const Result<ResumePoint> point = FindResumePoint(made, "");
    ++(point.ok() ? taken : refused);
    if (!point.ok() || round % 10 != 0) continue;
    const Result<RunResult> run = Train(job, {.resume = made});
    EXPECT_NE(run.status().kind(), StatusKind::Internal) << run.status().message();
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

TEST(Resume, ADamagedGenerationIsNamedAndTheRunEndsWithTheSameWeights) {
  Folder folder;
  Watcher watcher(10);
  ASSERT_FALSE(Train(SmallJob(), {.out = folder / "run", .observer = &watcher, .stop = &watcher.stop}).ok());
  ASSERT_TRUE(Train(SmallJob(), {.out = folder / "straight"}).ok());
  const uint64_t newest = GenerationsIn(folder / "run/snapshots").front();
  std::filesystem::resize_file(folder / ("run/snapshots/" + SnapshotName(newest)), 500);
  Watcher again;
  Result<RunResult> resumed = Train(SmallJob(), {.out = folder / "run", .observer = &again, .resume = "last"});
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(again.Told("passed over " + SnapshotName(newest)));
  EXPECT_EQ(resumed->resumed_at, 8);
  EXPECT_EQ(Weights(folder / "run"), Weights(folder / "straight"));
}

TEST(Resume, NothingToGoOnFromIsSaidAndNothingIsBegun) {
  Folder folder;
  EXPECT_EQ(Train(SmallJob(), {.out = folder / "none", .resume = "last"}).status().kind(), StatusKind::Data);
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
  std::filesystem::create_directory(folder / "empty");
  EXPECT_EQ(Train(SmallJob(), {.out = folder / "empty", .resume = "last"}).status().kind(), StatusKind::Data);
  EXPECT_EQ(Train(SmallJob(), {.out = folder / "new", .resume = folder / "empty"}).status().kind(), StatusKind::Data);
  EXPECT_EQ(Train(SmallJob(), {.out = folder / "new", .resume = folder / "no_such_file"}).status().kind(), StatusKind::Data);
  ASSERT_TRUE(Train(SmallJob(), {.out = folder / "run"}).ok());
  for (const uint64_t generation : GenerationsIn(folder / "run/snapshots")) {
    std::ofstream(folder / ("run/snapshots/" + SnapshotName(generation))) << "no snapshot";
  }
  const Status damaged = Train(SmallJob(), {.out = folder / "run", .resume = "last"}).status();
  EXPECT_EQ(damaged.kind(), StatusKind::Data);
  EXPECT_NE(damaged.message().find(".plimsoll: it is cut off"), std::string::npos) << damaged.message();
}

TEST(Resume, AnotherJobIsRefusedWithItsDifferences) {
  Folder folder;
  ASSERT_TRUE(Train(SmallJob(), {.out = folder / "run"}).ok());
  const auto refusal = [&](auto change, bool allow = true) {
    Job job = SmallJob();
    change(job);
    return Train(job, {.out = folder / "run", .resume = "last", .allow_changes = allow}).status();
  };
  const Status batch = refusal([](Job& job) { job.train.batch_size = 8, job.train.epochs = 9; });
  EXPECT_EQ(batch.kind(), StatusKind::Usage);
  EXPECT_NE(batch.message().find("train.batch_size was 16, is 8; train.epochs was 3, is 9"), std::string::npos)
      << batch.message();
  const Status units = refusal([](Job& job) { std::get<LSTMOptions>(job.layers[0].kind).units = 4; });
  EXPECT_NE(units.message().find("model.layers[0].units was 3, is 4"), std::string::npos) << units.message();
  const Status share = refusal([](Job& job) { job.data.valid_share = 0.3; });
  EXPECT_NE(share.message().find("data.valid was 0.2, is 0.3"), std::string::npos) << share.message();
  const Status data = refusal([](Job& job) { job.data.train = "generate:adding?steps=20&samples=100&min_steps=3"; });
  EXPECT_NE(data.message().find("the data are others"), std::string::npos) << data.message();
  const Status epochs = refusal([](Job& job) { job.train.epochs = 4; }, /*allow=*/false);
  EXPECT_EQ(epochs.kind(), StatusKind::Usage);
  EXPECT_NE(epochs.hint().find("--allow-changes"), std::string::npos);
  EXPECT_TRUE(refusal([](Job& job) { job.train.epochs = 4; }).ok());
}

TEST(Resume, MoreEpochsGiveWhatThatManyAtOnceGive) {
  Folder folder;
  Job job = SmallJob();
  job.train.lr_schedule = LrSchedule::Constant;
  ASSERT_TRUE(Train(job, {.out = folder / "run"}).ok());
  job.train.epochs = 5;
  ASSERT_TRUE(Train(job, {.out = folder / "straight"}).ok());
  const std::string three = Weights(folder / "run");
  ASSERT_TRUE(Train(job, {.out = folder / "run", .resume = "last", .allow_changes = true}).ok());
  EXPECT_EQ(Weights(folder / "run"), Weights(folder / "straight"));
  EXPECT_NE(Weights(folder / "run"), three);
  const std::vector<uint64_t> before = GenerationsIn(folder / "run/snapshots");
  ASSERT_TRUE(Train(job, {.out = folder / "run", .resume = "last"}).ok());
  EXPECT_EQ(GenerationsIn(folder / "run/snapshots"), before) << "a run that is done has nothing to save";
}

TEST(Resume, DataThatLieElsewhereAreTheSame) {
  Folder folder;
  Job job = SmallJob();
  job.task = Task::Classify;
  job.data.valid_share = 0.0;
  job.layers = {{"", EmbeddingOptions{.output_dim = 4}}, {"", LSTMOptions{.units = 3}}, {"", DenseOptions{}}};
  job.data.train = PutSeveralTargets(folder / "a.npz", 40, 9);
  Watcher watcher(3);
  ASSERT_FALSE(Train(job, {.out = folder / "run", .observer = &watcher, .stop = &watcher.stop}).ok());
  std::filesystem::rename(folder / "a.npz", folder / "b.npz");
  job.data.train = folder / "b.npz";
  Result<RunResult> resumed = Train(job, {.out = folder / "run", .resume = "last"});
  EXPECT_TRUE(resumed.ok()) << resumed.status().message();
}

TEST(Resume, TheRowGroupsOfTheSnapshotStay) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory has no budget";
  Folder folder;
  Job job = SmallJob();
  job.data.train = "generate:adding?steps=400&samples=64&min_steps=300";
  job.data.valid_share = 0.0;
  std::get<LSTMOptions>(job.layers[0].kind).units = 64;
  job.train.batch_size = 64;
  job.train.epochs = 4;
  const Result<Plan> plan = MakePlan(job);
  ASSERT_TRUE(plan.ok());
  job.memory.budget = fmt::format("{}", (plan.value().min_bytes + plan.value().own_groups_bytes) / 2);
  Watcher watcher(2);
  ASSERT_FALSE(Train(job, {.out = folder / "run", .observer = &watcher, .stop = &watcher.stop}).ok());
  const int64_t rows = FindResumePoint(folder / "run", "")->front.state.group_rows;
  ASSERT_LT(rows, 64) << "too large a budget to show anything";
  ASSERT_TRUE(Train(job, {.out = folder / "straight"}).ok());
  job.memory.budget = "1GB";
  Result<RunResult> resumed = Train(job, {.out = folder / "run", .resume = "last"});
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_EQ(resumed->plan.group_rows, rows);
  EXPECT_TRUE(resumed->plan.rounding_only_change);
  EXPECT_EQ(Weights(folder / "run"), Weights(folder / "straight"));
}

// A squared error that is no number for targets above a bound.
class TurnsBad : public CustomLossOf<TurnsBad> {
 public:
  template <typename T>
  T Item(const T* y, const T* target, int64_t width, T* d_y) const {
    T sum = 0;
    for (int64_t u = 0; u < width; ++u) {
      d_y[u] = 2 * (y[u] - target[u]);
      sum += (y[u] - target[u]) * (y[u] - target[u]);
      if (target[u] > static_cast<T>(bad_above)) sum = d_y[u] = static_cast<T>(std::nan(""));
    }
    return sum;
  }
  double bad_above = 1e9;
};

TEST(EarlyStopping, EndsBehindItsPatienceWithTheWeightsOfTheBestEpoch) {
  Folder folder;
  Job job = SmallJob();
  job.train.learning_rate = 0.5;  // far too much: the loss jumps about
  job.train.lr_schedule = LrSchedule::Constant;
  job.train.epochs = 40;
  job.train.patience = 3;
  Result<RunResult> run = Train(job, {.out = folder / "run"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->ended, "patience");
  ASSERT_GT(run->best_epoch, 0);
  EXPECT_EQ(run->epochs, run->best_epoch + 3);
  job.train.patience = 0;
  job.train.epochs = run->best_epoch;
  Result<RunResult> shorter = Train(job, {.out = folder / "shorter"});
  ASSERT_TRUE(shorter.ok());
  EXPECT_EQ(run->last.loss, shorter->last.loss);
  EXPECT_EQ(Weights(folder / "run"), Weights(folder / "shorter"));
  // As if it had never been stopped: what is waited for, and what the best is, come along.
  job.train.patience = 3;
  job.train.epochs = 40;
  for (const int64_t at : {int64_t{1}, int64_t{6}, 5 * run->best_epoch + 7}) {
    Watcher watcher(at);
    const std::string stopped = folder / fmt::format("stopped{}", at), moved = stopped + "_moved";
    ASSERT_FALSE(Train(job, {.out = stopped, .observer = &watcher, .stop = &watcher.stop}).ok());
    Result<RunResult> resumed = Train(job, {.out = moved, .resume = stopped});
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_EQ(resumed->best_epoch, run->best_epoch);
    EXPECT_EQ(Weights(moved), Weights(folder / "run"));
  }
  // The best generation is where --resume best begins.
  const Result<ResumePoint> best = FindResumePoint("best", folder / "run");
  ASSERT_TRUE(best.ok()) << best.status().message();
  EXPECT_EQ(best.value().front.state.epoch, run->best_epoch + 1);
}

TEST(EarlyStopping, AMonitorThatTheJobDoesNotHaveIsRefusedAndLeavesNothing) {
  Folder folder;
  Job job = SmallJob();
  job.train.monitor = Monitor::ValAccuracy;
  EXPECT_EQ(Train(job, {.out = folder / "run"}).status().kind(), StatusKind::Usage);
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(MaxTime, EndsAsIfDoneAndGoesOnLater) {
  Folder folder;
  Job job = SmallJob();
  ASSERT_TRUE(Train(job, {.out = folder / "straight"}).ok());
  Result<RunResult> run = Train(job, {.out = folder / "run", .max_seconds = 1e-9});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->ended, "max_time");
  EXPECT_EQ(run->updates, 0);
  Result<RunResult> rest = Train(job, {.out = folder / "run", .resume = "last"});
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_EQ(rest->ended, "");
  EXPECT_EQ(Weights(folder / "run"), Weights(folder / "straight"));
}

TEST(MaxTime, InTheMiddleOfAnEpochTheModelIsThatOfTheBestOneBefore) {
  Folder folder;
  Job job = SmallJob();
  job.train.patience = 10;
  class Slow final : public Observer {
   public:
    void Step(const StepReport& report) override {
      if (report.update == 7) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
  } slow;
  Result<RunResult> run = Train(job, {.out = folder / "run", .observer = &slow, .max_seconds = 1.5});
  ASSERT_TRUE(run.ok()) << run.status().message();
  if (run->updates < 6) GTEST_SKIP() << "the machine was too slow for the first epoch";
  EXPECT_EQ(run->updates, 7);
  EXPECT_EQ(run->best_epoch, 1);
  job.train.max_steps = 5;  // an epoch
  const Result<ResumePoint> best = FindResumePoint("best", folder / "run");
  ASSERT_TRUE(best.ok()) << best.status().message();
  EXPECT_EQ(best.value().front.state.updates, 5);
  Result<RunResult> from_best = Train(job, {.out = folder / "best", .resume = best.value().file, .allow_changes = true});
  ASSERT_TRUE(from_best.ok()) << from_best.status().message();
  EXPECT_EQ(Weights(folder / "run"), Weights(folder / "best"));
}

TEST(NotFinite, EndsTheRunNamesLayerAndUpdateAndKeepsTheLastGoodState) {
  Folder folder;
  Job job = SmallJob();
  auto loss = std::make_shared<TurnsBad>();
  job.train.loss = Loss::Custom;
  job.train.custom_loss = loss;
  class Spoils final : public Observer {
   public:
    explicit Spoils(TurnsBad& loss) : loss_(loss) {}
    void Step(const StepReport& report) override { loss_.bad_above = report.update == 9 ? 0.0 : 1e9; }
    TurnsBad& loss_;
  } spoils(*loss);
  const Status diverged = Train(job, {.out = folder / "run", .observer = &spoils}).status();
  EXPECT_EQ(diverged.kind(), StatusKind::Diverged);
  EXPECT_NE(diverged.message().find("'dense'"), std::string::npos) << diverged.message();
  EXPECT_NE(diverged.message().find("at update 10"), std::string::npos) << diverged.message();
  EXPECT_NE(diverged.message().find(".plimsoll"), std::string::npos) << diverged.message();
  EXPECT_FALSE(std::filesystem::exists(folder / "run/model"));
  EXPECT_EQ(FindResumePoint("last", folder / "run")->front.state.updates, 8);
  loss->bad_above = 1e9;
  job.train.learning_rate = 1e-4;
  Result<RunResult> resumed = Train(job, {.out = folder / "run", .resume = "last", .allow_changes = true});
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
}

TEST(NotFinite, IsLeftOutWhereThatWasAskedButNotForEver) {
  Folder folder;
  Job job = SmallJob();
  auto loss = std::make_shared<TurnsBad>();
  job.train.loss = Loss::Custom;
  job.train.custom_loss = loss;
  job.train.skip_nonfinite = true;
  job.train.epochs = 8;
  class Spoils final : public Observer {
   public:
    Spoils(TurnsBad& loss, int64_t from, int64_t to) : loss_(loss), from_(from), to_(to) {}
    void Step(const StepReport& report) override {
      ++batch_;
      last_ = report.update;
      loss_.bad_above = batch_ >= from_ && batch_ < to_ ? 0.0 : 1e9;
    }
    void Message(std::string_view text) override { skipped += text.starts_with("skipped") ? 1 : 0; }
    int64_t skipped = 0, last_ = 0;

   private:
    TurnsBad& loss_;
    int64_t from_, to_, batch_ = 0;
  };
  Spoils few(*loss, 6, 9);
  Result<RunResult> run = Train(job, {.out = folder / "few", .observer = &few});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->skipped, 3);
  EXPECT_EQ(few.skipped, 3);
  EXPECT_EQ(run->updates, 40 - 3);
  loss->bad_above = 1e9;
  Spoils many(*loss, 6, 1000);
  const Status ended = Train(job, {.out = folder / "many", .observer = &many}).status();
  EXPECT_EQ(ended.kind(), StatusKind::Diverged);
  EXPECT_EQ(many.skipped, 5) << "at most five in a row";
  EXPECT_EQ(many.last_, 6);
}

// A slope that no weight survives.
class Steep : public CustomLossOf<Steep> {
 public:
  template <typename T>
  T Item(const T*, const T*, int64_t width, T* d_y) const {
    for (int64_t u = 0; u < width; ++u) d_y[u] = static_cast<T>(3e37);
    return T(1);
  }
};

TEST(NotFinite, WeightsThatAnUpdateHasMadeSoEndTheRunInIt) {
  Folder folder;
  Job job = SmallJob();
  job.train.optimizer = OptimizerKind::Sgd;
  job.train.learning_rate = 1000.0;
  job.train.skip_nonfinite = true;  // a weight that has changed cannot be left out
  job.train.loss = Loss::Custom;
  job.train.custom_loss = std::make_shared<Steep>();
  const Status ended = Train(job, {.out = folder / "run"}).status();
  EXPECT_EQ(ended.kind(), StatusKind::Diverged);
  EXPECT_NE(ended.message().find("weights or moments of layer"), std::string::npos) << ended.message();
  EXPECT_NE(ended.message().find("after update 1"), std::string::npos) << ended.message();
  EXPECT_TRUE(GenerationsIn(folder / "run/snapshots").empty()) << "nothing that is not finite is saved";
}

}  // namespace
}  // namespace plimsoll
