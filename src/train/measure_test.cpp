#include "train/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

Job SomeJob() {
  Job job;
  job.task = Task::Classify;
  job.data.train = "generate:copy?delay=60&count=4&symbols=3&samples=64";
  job.data.valid_share = 0.25;
  job.layers = {{"", EmbeddingOptions{.output_dim = 8}}, {"", LSTMOptions{.units = 8}}, {"", DenseOptions{}}};
  job.train.epochs = 4;
  job.train.batch_size = 8;
  job.train.threads = 2;
  job.memory.budget = "1GB";
  return job;
}

struct Listener final : Observer {
  std::vector<int64_t> measured;
  int64_t items = 0;
  double phases_over_step = 0.0;  // the largest share of an update that its phases sum to
  double layers_over_phases = 0.0;
  std::vector<int64_t> confusion;
  RunFacts facts;
  int64_t validations = 0;
  void Started(const RunFacts& told) override { facts = told; }
  void Step(const StepReport& report) override {
    if (report.times == nullptr) return;
    measured.push_back(report.update);
    double sum = 0.0, layers = 0.0;
    for (const double ms : report.times->phase_ms) sum += ms;
    for (const LayerTime& layer : report.times->layers) layers += layer.forward_ms + layer.backward_ms;
    phases_over_step = std::max(phases_over_step, sum / report.step_ms);
    layers_over_phases = std::max(layers_over_phases, layers / sum);
  }
  void Work(const WorkReport& report) override { validations += report.done == report.total; }
  void Ended(const RunEnd& end) override { confusion.assign(end.confusion.begin(), end.confusion.end()); }
};

class MeasureTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "measure_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(MeasureTest, TheUpdatesAskedForAreMeasuredAndTheirPartsFitInTheWhole) {
  Listener listener;
  const Result<RunResult> run = Train(SomeJob(), {.out = folder_ + "/run", .observer = &listener, .log_every = 5});
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_GE(run.value().updates, 20);
  ASSERT_GE(listener.measured.size(), 5u);
  EXPECT_EQ(std::vector<int64_t>(listener.measured.begin(), listener.measured.begin() + 4),
            (std::vector<int64_t>{1, 5, 10, 15}));
  EXPECT_GT(listener.phases_over_step, 0.3);
  EXPECT_LE(listener.phases_over_step, 1.0);
  EXPECT_LE(listener.layers_over_phases, 1.0);
  EXPECT_EQ(listener.facts.parameters, 5 * 8 + 4 * 8 * (8 + 8 + 1) + 9 * 4);
  EXPECT_EQ(listener.facts.lengths.longest, 68);
  EXPECT_EQ(listener.validations, 4 + 2) << "each epoch, and before and after all";
}

TEST_F(MeasureTest, TheConfusionMatrixCountsEveryScoredItem) {
  Listener listener;
  const Result<RunResult> run = Train(SomeJob(), {.observer = &listener});
  ASSERT_TRUE(run.ok());
  int64_t items = 0, hits = 0;
  const size_t classes = 4;
  ASSERT_EQ(listener.confusion.size(), classes * classes);
  for (size_t i = 0; i < classes * classes; ++i) items += listener.confusion[i];
  for (size_t i = 0; i < classes; ++i) hits += listener.confusion[i * (classes + 1)];
  EXPECT_EQ(items, run.value().last.items);
  EXPECT_DOUBLE_EQ(static_cast<double>(hits) / static_cast<double>(items), run.value().last.accuracy);
}

struct Span {
  double begin, end;
};

// Perfetto drops spans of a thread that overlap without one holding the other.
void ExpectNested(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  std::vector<double> open;
  constexpr double kRounding = 0.0015;  // three digits behind the point of a microsecond
  for (const Span& span : spans) {
    while (!open.empty() && open.back() <= span.begin + kRounding) open.pop_back();
    const double within = open.empty() ? span.end : open.back();
    EXPECT_LE(span.end, within + kRounding);
    open.push_back(span.end);
  }
}

// Of a trace.json: how many spans of each name, thread by thread from the first. Spans of one thread nest.
std::vector<std::map<std::string, int>> SpansIn(const std::string& path) {
  const Json json = Json::parse(ReadWholeFile(path, 1 << 24).value());
  std::vector<std::vector<Span>> spans(kMostAbreast);
  std::vector<std::map<std::string, int>> names(kMostAbreast);
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto thread = event["tid"].get<size_t>() - 1;
    spans.at(thread).push_back({event["ts"], event["ts"].get<double>() + event["dur"].get<double>()});
    ++names[thread][event["name"]];
  }
  for (const std::vector<Span>& own : spans) ExpectNested(own);
  return names;
}

TEST_F(MeasureTest, TheSpansOfATraceNestAndSayWhatTheScheduleDid) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory has no budget";
  Job job = SomeJob();
  const Result<Plan> free = MakePlan(job);
  ASSERT_TRUE(free.ok());
  const int64_t small = (free.value().min_bytes + free.value().full_speed_bytes) / 2 + kTraceBytes;
  job.memory.budget = std::to_string(small);
  const Result<RunResult> run = Train(job, {.out = folder_ + "/run", .trace = {.first = 2, .last = 3}});
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_GT(run.value().plan.recompute_factor, 1.0);
  std::map<std::string, int> names = SpansIn(folder_ + "/run/trace.json")[0];
  EXPECT_EQ(names["update"], 2);
  EXPECT_EQ(names["optimizer"], 2);
  for (const char* name : {"read", "advance", "record", "record again", "reverse", "loss", "lstm forward", "lstm replay",
                           "lstm backward", "lstm weight gradient", "lstm backward in time", "dense backward"})
    EXPECT_GT(names[name], 0) << name;
  EXPECT_EQ(names["embedding forward"], 0) << "its products are looked up";
}

// Of two row groups side by side each has a row of spans; where they take turns, one row has those of both.
TEST_F(MeasureTest, ATraceHasTheSpansOfEveryRowGroup) {
  Job job = SomeJob();
  job.train.batch_size = 16;
  const auto spans = [&](int threads) {
    job.train.threads = threads;
    const std::string out = folder_ + "/" + std::to_string(threads);
    const Result<RunResult> run = Train(job, {.out = out, .trace = {.first = 2, .last = 2}});
    if (!run.ok()) throw std::runtime_error(run.status().message());
    EXPECT_EQ(run.value().plan.groups_abreast, 2);
    return SpansIn(out + "/trace.json");
  };
  std::vector<std::map<std::string, int>> in_turn = spans(1), side_by_side = spans(2);
  EXPECT_TRUE(in_turn[1].empty());
  EXPECT_EQ(side_by_side[1]["update"], 0);
  for (const char* name : {"record", "reverse", "loss", "lstm forward", "lstm backward"}) {
    EXPECT_GT(side_by_side[0][name], 0) << name;
    EXPECT_GT(side_by_side[1][name], 0) << name;
    EXPECT_EQ(in_turn[0][name], side_by_side[0][name] + side_by_side[1][name]) << name;
  }
}

TEST_F(MeasureTest, ARunThatEndsBeforeItsTraceSaysSo) {
  struct : Observer {
    std::string said;
    void Message(std::string_view text) override { said = text; }
  } listener;
  const Result<RunResult> run =
      Train(SomeJob(), {.out = folder_ + "/run", .observer = &listener, .trace = {.first = 1000, .last = 1001}});
  ASSERT_TRUE(run.ok());
  EXPECT_NE(listener.said.find("trace is empty"), std::string::npos) << listener.said;
  ASSERT_TRUE(Train(SomeJob(), {.observer = &listener, .trace = {.first = 1, .last = 2}}).ok());
  EXPECT_NE(listener.said.find("no folder"), std::string::npos) << listener.said;
}

}  // namespace
}  // namespace plimsoll
