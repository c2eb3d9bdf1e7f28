// Ten updates of the engine against the reference optimizer in double, on the engine's own gradients.
#include "train/optimizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "infer/scorer.h"
#include "model/train_options.h"
#include "model/weights.h"
#include "reference/optimizer.h"
#include "train/lr_schedule.h"
#include "train/setup.h"
#include "train/train_test_files.h"
#include "train/update.h"

namespace plimsoll {
namespace {

using Tensors = std::vector<ReferenceTensor<double>>;

constexpr int kUpdates = 10;
constexpr double kTolerance = 1e-5;  // of the movement: float beside double
constexpr double kNoticed = 1e-3;    // what a wrong setting must differ by

Job SmallJob(const TrainOptions& train) {
  Job job;
  job.data.train = "generate:parity?steps=9&samples=24&per_step=false";
  job.layers = {{"", EmbeddingOptions{.output_dim = 5}}, {"", LSTMOptions{.units = 19}}, {"", DenseOptions{}}};
  job.train = train;
  job.train.batch_size = 24;
  job.train.epochs = kUpdates;
  job.train.threads = 2;
  job.memory.budget = "1GB";
  return job;
}

Tensors Gather(const plimsoll::Setup& setup, const Engine& engine, int key) {
  Tensors tensors;
  for (const WeightPlace& place : WeightPlaces(*setup.network)) {
    std::vector<float> values(static_cast<size_t>(place.elements()));
    GatherWeights(values.data(), engine.memory.layer(place.layer).F32(key), place.tensor, 0, place.elements());
    tensors.push_back({place.name, place.shape(), {values.begin(), values.end()}});
  }
  return tensors;
}

// Norm of a - b over all tensors together.
double Distance(const Tensors& a, const Tensors& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t e = 0; e < a[i].values.size(); ++e) sum += std::pow(a[i].values[e] - b[i].values[e], 2);
  }
  return std::sqrt(sum);
}

// How far engine and reference are apart after ten updates, as a share of the way that the reference went.
double Difference(const TrainOptions& engine_options, const TrainOptions& reference_options) {
  const auto setup = SetUpOrThrow(SmallJob(engine_options));
  const Job other = SmallJob(reference_options);
  Result<std::unique_ptr<Engine>> engine = Open(*setup);
  if (!engine.ok()) throw std::runtime_error(engine.status().message());
  Update update(*setup, **engine);
  if (!update.Start().ok()) throw std::runtime_error("no start");
  const Tensors start = Gather(*setup, **engine, kWeights);
  Tensors weights = start;
  ReferenceOptimizer<double> reference(other.train);
  std::vector<int64_t> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int number = 1; number <= kUpdates; ++number) {
    StepSums sums;
    if (!update.Gradients(numbers.data(), 24, sums).ok()) throw std::runtime_error("no gradient");
    const Tensors gradients = Gather(*setup, **engine, kGradient);
    if (!update.Apply().ok()) throw std::runtime_error("no update");
    reference.Update(weights, gradients, LearningRateAt(other.train, number, kUpdates));
  }
  return Distance(Gather(*setup, **engine, kWeights), weights) / Distance(weights, start);
}

// Learning rates are large enough for the movement to be far above a weight's last bit.
struct Case {
  const char* name;
  std::function<void(TrainOptions&)> choose;
  std::function<void(TrainOptions&)> mistake;  // negative control
};

const Case kCases[] = {
    {"adam", [](TrainOptions&) {}, [](TrainOptions& o) { o.beta_2 = 0.99; }},
    {"adamw",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::AdamW;
       o.weight_decay = 0.5;
     },
     [](TrainOptions& o) { o.weight_decay = 0.4; }},
    {"sgd",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Sgd;
       o.learning_rate = 1.0;
     },
     [](TrainOptions& o) { o.learning_rate = 1.01; }},
    {"sgd with momentum",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Sgd;
       o.learning_rate = 0.1;
       o.momentum = 0.9;
     },
     [](TrainOptions& o) { o.momentum = 0.89; }},
    {"sgd with nesterov",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Sgd;
       o.learning_rate = 0.1;
       o.momentum = 0.9;
       o.nesterov = true;
     },
     [](TrainOptions& o) { o.nesterov = false; }},
    {"rmsprop", [](TrainOptions& o) { o.optimizer = OptimizerKind::RmsProp; }, [](TrainOptions& o) { o.rho = 0.8; }},
    {"adagrad",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Adagrad;
       o.learning_rate = 0.01;
       o.initial_accumulator_value = 1e-3;
     },
     [](TrainOptions& o) { o.initial_accumulator_value = 2e-3; }},
    {"clip_norm",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Sgd;
       o.learning_rate = 10.0;
       o.clip_norm = 1e-2;
     },
     [](TrainOptions& o) { o.clip_norm = 0.0; }},
    {"clip_tensor_norm",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Sgd;
       o.learning_rate = 10.0;
       o.clip_tensor_norm = 3e-3;
     },
     [](TrainOptions& o) { std::swap(o.clip_norm, o.clip_tensor_norm); }},
    {"clip_value",
     [](TrainOptions& o) {
       o.optimizer = OptimizerKind::Sgd;
       o.learning_rate = 10.0;
       o.clip_value = 1e-3;
     },
     [](TrainOptions& o) { o.clip_value = 2e-3; }},
    {"cosine with warm-up",
     [](TrainOptions& o) {
       o.lr_schedule = LrSchedule::Cosine;
       o.warmup_steps = 3;
     },
     [](TrainOptions& o) { o.warmup_steps = 2; }},
};

TEST(Optimizer, TenUpdatesAgreeWithTheReferenceAndAWrongSettingDoesNot) {
  for (const Case& test : kCases) {
    TrainOptions options;
    test.choose(options);
    EXPECT_LT(Difference(options, options), kTolerance) << test.name;
    TrainOptions wrong = options;
    test.mistake(wrong);
    EXPECT_GT(Difference(options, wrong), kNoticed) << test.name << ": the comparison must see it";
  }
}

// A bias that begins at zero and never gets a gradient would show nothing, so the forget bias of 1 is looked at.
TEST(Optimizer, WeightDecayLeavesBiasesAlone) {
  TrainOptions options;
  options.optimizer = OptimizerKind::AdamW;
  options.weight_decay = 100.0;  // a tenth of a weight in an update
  const auto setup = SetUpOrThrow(SmallJob(options));
  Result<std::unique_ptr<Engine>> engine = Open(*setup);
  ASSERT_TRUE(engine.ok());
  Update update(*setup, **engine);
  ASSERT_TRUE(update.Start().ok());
  (*engine)->step.ZeroGradients(*setup->pool);
  const Tensors before = Gather(*setup, **engine, kWeights);
  ASSERT_TRUE(update.Apply().ok());
  const Tensors after = Gather(*setup, **engine, kWeights);
  for (size_t i = 0; i < before.size(); ++i) {
    const double kept = before[i].shape.size() == 1 ? 1.0 : 0.9;
    for (size_t e = 0; e < before[i].values.size(); ++e) {
      ASSERT_NEAR(after[i].values[e], kept * before[i].values[e], 1e-6) << before[i].name << " " << e;
    }
  }
}

TEST(Optimizer, ThePlanHoldsTheMomentsThatItHas) {
  for (const Case& test : kCases) {
    TrainOptions options;
    test.choose(options);
    const auto setup = SetUpOrThrow(SmallJob(options));
    int64_t weights = 0, moments = 0;
    for (const PlannedBuffer& buffer : setup->plan.buffers) {
      if (buffer.name == "weights") weights += buffer.bytes;
      if (buffer.name.find("moment of") != std::string::npos) moments += buffer.bytes;
    }
    EXPECT_GT(weights, 0);
    EXPECT_EQ(moments, MomentsOf(options) * weights) << test.name;
  }
}

TEST(Optimizer, AnyNumberOfThreadsGivesTheSameBits) {
  for (const Case& test : kCases) {
    std::vector<Tensors> ends;
    for (const int64_t threads : {1, 3}) {
      TrainOptions options;
      test.choose(options);
      Job job = SmallJob(options);
      job.train.threads = threads;
      const auto setup = SetUpOrThrow(job);
      Result<std::unique_ptr<Engine>> engine = Open(*setup);
      ASSERT_TRUE(engine.ok());
      Update update(*setup, **engine);
      ASSERT_TRUE(update.Start().ok());
      const int64_t numbers[] = {3, 1, 4, 15, 9};
      for (int number = 0; number < 3; ++number) {
        StepSums sums;
        ASSERT_TRUE(update.Gradients(numbers, 5, sums).ok());
        ASSERT_TRUE(update.Apply().ok());
      }
      ends.push_back(Gather(*setup, **engine, kWeights));
    }
    EXPECT_EQ(Distance(ends[0], ends[1]), 0.0) << test.name;
  }
}

// The layers of SmallJob in turn. Plain sgd: the others get the update that they get beside a layer that learns.
TEST(Optimizer, ALayerThatDoesNotLearnStaysAndCostsNoGradientAndNoMoments) {
  const auto after_one_update = [](int frozen, OptimizerKind kind, Tensors* before) {
    TrainOptions options;
    options.optimizer = kind;
    Job job = SmallJob(options);
    if (frozen >= 0) job.layers[static_cast<size_t>(frozen)].trainable = false;
    const auto setup = SetUpOrThrow(job);
    int64_t trained = 0, gradients = 0, moments = 0;
    for (const PlannedBuffer& buffer : setup->plan.buffers) {
      const bool still = frozen >= 0 && buffer.owner == (*setup).job.layers[static_cast<size_t>(frozen)].name;
      if (buffer.name == "weights" && !still) trained += buffer.bytes;
      if (buffer.name == "gradient") gradients += buffer.bytes;
      if (buffer.name.find("moment of") != std::string::npos) moments += buffer.bytes;
    }
    EXPECT_EQ(gradients, setup->plan.groups_abreast * trained);
    EXPECT_EQ(moments, MomentsOf(options) * trained);
    Result<std::unique_ptr<Engine>> engine = Open(*setup);
    if (!engine.ok()) throw std::runtime_error(engine.status().message());
    Update update(*setup, **engine);
    EXPECT_TRUE(update.Start().ok());
    if (before != nullptr) *before = Gather(*setup, **engine, kWeights);
    const int64_t numbers[] = {3, 1, 4, 15, 9};
    StepSums sums;
    EXPECT_TRUE(update.Gradients(numbers, 5, sums).ok());
    EXPECT_TRUE(update.Apply().ok());
    return Gather(*setup, **engine, kWeights);
  };
  for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Adam}) {
    Tensors start;
    const Tensors whole = after_one_update(-1, kind, &start);
    const char* names[] = {"embedding.", "lstm.", "dense."};
    for (int frozen = 0; frozen < 3; ++frozen) {
      const Tensors ends = after_one_update(frozen, kind, nullptr);
      for (size_t i = 0; i < ends.size(); ++i) {
        const bool still = ends[i].name.starts_with(names[frozen]);
        EXPECT_EQ(ends[i].values, still ? start[i].values : whole[i].values) << ends[i].name << ", frozen " << frozen;
        EXPECT_NE(whole[i].values, start[i].values) << ends[i].name << ": nothing is shown";
      }
    }
  }
}

// Once a batch, whatever its row groups: 24 samples of 2 to a group of 64, and 150 to three groups.
// Ids of a batch are few of many. Three ways of the reference: rows that were looked up alone, all rows, and all but one of
// them.
TEST(Optimizer, LazyAdamLeavesRowsThatNoIdOfTheBatchTouchesAloneAndNoOthers) {
  enum Rows { LookedUp, All, OneMissing };
  const auto run = [](Rows which, int64_t threads) {
    TrainOptions options;
    options.optimizer = OptimizerKind::LazyAdam;
    options.learning_rate = 0.05;
    Job job = SmallJob(options);
    job.data.train = "generate:copy?delay=3&count=2&symbols=70&samples=24";
    job.train.batch_size = 3;
    job.train.threads = threads;
    const auto setup = SetUpOrThrow(job);
    Result<std::unique_ptr<Engine>> engine = Open(*setup);
    if (!engine.ok()) throw std::runtime_error(engine.status().message());
    Update update(*setup, **engine);
    EXPECT_TRUE(update.Start().ok());
    Tensors weights = Gather(*setup, **engine, kWeights);
    const Tensors start = weights;
    EXPECT_EQ(weights[0].shape[0], 72);
    ReferenceOptimizer<double> reference(job.train);
    bool left_alone = false;
    for (int64_t number = 0; number < 8; ++number) {
      const int64_t numbers[] = {3 * number, 3 * number + 1, 3 * number + 2};
      std::vector<std::vector<bool>> rows(weights.size());
      rows[0].assign(72, which == All);
      for (const int64_t sample : numbers) {
        std::vector<int32_t> ids(static_cast<size_t>(setup->samples->length(sample)));
        EXPECT_TRUE(setup->samples->ReadInputs(sample, 0, static_cast<int64_t>(ids.size()), ids.data()).ok());
        for (const int32_t id : ids) rows[0][static_cast<size_t>(id)] = true;
        if (which == OneMissing) rows[0][static_cast<size_t>(ids.front())] = false;
      }
      StepSums sums;
      EXPECT_TRUE(update.Gradients(numbers, 3, sums).ok());
      const Tensors before = Gather(*setup, **engine, kWeights), gradients = Gather(*setup, **engine, kGradient);
      EXPECT_TRUE(update.Apply().ok());
      reference.Update(weights, gradients, 0.05, rows);
      const Tensors after = Gather(*setup, **engine, kWeights);
      for (size_t row = 0; row < 72 && which == LookedUp; ++row) {
        const bool same = std::equal(after[0].values.begin() + static_cast<int64_t>(row) * 5,
                                     after[0].values.begin() + static_cast<int64_t>(row + 1) * 5,
                                     before[0].values.begin() + static_cast<int64_t>(row) * 5);
        EXPECT_EQ(same, !rows[0][row]) << row;
        left_alone = left_alone || same;
      }
    }
    EXPECT_TRUE(left_alone || which != LookedUp) << "every row was touched: nothing is shown";
    return Distance(Gather(*setup, **engine, kWeights), weights) / Distance(weights, start);
  };
  EXPECT_LT(run(LookedUp, 1), kTolerance);
  EXPECT_LT(run(LookedUp, 3), kTolerance);
  EXPECT_GT(run(All, 1), kNoticed) << "plain adam";
  EXPECT_GT(run(OneMissing, 1), kNoticed);
}

TEST(Penalties, AreInTheLossOfTrainingAndOfScoresOnce) {
  for (const int64_t samples : {24, 150}) {
    double losses[2] = {}, scores[2] = {}, wanted = 0.0;
    for (const bool penalised : {false, true}) {
      Job job = SmallJob({});
      job.data.train = fmt::format("generate:parity?steps=9&samples={}&per_step=false", samples);
      job.train.batch_size = samples;
      job.layers[1].kind = LSTMOptions{.units = 19, .kernel_l1 = penalised ? 0.3 : 0.0, .kernel_l2 = penalised ? 0.7 : 0.0};
      const auto setup = SetUpOrThrow(job);
      Result<std::unique_ptr<Engine>> engine = Open(*setup);
      ASSERT_TRUE(engine.ok());
      Update update(*setup, **engine);
      ASSERT_TRUE(update.Start().ok());
      std::vector<int64_t> numbers(static_cast<size_t>(samples));
      std::iota(numbers.begin(), numbers.end(), 0);
      StepSums sums;
      ASSERT_TRUE(update.Gradients(numbers.data(), samples, sums).ok());
      losses[penalised] = sums.MeanLoss(setup->network->spec());
      const Result<Score> score = ScoreSamples(*setup, **engine, ScoredPart::Training, samples);
      ASSERT_TRUE(score.ok());
      scores[penalised] = score.value().loss;
      const Tensors weights = Gather(*setup, **engine, kWeights);
      ASSERT_EQ(weights[1].name, "lstm.weight_ih");
      wanted = 0.0;
      for (const double weight : weights[1].values) wanted += 0.3 * std::abs(weight) + 0.7 * weight * weight;
    }
    EXPECT_GT(wanted, 1.0);
    EXPECT_NEAR(losses[1] - losses[0], wanted, 1e-9) << samples;
    EXPECT_NEAR(scores[1] - scores[0], wanted, 1e-9) << samples;
  }
}

TEST(Averages, AreThoseOfTheWeightsThatWereTrainedAndChangePlacesWithThem) {
  TrainOptions options;
  options.use_ema = true;
  options.ema_momentum = 0.8;
  options.learning_rate = 0.05;
  const auto setup = SetUpOrThrow(SmallJob(options));
  Result<std::unique_ptr<Engine>> engine = Open(*setup);
  ASSERT_TRUE(engine.ok());
  Update update(*setup, **engine);
  ASSERT_TRUE(update.Start().ok());
  std::vector<int64_t> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0);
  Tensors average;
  for (int number = 1; number <= kUpdates; ++number) {
    StepSums sums;
    ASSERT_TRUE(update.Gradients(numbers.data(), 24, sums).ok());
    ASSERT_TRUE(update.Apply().ok());
    const Tensors weights = Gather(*setup, **engine, kWeights);
    if (number == 1) average = weights;
    for (size_t i = 0; i < weights.size(); ++i) {
      for (size_t e = 0; e < weights[i].values.size(); ++e) {
        average[i].values[e] += 0.2 * (weights[i].values[e] - average[i].values[e]);
      }
    }
  }
  const Tensors trained = Gather(*setup, **engine, kWeights);
  EXPECT_GT(Distance(trained, average), kNoticed);
  update.SwapAverages();
  EXPECT_LT(Distance(Gather(*setup, **engine, kWeights), average), 1e-5);
  update.SwapAverages();
  EXPECT_EQ(Distance(Gather(*setup, **engine, kWeights), trained), 0.0);
}

}  // namespace
}  // namespace plimsoll
