// Values worked out by hand from the formulas of Keras, Hugging Face and PyTorch.
#include "train/lr_schedule.h"

#include <gtest/gtest.h>

#include <iterator>

namespace plimsoll {
namespace {

TrainOptions Options(LrSchedule schedule, int64_t warmup_steps = 0) {
  TrainOptions options;
  options.learning_rate = 0.1;
  options.lr_schedule = schedule;
  options.warmup_steps = warmup_steps;
  return options;
}

TEST(LearningRate, IsTheOptimizersOwnWhereNoneIsStated) {
  TrainOptions options;
  EXPECT_EQ(LearningRateAt(options, 1, 100), 0.001);
  options.optimizer = OptimizerKind::Sgd;
  EXPECT_EQ(LearningRateAt(options, 100, 100), 0.01);
}

TEST(LearningRate, WarmUpRisesFromZeroToTheFirstRateOfEverySchedule) {
  for (const LrSchedule schedule : {LrSchedule::Constant, LrSchedule::Linear, LrSchedule::Cosine, LrSchedule::Polynomial,
                                    LrSchedule::InverseSqrt, LrSchedule::Step, LrSchedule::Exponential, LrSchedule::Plateau}) {
    const TrainOptions options = Options(schedule, 10);
    EXPECT_EQ(LearningRateAt(options, 1, 110), 0.0);
    EXPECT_DOUBLE_EQ(LearningRateAt(options, 2, 110), 0.01);
    EXPECT_DOUBLE_EQ(LearningRateAt(options, 10, 110), 0.09);
    EXPECT_DOUBLE_EQ(LearningRateAt(options, 11, 110), 0.1);
  }
  const TrainOptions cycle = Options(LrSchedule::OneCycle, 10);
  EXPECT_DOUBLE_EQ(LearningRateAt(cycle, 6, 110), 0.002);
  EXPECT_DOUBLE_EQ(LearningRateAt(cycle, 11, 110), 0.004);
}

TEST(LearningRate, AWarmUpLongerThanTheRunIsNotReached) {
  const TrainOptions options = Options(LrSchedule::Linear, 1000);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 20, 20), 0.1 * 19 / 1000);
}

TEST(LearningRate, ConstantStays) { EXPECT_EQ(LearningRateAt(Options(LrSchedule::Constant), 77, 100), 0.1); }

TEST(LearningRate, LinearFallsToItsEnd) {
  TrainOptions options = Options(LrSchedule::Linear, 20);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 21, 120), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 46, 120), 0.075);  // a quarter of the way
  EXPECT_NEAR(LearningRateAt(options, 120, 120), 0.001, 1e-15);
  EXPECT_EQ(LearningRateAt(options, 500, 120), 0.0);
  options.lr_end_factor = 0.1;
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 71, 120), 0.055);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 500, 120), 0.01);
}

TEST(LearningRate, CosineIsKerasCosineDecay) {
  TrainOptions options = Options(LrSchedule::Cosine);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 1, 100), 0.1);
  EXPECT_NEAR(LearningRateAt(options, 26, 100), 0.08535533905932738, 1e-15);  // 0.05 (1 + sqrt(1/2))
  EXPECT_NEAR(LearningRateAt(options, 51, 100), 0.05, 1e-15);
  EXPECT_NEAR(LearningRateAt(options, 101, 100), 0.0, 1e-15);
  options.lr_end_factor = 0.2;
  EXPECT_NEAR(LearningRateAt(options, 51, 100), 0.06, 1e-15);  // (1 - 0.2) 0.05 + 0.02
  EXPECT_NEAR(LearningRateAt(options, 300, 100), 0.02, 1e-15);
}

TEST(LearningRate, PolynomialIsKerasPolynomialDecay) {
  TrainOptions options = Options(LrSchedule::Polynomial);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 26, 100), 0.075) << "linear unless a power is stated";
  options.lr_power = 2.0;
  options.lr_end_factor = 0.1;
  EXPECT_NEAR(LearningRateAt(options, 51, 100), 0.0325, 1e-15);  // 0.09 * 0.25 + 0.01
  EXPECT_NEAR(LearningRateAt(options, 101, 100), 0.01, 1e-15);
}

TEST(LearningRate, InverseSqrtIsThatOfHuggingFace) {
  const TrainOptions warm = Options(LrSchedule::InverseSqrt, 100);
  EXPECT_DOUBLE_EQ(LearningRateAt(warm, 51, 1000), 0.05);
  EXPECT_DOUBLE_EQ(LearningRateAt(warm, 101, 1000), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(warm, 401, 1000), 0.05);  // sqrt(100 / 400)
  const TrainOptions cold = Options(LrSchedule::InverseSqrt);
  EXPECT_DOUBLE_EQ(LearningRateAt(cold, 1, 1000), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(cold, 30001, 1000), 0.05);  // sqrt(10000 / 40000)
}

TEST(LearningRate, StepAndExponentialAreKerasExponentialDecay) {
  TrainOptions options = Options(LrSchedule::Step, 5);
  options.lr_decay_rate = 0.5;
  options.lr_decay_steps = 10;
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 15, 100), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 16, 100), 0.05);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 36, 100), 0.0125);
  options.lr_schedule = LrSchedule::Exponential;
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 16, 100), 0.05);
  EXPECT_NEAR(LearningRateAt(options, 11, 100), 0.07071067811865475, 1e-15);
}

TEST(LearningRate, DecaysThreeTimesInARunUnlessStated) {
  const TrainOptions options = Options(LrSchedule::Step);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 30, 90), 0.1);
  EXPECT_NEAR(LearningRateAt(options, 31, 90), 0.01, 1e-15);
  EXPECT_NEAR(LearningRateAt(options, 61, 90), 0.001, 1e-15);
  EXPECT_NEAR(LearningRateAt(Options(LrSchedule::Exponential), 91, 90), 1e-4, 1e-15);
}

TEST(LearningRate, OneCycleIsThatOfPyTorch) {
  const TrainOptions options = Options(LrSchedule::OneCycle);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 1, 110), 0.004);
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 17, 110), 0.052);  // halfway up: (0.004 + 0.1) / 2; the top is at 32 done
  EXPECT_DOUBLE_EQ(LearningRateAt(options, 33, 110), 0.1);
  EXPECT_NEAR(LearningRateAt(options, 110, 110), 4e-7, 1e-15);
  EXPECT_NEAR(LearningRateAt(options, 200, 110), 4e-7, 1e-15);
  for (const int64_t total : {1, 2, 3, 4}) EXPECT_GT(LearningRateAt(options, 1, total), 0.0) << total;
}

// The rates behind each epoch as Keras 3.15's ReduceLROnPlateau gives them for these losses.
TEST(LearningRate, FallsAsKerasReduceLROnPlateau) {
  TrainOptions options = Options(LrSchedule::Plateau);
  options.plateau_factor = 0.5;
  options.plateau_patience = 2;
  options.plateau_min_delta = 0.01;
  options.plateau_min_lr = 0.02;
  const double losses[] = {1.0, 0.995, 0.98, 0.975, 0.985, 0.975, 0.971, 0.5, 0.6, 0.55, 0.7, 0.8, 0.9};
  const double rates[] = {0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.025, 0.02, 0.02, 0.02, 0.02};
  Plateau plateau(options);
  EXPECT_EQ(plateau.rate(), 0.1);
  for (size_t i = 0; i < std::size(losses); ++i) {
    plateau.EpochEnded(losses[i]);
    EXPECT_NEAR(plateau.rate(), rates[i], 1e-8) << "epoch " << i + 1;
  }
  options.lr_schedule = LrSchedule::Constant;
  Plateau other(options);
  for (const double loss : losses) other.EpochEnded(loss);
  EXPECT_EQ(other.rate(), 0.1) << "another schedule does not look at losses";
}

}  // namespace
}  // namespace plimsoll
