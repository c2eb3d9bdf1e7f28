#include "report/run_log.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/allocation_test_count.h"
#include "plimsoll/plan.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class RunLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "run_log_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Text(const std::string& name) const { return ReadWholeFile(folder_ + "/" + name, 1 << 20).value(); }
  std::vector<Json> Lines() const {
    std::vector<Json> lines;
    const std::string text = Text("metrics.jsonl");
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      lines.push_back(Json::parse(text.substr(begin, text.find('\n', begin) - begin)));
    return lines;
  }
  std::string EventFile() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().find("tfevents") != std::string::npos) return entry.path().filename();
    }
    return "";
  }

  std::string folder_;
};

struct Seen final : Observer {
  int readings = 0, steps = 0, epochs = 0, plans = 0, ends = 0, starts = 0, work = 0;
  std::string message;
  void Reading(const ReadingReport&) override { ++readings; }
  void Started(const RunFacts&) override { ++starts; }
  void Planned(const Plan&) override { ++plans; }
  void Message(std::string_view text) override { message = text; }
  void Step(const StepReport&) override { ++steps; }
  void Work(const WorkReport&) override { ++work; }
  void Epoch(const EpochReport&) override { ++epochs; }
  void Ended(const RunEnd&) override { ++ends; }
};

StepReport StepAt(int64_t step, double loss, const StepTimes* times) {
  return {.epoch = 1,
          .epochs = 2,
          .step_in_epoch = step,
          .steps_per_epoch = 10,
          .update = step,
          .loss = loss,
          .accuracy = 0.5,
          .step_ms = 12.0,
          .resident_bytes = 15'000'000,
          .budget_bytes = 32'000'000,
          .items = 10 * step,
          .learning_rate = 0.01,
          .times = times};
}

TEST_F(RunLogTest, TheLogTellsTheRunFromItsPlanToItsEnd) {
  Seen seen;
  RunLog log(&seen);
  constexpr std::array kListed = {Metric::Accuracy, Metric::F1Macro};
  log.Reading({.file = "before there is a folder"});
  ASSERT_TRUE(log.Open(folder_, kListed).ok());
  const std::vector<std::string> layers = {"lstm", "de\"nse"};
  RunFacts facts{.task = "classify", .samples = 100, .layers = layers};
  facts.lengths = {.shortest = 3, .longest = 8, .mean = 5.5, .bin_steps = 2, .bins = 3, .counts = {1, 2, 3}};
  log.Started(facts);
  Plan plan;
  plan.budget_bytes = 32'000'000;
  plan.peak_bytes = 16'000'000;
  log.Planned(plan);
  const std::vector<LayerTime> times = {{1.0, 2.0}, {0.5, 0.25}};
  StepTimes measured{.layers = times};
  measured.phase_ms[static_cast<size_t>(Phase::Backward)] = 3.0;
  log.Step(StepAt(1, 1.0, nullptr));
  log.Step(StepAt(2, 1.0, &measured));
  log.Step(StepAt(4, 0.75, &measured));
  log.Work({.what = "validation"});
  log.Message("a \"note\"\n");
  const std::vector<std::string> outputs = {"tags"};
  EpochReport epoch{.epoch = 1, .epochs = 2, .updates = 10, .seconds = 2.0};
  epoch.train = {.loss = 0.5, .accuracy = 0.75};
  epoch.train.outputs[0] = {.loss = 0.25};
  epoch.has_valid = true;
  epoch.valid = {.loss = 0.625, .accuracy = 0.7};
  epoch.peak_bytes = 15'500'000;
  epoch.outputs = outputs;
  epoch.valid.metrics.Add(Metric::F1Macro, 0.375);
  log.Epoch(epoch);
  const std::vector<int64_t> confusion = {5, 1, 2, 7};
  const std::vector<Example> examples = {{.sample = 0, .step = 3, .input = 7},
                                         {.sample = 1, .target = 4, .likely = {4, 2, -1}, .probability = {0.75f, 0.25f}}};
  log.Ended({.first = {.loss = 1.5},
             .last = {.loss = 0.5},
             .updates = 10,
             .classes = 2,
             .confusion = confusion,
             .example_kind = ExampleKind::Classes,
             .examples = examples});
  ASSERT_TRUE(log.status().ok()) << log.status().message();

  const std::vector<Json> lines = Lines();
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0]["lengths"]["counts"], Json({1, 2, 3}));
  EXPECT_EQ(lines[0]["layers"], Json({"lstm", "de\"nse"}));
  EXPECT_EQ(lines[1]["planned_bytes"], 16'000'000);
  EXPECT_EQ(lines[2]["loss"], 1.0);
  EXPECT_EQ(lines[2]["phase_ms"]["backward"], 3.0);
  EXPECT_EQ(lines[3]["loss"], 0.5) << "the mean since the line before: (40 * 0.75 - 20 * 1) / 20";
  EXPECT_EQ(lines[3]["accuracy"], 0.5);
  EXPECT_EQ(lines[3]["planned_bytes"], 16'000'000);
  EXPECT_EQ(lines[3]["layer_backward_ms"], Json({2.0, 0.25}));
  EXPECT_EQ(lines[4]["text"], "a \"note\"\n");
  EXPECT_EQ(lines[5]["val_loss"], 0.625);
  EXPECT_EQ(lines[5]["val_f1_macro"], 0.375);
  EXPECT_EQ(lines[5]["outputs"][0]["output"], "tags");
  EXPECT_EQ(lines[5]["outputs"][0]["loss"], 0.25);
  EXPECT_EQ(lines[6]["confusion"], Json({5, 1, 2, 7}));
  EXPECT_EQ(lines[6]["last_loss"], 0.5);
  EXPECT_EQ(lines[6]["example_kind"], "classes");
  EXPECT_EQ(lines[6]["examples"], Json::parse(R"([{"sample":0,"step":3,"input":7},
    {"sample":1,"step":0,"target":4,"likely":[[4,0.75],[2,0.25]]}])"));

  const std::string csv = Text("metrics.csv");
  EXPECT_TRUE(csv.starts_with("epoch,update,seconds,loss,accuracy,val_loss,")) << csv;
  EXPECT_NE(csv.find("\n1,10,"), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.begin() + static_cast<long>(csv.find('\n')), ','),
            std::count(csv.begin() + static_cast<long>(csv.find('\n')), csv.end(), ','));
  EXPECT_NE(csv.find("_ms,f1_macro,val_f1_macro\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",,0.375\n"), std::string::npos) << "of validation alone: " << csv;
  EXPECT_NE(Text(EventFile()).find("epoch/val_accuracy"), std::string::npos);
  EXPECT_NE(Text(EventFile()).find("epoch/val_f1_macro"), std::string::npos);

  EXPECT_EQ(seen.starts + seen.plans + seen.steps + seen.epochs + seen.ends + seen.work, 1 + 1 + 3 + 1 + 1 + 1);
  EXPECT_EQ(seen.readings, 1);
  EXPECT_EQ(seen.message, "a \"note\"\n");
}

TEST_F(RunLogTest, ARunThatGoesOnAddsToWhatIsThere) {
  {
    RunLog log(nullptr);
    ASSERT_TRUE(log.Open(folder_).ok());
    log.Epoch({.epoch = 1});
  }
  fs::resize_file(folder_ + "/metrics.jsonl", fs::file_size(folder_ + "/metrics.jsonl") - 5);  // killed while it wrote
  RunLog log(nullptr);
  ASSERT_TRUE(log.Open(folder_).ok());
  log.Epoch({.epoch = 2});
  const std::string text = Text("metrics.jsonl"), csv = Text("metrics.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(Json::parse(text.substr(text.find('\n') + 1))["epoch"], 2);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3) << "one head, two rows: " << csv;
}

TEST_F(RunLogTest, StepsAndEpochsTakeNothingFromTheHeap) {
  RunLog log(nullptr);
  ASSERT_TRUE(log.Open(folder_).ok());
  const std::vector<LayerTime> times(200);
  const StepTimes measured{.layers = times};
  EpochReport epoch{.epoch = 1};
  epoch.has_valid = true;
  const int64_t before = heap.allocations;
  for (int i = 1; i <= 50; ++i) {
    log.Step(StepAt(i, 1.0 / i, &measured));
    log.Epoch(epoch);
  }
  EXPECT_EQ(heap.allocations, before);
  const std::string control(100, 'x');
  EXPECT_GT(heap.allocations, before);
  EXPECT_EQ(Lines().size(), 100u);
}

TEST_F(RunLogTest, WhyARunFailedIsNotedInTheLogAlone) {
  Seen seen;
  RunLog log(&seen);
  log.Note("before there is a folder");
  ASSERT_TRUE(log.Open(folder_).ok());
  log.Note("the loss is not finite");
  EXPECT_EQ(seen.message, "");
  ASSERT_EQ(Lines().size(), 1u);
  EXPECT_EQ(Lines()[0]["text"], "the loss is not finite");
}

TEST_F(RunLogTest, AFullDiskIsToldOnceAndRemembered) {
  Seen seen;
  RunLog log(&seen);
  ASSERT_EQ(::symlink("/dev/full", (folder_ + "/metrics.csv").c_str()), 0);
  const Status opened = log.Open(folder_);
  log.Epoch({.epoch = 1});
  EXPECT_EQ(log.status().kind(), StatusKind::CannotWrite);
  EXPECT_NE(log.status().message().find("metrics.csv"), std::string::npos) << log.status().message();
  EXPECT_NE(seen.message.find("no space"), std::string::npos) << seen.message;
  EXPECT_EQ(seen.epochs, 1) << "the run goes on";
}

}  // namespace
}  // namespace plimsoll
