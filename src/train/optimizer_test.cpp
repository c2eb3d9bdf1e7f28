// Ten updates of the engine against the reference optimizer in double, on the engine's own gradients.
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "model/train_options.h"
#include "model/weights.h"
#include "reference/optimizer.h"
#include "train/lr_schedule.h"
#include "train/setup.h"
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

std::unique_ptr<plimsoll::Setup> SetUpOrThrow(const Job& job) {
  Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {});
  if (!setup.ok()) throw std::runtime_error(setup.status().message());
  return std::move(setup).value();
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
  (*engine)->step.ZeroGradients();
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
