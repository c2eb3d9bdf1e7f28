#include "plimsoll/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "data/batch.h"
#include "model/weights.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {
namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "plimsoll_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Job RaggedJob() {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=50&samples=300&min_steps=2";
  LSTMOptions first, second;
  first.units = 19;
  second.units = 33;
  job.layers = {{"", first}, {"", DropoutOptions{.rate = 0.2}}, {"", second}, {"", DenseOptions{}}};
  job.train.batch_size = 70;
  job.train.max_steps = 20;
  job.train.epochs = 100;
  job.train.clip_norm = 1.0;
  job.train.threads = 1;
  job.memory.budget = "1GB";
  return job;
}

TEST(Train, AnyNumberOfThreadsGivesTheSameWeights) {
  Folder folder;
  std::string one;
  for (const int64_t threads : {1, 2, 3, 8}) {
    Job job = RaggedJob();
    job.train.threads = threads;
    const std::string out = folder / fmt::format("run{}", threads);
    const Result<RunResult> run = Train(job, {.out = out});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ(run.value().updates, 20);
    const std::string weights = Contents(out + "/model/model.safetensors");
    ASSERT_GT(weights.size(), 1000u);
    if (threads == 1) one = weights;
    EXPECT_TRUE(weights == one) << threads << " threads";
  }
  Job other = RaggedJob();  // negative control: the comparison sees a difference where there is one
  other.train.seed = 2;
  ASSERT_TRUE(Train(other, {.out = folder / "other"}).ok());
  EXPECT_FALSE(Contents(folder / "other/model/model.safetensors") == one);
}

// Full storage, and cuts that the planner would choose for less and less memory: the same bits after 20 updates.
TEST(Train, AnyAmountOfRecomputeAndAnyNumberOfThreadsGivesTheSameWeights) {
  Job job = RaggedJob();
  job.data.train = "generate:adding?steps=150&samples=100&min_steps=2";
  std::vector<float> full;
  const Recompute cuts[] = {{10, 0}, {5, 1}, {4, 2}, {3, 2}, {2, 4}, {2, 1}, {1, 9}, {1, 3}, {1, 1}, {1, 0}};
  int64_t threads = 1;
  for (const Recompute& cut : cuts) {
    job.train.threads = threads;
    Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {.recompute = cut});
    ASSERT_TRUE(setup.ok()) << setup.status().message();
    Result<std::unique_ptr<Engine>> engine = Open(**setup);
    ASSERT_TRUE(engine.ok());
    Update update(**setup, **engine);
    ASSERT_TRUE(update.Start().ok());
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 70; ++i) numbers.push_back(i);
    for (int round = 0; round < 20; ++round) {
      StepSums sums;
      ASSERT_TRUE(update.Gradients(numbers.data(), 70, sums).ok());
      ASSERT_TRUE(update.Apply().ok());
    }
    std::vector<float> weights;
    for (const WeightPlace& place : WeightPlaces(*(*setup)->network)) {
      const size_t before = weights.size();
      weights.resize(before + static_cast<size_t>(place.elements()));
      GatherWeights(weights.data() + before, (*engine)->memory.layer(place.layer).F32(kWeights), place.tensor, 0,
                    place.elements());
    }
    if (full.empty()) full = weights;
    ASSERT_EQ(weights.size(), full.size());
    EXPECT_EQ(std::memcmp(weights.data(), full.data(), full.size() * sizeof(float)), 0)
        << cut.segment_blocks << " blocks a segment, " << cut.slots << " slots, " << threads << " threads";
    threads = threads == 4 ? 1 : 2 * threads;
  }
}

TEST(Train, LearnsAndTheModelFolderGivesTheSameScore) {
  Folder folder;
  Job job = RaggedJob();
  job.data.train = "generate:parity?steps=6&samples=400&per_step=false";
  job.task = Task::Classify;
  LSTMOptions lstm;
  lstm.units = 16;
  job.layers = {{"", EmbeddingOptions{.output_dim = 4}}, {"", lstm}, {"", DenseOptions{.activation = Activation::Softmax}}};
  job.data.valid_share = 0.2;
  job.train.max_steps = 0;
  job.train.epochs = 40;
  job.train.learning_rate = 0.02;
  job.train.batch_size = 32;
  const Result<RunResult> run = Train(job, {.out = folder / "run"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_GT(run.value().last.accuracy, 0.95) << "before: " << run.value().first.accuracy;
  const Result<EvaluateResult> again = Evaluate({.model = folder / "run"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again.value().score.loss, run.value().last.loss);
  EXPECT_EQ(again.value().score.items, run.value().last.items);
}

TEST(Train, StartsFromTheWeightsOfAModelFolder) {
  Folder folder;
  Job job = RaggedJob();
  ASSERT_TRUE(Train(job, {.out = folder / "a"}).ok());
  job.init_from = folder / "a";
  job.train.seed = 5;
  job.train.max_steps = 1;
  job.train.learning_rate = 1e-30;
  ASSERT_TRUE(Train(job, {.out = folder / "b"}).ok());
  EXPECT_TRUE(Contents(folder / "a/model/model.safetensors") == Contents(folder / "b/model/model.safetensors"));
}

TEST(Train, ABudgetThatCannotHoldIsRefusedAndTheNamedOneWorks) {
  Job job = RaggedJob();
  job.train.max_steps = 1;
  job.memory.budget = "1MB";
  const Result<RunResult> refused = Train(job, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), StatusKind::OverBudget);
  EXPECT_GT(refused.status().min_bytes(), 0);
  job.memory.budget = std::to_string(2 * refused.status().min_bytes());  // this process has grown since
  EXPECT_TRUE(Train(job, {}).ok());
}

TEST(Train, ALossThatIsNotFiniteEndsTheRunAndNamesTheUpdate) {
  Job job = RaggedJob();
  job.train.learning_rate = 1e30;
  job.train.clip_norm = 0.0;
  const Result<RunResult> run = Train(job, {});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().kind(), StatusKind::Diverged);
  EXPECT_NE(run.status().message().find("update"), std::string::npos) << run.status().message();
}

// Outputs of every sample, by sample number.
class Outputs final : public OutputSink {
 public:
  void Rows(const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) override {
    for (int64_t i = 0; i < count; ++i) values[group.samples[first + i]] = outputs[i * stride];
  }
  std::map<int64_t, float> values;
};

TEST(Evaluate, ARowDoesNotDependOnItsNeighboursOrItsPlace) {
  Job job = RaggedJob();
  Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {});
  ASSERT_TRUE(setup.ok());
  Result<std::unique_ptr<Engine>> engine = Open(**setup);
  ASSERT_TRUE(engine.ok());
  Update update(**setup, **engine);
  ASSERT_TRUE(update.Start().ok());
  Batch batch((*setup)->samples.get(), (*engine)->batch_buffers(), (*setup)->plan.group_rows);
  const auto run = [&](const std::vector<int64_t>& numbers) {
    Outputs outputs;
    (*engine)->step.SetOutputSink(&outputs);
    batch.Start(numbers.data(), static_cast<int64_t>(numbers.size()));
    StepSums sums;
    for (int64_t group = 0; group < batch.groups(); ++group) (*engine)->step.EvaluateGroup(batch.Read(group).value(), sums);
    return outputs.values;
  };
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 70; ++i) all.push_back(i);
  const auto together = run(all);
  ASSERT_EQ(together.size(), 70u);
  for (const int64_t number : {0, 7, 33, 69}) {
    const float alone = run({number}).at(number), in_pair = run({number, 100 + number}).at(number);
    EXPECT_EQ(std::memcmp(&alone, &together.at(number), sizeof alone), 0) << "sample " << number;
    EXPECT_EQ(std::memcmp(&in_pair, &alone, sizeof alone), 0) << "sample " << number;
  }
}

}  // namespace
}  // namespace plimsoll
