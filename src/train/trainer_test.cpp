#include "plimsoll/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "data/batch.h"
#include "model/weights.h"
#include "train/setup.h"
#include "train/train_test_files.h"
#include "train/update.h"

namespace plimsoll {
namespace {

Job RaggedJob() {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=50&samples=300&min_steps=2";
  job.layers = {{"", LSTMOptions{.units = 19, .proj_size = 11}},
                {"", DropoutOptions{.rate = 0.2}},
                {"", LayerNormalizationOptions{}},
                {"", MergeOptions{.mode = MergeMode::Add}, {"layernormalization", "lstm"}},
                {"", GRUOptions{.units = 33, .dropout = 0.2, .recurrent_dropout = 0.1}},
                {"", DropoutOptions{.rate = 0.1, .spatial = true}},
                {"", ActivationOptions{.activation = Activation::Elu}},
                {"", SimpleRNNOptions{.units = 40}},
                {"", GRUOptions{.units = 12, .reset_after = false}},
                {"", LSTMOptions{.units = 21, .layer_normalization = true}},
                {"", DenseOptions{}}};
  job.train.batch_size = 70;
  job.train.max_steps = 20;
  job.train.epochs = 100;
  job.train.clip_norm = 1.0;
  job.train.threads = 1;
  job.memory.budget = "1GB";
  return job;
}

// A recurrent layer that gives its last state has a node more than the job has layers; the saved job is the one that was asked.
TEST(Train, AGraphIsSavedAndScoredAgain) {
  Folder folder;
  Job job = RaggedJob();
  job.layers = {{"", LSTMOptions{.units = 9}},
                {"", PoolingOptions{.mode = PoolingMode::Max}, {"input"}},
                {"", GRUOptions{.units = 7}, {"input"}},
                {"", PoolingOptions{.mode = PoolingMode::Mean}},
                {"", MergeOptions{}, {"lstm", "pooling", "pooling_1"}},
                {"", DenseOptions{}}};
  Result<RunResult> run = Train(job, {.out = folder / "run"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  Result<Job> saved = ReadJob(folder / "run/job.toml", {});
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  ASSERT_EQ(saved->layers.size(), job.layers.size());
  const char* names[] = {"lstm", "pooling", "gru", "pooling_1", "concatenate", "dense"};
  for (size_t i = 0; i < job.layers.size(); ++i) {
    EXPECT_EQ(saved->layers[i].name, names[i]);
    EXPECT_EQ(saved->layers[i].inputs, job.layers[i].inputs);
    EXPECT_EQ(saved->layers[i].kind.index(), job.layers[i].kind.index());
  }
  EXPECT_EQ(std::get<PoolingOptions>(saved->layers[1].kind).mode, PoolingMode::Max);
  EXPECT_EQ(std::get<PoolingOptions>(saved->layers[3].kind).mode, PoolingMode::Mean);
  Result<EvaluateResult> again = Evaluate({.model = folder / "run", .memory = "1GB"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->score.loss, run->last.loss);
}

TEST(Summarize, CountsTheVectorsOfANormalisedLstmWhichKeepsWhatThePlainOneKeeps) {
  Job job = RaggedJob();
  const auto first_layer = [&](const LSTMOptions& lstm) {
    job.layers = {{"", lstm}, {"", DenseOptions{}}};
    return Summarize(job).value().layers.front();
  };
  const LayerSummary plain = first_layer({.units = 16}), normalised = first_layer({.units = 16, .layer_normalization = true});
  EXPECT_EQ(plain.parameters, 64 * (2 + 16 + 1));
  EXPECT_EQ(normalised.parameters, plain.parameters + 4 * 64 + 2 * 16);
  EXPECT_EQ(normalised.tape_bytes_per_row_step, 16 * 16);
  EXPECT_EQ(normalised.tape_bytes_per_row_step, plain.tape_bytes_per_row_step);
  EXPECT_EQ(normalised.description, "LSTM(units=16, layer_normalization=true)");
}

TEST(Train, ARunThatCannotBeginLeavesNoFolder) {
  Folder folder;
  Job job = RaggedJob();
  job.init_from = folder / "not_there";
  EXPECT_FALSE(Train(job, {.out = folder / "run"}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  job.init_from = "";
  EXPECT_TRUE(Train(job, {.out = folder / "run"}).ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "run")) << "the control";
}

// So few rows that threads share out units instead; 70 and 100 units are no whole number of tiles, 20 have no second one.
Job FewRowsJob() {
  Job job = RaggedJob();
  job.layers = {{"", LSTMOptions{.units = 70}},
                {"", GRUOptions{.units = 100}},
                {"", SimpleRNNOptions{.units = 65}},
                {"", LSTMOptions{.units = 20}},
                {"", DenseOptions{}}};
  job.train.batch_size = 5;
  return job;
}

TEST(Train, AnyNumberOfThreadsGivesTheSameWeights) {
  Folder folder;
  for (const bool few : {false, true}) {
    const Job asked = few ? FewRowsJob() : RaggedJob();
    std::string one;
    for (const int64_t threads : {1, 2, 3, 8}) {
      Job job = asked;
      job.train.threads = threads;
      const std::string out = folder / fmt::format("run{}{}", threads, few);
      const Result<RunResult> run = Train(job, {.out = out});
      ASSERT_TRUE(run.ok()) << run.status().message();
      EXPECT_EQ(run.value().updates, 20);
      const std::string weights = Contents(out + "/model/model.safetensors");
      ASSERT_GT(weights.size(), 1000u);
      if (threads == 1) one = weights;
      EXPECT_TRUE(weights == one) << threads << " threads";
    }
    Job other = asked;  // negative control: the comparison sees a difference where there is one
    other.train.seed = 2;
    const std::string out = folder / fmt::format("other{}", few);
    ASSERT_TRUE(Train(other, {.out = out}).ok());
    EXPECT_FALSE(Contents(out + "/model/model.safetensors") == one);
  }
}

// A job set up with one cut, and the weights after some updates on the first 70 samples.
struct CutRun {
  std::unique_ptr<plimsoll::Setup> setup;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Update> update;

  CutRun(const Job& job, const SetupOptions& options) {
    Result<std::unique_ptr<plimsoll::Setup>> made = plimsoll::SetUp(job, options);
    if (!made.ok()) throw std::runtime_error(made.status().message());
    setup = std::move(made).value();
    Result<std::unique_ptr<Engine>> opened = Open(*setup);
    if (!opened.ok()) throw std::runtime_error(opened.status().message());
    engine = std::move(opened).value();
    update = std::make_unique<Update>(*setup, *engine);
    if (!update->Start().ok()) throw std::runtime_error("no start");
  }
  void Updates(int count) const {
    std::vector<int64_t> numbers(70);
    std::iota(numbers.begin(), numbers.end(), 0);
    for (int round = 0; round < count; ++round) {
      StepSums sums;
      if (!update->Gradients(numbers.data(), 70, sums).ok() || !update->Apply().ok()) throw std::runtime_error("no update");
    }
  }
  std::vector<float> Weights() const {
    std::vector<float> weights;
    for (const WeightPlace& place : WeightPlaces(*setup->network)) {
      const size_t before = weights.size();
      weights.resize(before + static_cast<size_t>(place.elements()));
      GatherWeights(weights.data() + before, engine->memory.layer(place.layer).F32(kWeights), place.tensor, 0,
                    place.elements());
    }
    return weights;
  }
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Job LongRaggedJob() {
  Job job = RaggedJob();
  job.data.train = "generate:adding?steps=150&samples=100&min_steps=2";
  job.memory.spill = std::filesystem::current_path();
  return job;
}

// Full storage, and cuts that the planner would choose for less and less memory: the same bits after 20 updates.
TEST(Train, AnyAmountOfRecomputeAnyNumberOfThreadsAndSpillGiveTheSameWeights) {
  Job job = LongRaggedJob();
  std::vector<float> full;
  const Recompute cuts[] = {{10, 0}, {5, 1}, {4, 2},       {3, 2}, {2, 4}, {2, 4, true},
                            {2, 1},  {1, 9}, {1, 9, true}, {1, 3}, {1, 1}, {1, 0}};
  int64_t threads = 1;
  for (const Recompute& cut : cuts) {
    job.train.threads = threads;
    const CutRun run(job, {.recompute = cut});
    run.Updates(20);
    if (full.empty()) full = run.Weights();
    EXPECT_TRUE(SameBits(run.Weights(), full)) << cut.segment_blocks << " blocks a segment, " << cut.slots << " slots"
                                               << (cut.spilled ? " in a file, " : ", ") << threads << " threads";
    threads = threads == 4 ? 1 : 2 * threads;
  }
}

// Of small models two row groups run side by side, but not of few rows, of large weights, or where the program has brought
// along what it may not expect to be called by two threads.
TEST(Train, RowGroupsRunSideBySideWhereTheModelIsSmall) {
  const auto abreast = [](const Job& job) {
    Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {});
    if (!setup.ok()) throw std::runtime_error(setup.status().message());
    const Plan& plan = (*setup)->plan;
    EXPECT_LE(plan.group_rows * plan.groups_abreast, kGroupRows);
    return plan.groups_abreast;
  };
  Job job = RaggedJob();
  job.train.batch_size = 64;
  EXPECT_EQ(abreast(job), 2);
  job.train.batch_size = 16;
  EXPECT_EQ(abreast(job), 2);
  job.train.batch_size = 15;
  EXPECT_EQ(abreast(job), 1);
  job.train.batch_size = 64;
  std::get<GRUOptions>(job.layers[4].kind).units = 600;  // 4.4 MB of weights
  EXPECT_EQ(abreast(job), 1);
}

// A language model of sorts: 302 words of 24 values, looked up at every step.
Job WordsJob(bool tied) {
  Job job;
  job.data.train = "generate:copy?delay=150&count=5&symbols=300&samples=100";
  job.layers = {{"", EmbeddingOptions{.output_dim = 24}},
                {"", LSTMOptions{.units = 24, .dropout = 0.1}},
                {"", DenseOptions{.units = 302, .tied_to = tied ? "embedding" : ""}}};
  job.train.batch_size = 70;
  job.train.max_steps = 3;
  job.train.threads = 1;
  job.memory.budget = "1GB";
  job.memory.spill = std::filesystem::current_path();
  return job;
}

// The weights of the job after five updates, which are the same under all of the cuts, with 1, 2, 4, 1, ... threads.
std::vector<float> SameUnder(std::initializer_list<Recompute> cuts, Job& job) {
  std::vector<float> full;
  int64_t threads = 1;
  for (const Recompute& cut : cuts) {
    job.train.threads = threads;
    const CutRun run(job, {.recompute = cut});
    run.Updates(5);
    if (full.empty()) full = run.Weights();
    EXPECT_TRUE(SameBits(run.Weights(), full)) << cut.segment_blocks << " blocks a segment, " << threads << " threads";
    threads = threads == 4 ? 1 : 2 * threads;
  }
  return full;
}

TEST(Train, ATiedTableGivesTheSameWeightsUnderAnyPlan) {
  Job job = WordsJob(/*tied=*/true);
  const std::vector<float> full = SameUnder({{10, 0}, {5, 1}, {2, 4, true}, {1, 3}, {1, 0}}, job);
  const CutRun changed(job, {});  // the Dense finds the table where the new plan has put it
  changed.Updates(2);
  ASSERT_TRUE(
      changed.engine->Replan(*changed.setup, PlanWith(changed.setup->input, {changed.setup->plan.group_rows, {2, 3}})).ok());
  changed.update->Rebind();
  changed.Updates(3);
  EXPECT_TRUE(SameBits(changed.Weights(), full));
}

TEST(Train, ATiedTableIsHeldCountedAndWrittenOnce) {
  constexpr int64_t kTable = 302 * 24;
  const auto planned = [](bool tied, bool training) {
    Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(WordsJob(tied), {.training = training});
    return setup.ok() ? (*setup)->plan.arena_bytes : throw std::runtime_error(setup.status().message());
  };
  EXPECT_GE(planned(false, true) - planned(true, true), 4 * kTable * 4) << "weights, gradient and two moments";
  EXPECT_GE(planned(false, false) - planned(true, false), kTable * 4);

  Result<ModelSummary> summary = Summarize(WordsJob(true)), untied = Summarize(WordsJob(false));
  ASSERT_TRUE(summary.ok() && untied.ok());
  EXPECT_EQ(untied->parameters - summary->parameters, kTable);
  EXPECT_EQ(summary->layers.back().parameters, 302);

  Folder folder;
  Result<RunResult> run = Train(WordsJob(true), {.out = folder / "run"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  const std::string file = Contents(folder / "run/model/model.safetensors");
  EXPECT_NE(file.find("embedding.weight"), std::string::npos);
  EXPECT_NE(file.find("dense.bias"), std::string::npos);
  EXPECT_EQ(file.find("dense.weight"), std::string::npos);
  Result<EvaluateResult> again = Evaluate({.model = folder / "run", .memory = "1GB"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->score.loss, run->last.loss);
}

Job SeveralJob(const std::string& file) {
  Job job;
  job.data.train = file;
  job.layers = {{"", EmbeddingOptions{.output_dim = 9}},
                {"body", LSTMOptions{.units = 13, .kernel_l2 = 0.01, .dropout = 0.1}},
                {"mean", PoolingOptions{.mode = PoolingMode::Mean}},
                {"mood", DenseOptions{}},
                {"tags", DenseOptions{}, {"body"}}};
  job.outputs = {{.layer = "tags", .loss_weight = 2.0}, {.layer = "mood", .loss_weight = 0.5}};
  job.train.batch_size = 70;
  job.train.max_steps = 10;
  job.train.epochs = 10;
  job.train.threads = 1;
  job.memory.budget = "1GB";
  return job;
}

TEST(Train, SeveralOutputsGiveTheSameWeightsUnderAnyPlan) {
  const Folder folder;
  Job job = SeveralJob(PutSeveralTargets(folder / "data.npz", 100, 150));
  job.memory.spill = std::filesystem::current_path();
  const std::vector<float> full = SameUnder({{10, 0}, {4, 1}, {2, 4, true}, {1, 3}, {1, 0}}, job);
  job.outputs[1].loss_weight = 0.6;  // the control
  const CutRun other(job, {});
  other.Updates(5);
  EXPECT_FALSE(SameBits(other.Weights(), full));
}

TEST(Train, TheScoreOfSeveralOutputsIsTheirWeightedSum) {
  Folder folder;
  Job job = SeveralJob(PutSeveralTargets(folder / "data.npz", 100, 30));
  job.data.valid_share = 0.3;
  Result<RunResult> run = Train(job, {.out = folder / "run"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->outputs, (std::vector<std::string>{"tags", "mood"}));
  const Score& last = run->last;
  EXPECT_LT(last.loss, run->first.loss);
  EXPECT_EQ(last.accuracy, -1.0);
  EXPECT_GE(last.outputs[0].accuracy, 0.0);
  EXPECT_EQ(last.outputs[1].accuracy, -1.0);
  const double sum = 2.0 * last.outputs[0].loss + 0.5 * last.outputs[1].loss;
  EXPECT_GT(last.loss, sum) << "the penalty comes on top";
  EXPECT_NEAR(last.loss, sum, 0.3);
  Result<EvaluateResult> again = Evaluate({.model = folder / "run", .memory = "1GB"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->score.loss, last.loss);
  EXPECT_EQ(again->score.outputs[1].loss, last.outputs[1].loss);
  EXPECT_EQ(again->outputs, run->outputs);
}

// One output in the list is the output that a job without a list has.
TEST(Train, AListOfOneOutputChangesNoBit) {
  Folder folder;
  Job plain = SeveralJob(PutSeveralTargets(folder / "data.npz", 100, 60));
  plain.outputs.clear();
  plain.layers = {{"", EmbeddingOptions{.output_dim = 9}}, {"", GRUOptions{.units = 12}}, {"tags", DenseOptions{}}};
  Job listed = plain;
  listed.outputs = {{.layer = "tags", .targets = "y"}};
  const CutRun a(plain, {}), b(listed, {});
  a.Updates(5);
  b.Updates(5);
  EXPECT_TRUE(SameBits(a.Weights(), b.Weights()));
  EXPECT_EQ(a.setup->plan.arena_bytes, b.setup->plan.arena_bytes);
}

TEST(Train, ANewPlanBetweenTwoUpdatesChangesNothing) {
  const Job job = LongRaggedJob();
  const CutRun straight(job, {});
  straight.Updates(9);
  const CutRun changed(job, {});
  changed.Updates(3);
  const int64_t rows = changed.setup->plan.group_rows, before = changed.engine->arena.bytes();
  for (const Recompute& cut : {Recompute{1, 2}, Recompute{2, 4, true}, Recompute{10, 0}}) {
    ASSERT_TRUE(changed.engine->Replan(*changed.setup, PlanWith(changed.setup->input, {rows, cut})).ok());
    changed.update->Rebind();
    EXPECT_LE(changed.engine->arena.bytes(), before);
    EXPECT_EQ(changed.engine->arena.bytes() == before, cut.segment_blocks == 10) << "less is kept, less is held";
    changed.Updates(2);
  }
  EXPECT_TRUE(SameBits(changed.Weights(), straight.Weights()));
  changed.Updates(1);  // negative control: one update more is seen
  EXPECT_FALSE(SameBits(changed.Weights(), straight.Weights()));
}

TEST(Train, SmallerRowGroupsChangeTheRoundingOnly) {
  Job job = LongRaggedJob();
  const CutRun own(job, {});
  ASSERT_EQ(own.setup->plan.group_rows, 32);
  ASSERT_EQ(own.setup->plan.groups_abreast, 2);
  CutRun small(job, {});
  const Plan plan = PlanWith(small.setup->input, {8, {.segment_blocks = 10}});
  EXPECT_TRUE(plan.rounding_only_change);
  small.setup->plan = plan;
  small.engine = std::move(Open(*small.setup)).value();
  small.update = std::make_unique<Update>(*small.setup, *small.engine);
  ASSERT_TRUE(small.update->Start().ok());
  own.Updates(5);
  small.Updates(5);
  const std::vector<float> a = own.Weights(), b = small.Weights();
  double difference = 0.0, size = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += static_cast<double>(a[i]) * a[i];
  }
  EXPECT_FALSE(SameBits(a, b)) << "the same groups ran: the test shows nothing";
  EXPECT_LT(std::sqrt(difference / size), 1e-5);
}

// At the smallest budget there is nothing that a step does not use: words of the arena that still hold the poison after an
// update were never written.
TEST(Train, AtTheSmallestBudgetNearlyAllOfTheArenaIsWrittenInAStep) {
  if (kGuardBytes > 0) GTEST_SKIP() << "guards are never written";
  Job job = RaggedJob();
  job.data.train = "generate:adding?steps=400&samples=64";
  job.train.batch_size = 64;
  const CutRun probe(job, {});
  PlanInput input = probe.setup->input;
  input.budget_bytes = SmallestBudget(input);
  probe.setup->plan = FitToBudget(input);
  ASSERT_TRUE(probe.setup->plan.feasible);
  auto engine = std::move(Open(*probe.setup)).value();
  const int64_t bytes = engine->arena.bytes() / 4 * 4;
  constexpr uint32_t kPoison = 0x3c3c3c3c;  // as a float 0.0115: a step on it goes well
  auto* words = reinterpret_cast<uint32_t*>(engine->arena.At(0));
  std::fill(words, words + bytes / 4, kPoison);
  engine->step.PrepareWeights();
  Update update(*probe.setup, *engine);
  std::vector<int64_t> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0);
  StepSums sums;
  ASSERT_TRUE(update.Gradients(numbers.data(), 64, sums).ok());
  ASSERT_TRUE(update.Apply().ok());
  const int64_t untouched = std::count(words, words + bytes / 4, kPoison);
  EXPECT_LE(static_cast<double>(untouched), 0.03 * static_cast<double>(bytes / 4))
      << untouched << " of " << bytes / 4 << " words were not written";
}

// Lowers the bound of a made-up memory group while a job runs, and lifts it again.
class GroupMaster final : public Observer {
 public:
  explicit GroupMaster(std::string file) : file_(std::move(file)) { Say("max"); }
  void Say(const std::string& bound) const { std::ofstream(file_) << bound << "\n"; }
  void Planned(const Plan& plan) override {
    budgets.push_back(plan.budget_bytes);
    if (budgets.size() == 1) Say(std::to_string(plan.own_groups_bytes));
    if (budgets.size() == 2) Say("max");
  }
  void Step(const StepReport&) override { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
  std::vector<int64_t> budgets;

 private:
  std::string file_;
};

TEST(Train, FollowsTheBoundOfItsMemoryGroup) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory has no budget";
  std::string own;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::/")) own = line.substr(3);
  }
  if (own.empty()) GTEST_SKIP() << "no cgroup v2 here";
  Folder folder;
  std::filesystem::create_directories(folder / own);
  Job job = LongRaggedJob();
  job.memory.spill.clear();
  job.train.max_steps = 150;
  job.train.epochs = 1000;
  ASSERT_TRUE(Train(job, {.out = folder / "straight"}).ok());
  GroupMaster master(folder / own + "/memory.high");
  const Result<RunResult> run = Train(job, {.out = folder / "led", .observer = &master, .groups = folder / ""});
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_EQ(master.budgets.size(), 3u) << "planned at the start, under the bound, and without it";
  EXPECT_LT(master.budgets[1], master.budgets[0]);
  EXPECT_EQ(master.budgets[2], master.budgets[0]);
  EXPECT_TRUE(Contents(folder / "led/model/model.safetensors") == Contents(folder / "straight/model/model.safetensors"));
}

TEST(Train, DropoutInsideARecurrentLayerActsInTrainingAlone) {
  const auto run = [](double dropout, double recurrent_dropout) {
    Job job;
    job.task = Task::Regress;
    job.data.train = "generate:adding?steps=30&samples=80&min_steps=2";
    job.layers = {{"", LSTMOptions{.units = 9, .dropout = dropout, .recurrent_dropout = recurrent_dropout}},
                  {"", DenseOptions{}}};
    job.train.max_steps = 2;
    job.train.threads = 1;
    job.memory.budget = "1GB";
    Result<RunResult> result = Train(job, {});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::pair(result->first.loss, result->last.loss);
  };
  const auto plain = run(0.0, 0.0), inputs = run(0.4, 0.0), state = run(0.0, 0.4);
  EXPECT_EQ(plain.first, inputs.first) << "scores are of the whole network";
  EXPECT_EQ(plain.first, state.first);
  EXPECT_NE(plain.second, inputs.second) << "without a difference in training nothing is shown";
  EXPECT_NE(plain.second, state.second);
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
  job.train.optimizer = OptimizerKind::Sgd;
  job.train.learning_rate = 1000.0;
  job.train.clip_norm = 0.0;
  const Result<RunResult> run = Train(job, {});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().kind(), StatusKind::Diverged);
  EXPECT_NE(run.status().message().find("update"), std::string::npos) << run.status().message();
}

TEST(Train, AJobThatAProgramFilledInWronglyIsRefusedAsAFileIs) {
  Job job = RaggedJob();
  job.train.batch_size = 0;
  const Result<RunResult> run = Train(job, {});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().kind(), StatusKind::Usage);
  EXPECT_NE(run.status().message().find("train.batch_size"), std::string::npos) << run.status().message();
}

// Outputs of every sample, by sample number.
class Outputs final : public OutputSink {
 public:
  void Rows(size_t /*output*/, const RowGroup& group, int64_t first, int64_t count, const float* outputs,
            int64_t stride) override {
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
  Batch batch((*setup)->samples.get(), (*engine)->batch_buffers(), (*setup)->plan.group_rows, /*reversed=*/false,
              *(*setup)->pool);
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
