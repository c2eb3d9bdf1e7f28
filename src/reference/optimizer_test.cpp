// Tests of the reference optimizers by values worked out from Keras's formulas.
#include "reference/optimizer.h"

#include <vector>

#include <gtest/gtest.h>

#include "reference/random_model.h"

namespace plimsoll {
namespace {

using Tensors = std::vector<ReferenceTensor<double>>;

TrainOptions Options(double epsilon, double clip_norm) {
  TrainOptions options;
  options.epsilon = epsilon;
  options.clip_norm = clip_norm;
  return options;
}

TEST(ReferenceOptimizer, TwoUpdatesOfAdamGiveTheValuesOfAPencil) {
  ReferenceOptimizer<double> adam(Options(/*epsilon=*/1e-7, /*clip_norm=*/0.0));
  Tensors weights = {{"w", {1}, {1.0}}};
  // m = 0.05, v = 0.00025, alpha = 0.1 sqrt(0.001) / 0.1
  adam.Update(weights, {{"w", {1}, {0.5}}}, 0.1);
  EXPECT_NEAR(weights[0].values[0], 0.9000006324515321, 1e-14);
  // m = 0.9 * 0.05 - 0.025 = 0.02, v = 0.999 * 0.00025 + 0.0000625, alpha = 0.1 sqrt(1 - 0.999^2) / (1 - 0.81)
  adam.Update(weights, {{"w", {1}, {-0.25}}}, 0.1);
  EXPECT_NEAR(weights[0].values[0], 0.8733670792079219, 1e-14);
}

// Two updates of a bias or a matrix of one element, which begins at 1, by gradients of 0.5 and -0.25 and a rate of 0.1.
std::vector<double> TwoUpdates(const TrainOptions& options, const std::vector<int64_t>& shape = {1, 1}) {
  ReferenceOptimizer<double> optimizer(options);
  Tensors weights = {{"w", shape, {1.0}}};
  std::vector<double> values;
  for (const double gradient : {0.5, -0.25}) {
    optimizer.Update(weights, {{"w", shape, {gradient}}}, 0.1);
    values.push_back(weights[0].values[0]);
  }
  return values;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << "update " << i + 1;
}

TEST(ReferenceOptimizer, TwoUpdatesOfTheOthersGiveTheValuesOfAPencil) {
  TrainOptions sgd;
  sgd.optimizer = OptimizerKind::Sgd;
  ExpectNear(TwoUpdates(sgd), {0.95, 0.975});
  sgd.momentum = 0.9;
  ExpectNear(TwoUpdates(sgd), {0.95, 0.93});  // m = -0.05, then -0.045 + 0.025
  sgd.nesterov = true;
  ExpectNear(TwoUpdates(sgd), {0.905, 0.912});  // 0.9 * -0.05 - 0.05, then 0.9 * -0.02 + 0.025

  TrainOptions rmsprop;
  rmsprop.optimizer = OptimizerKind::RmsProp;
  rmsprop.epsilon = 0.015;
  rmsprop.rho = 0.9;
  // v = 0.025, then 0.0225 + 0.00625: 1 - 0.05 / sqrt(0.04), then + 0.025 / sqrt(0.04375)
  ExpectNear(TwoUpdates(rmsprop), {0.75, 0.75 + 0.025 / 0.20916500663351889});

  TrainOptions adagrad;
  adagrad.optimizer = OptimizerKind::Adagrad;
  adagrad.epsilon = 0.01;
  // v = 0.35, then 0.4125: 1 - 0.05 / sqrt(0.36), then + 0.025 / sqrt(0.4225)
  ExpectNear(TwoUpdates(adagrad), {1.0 - 0.05 / 0.6, 1.0 - 0.05 / 0.6 + 0.025 / 0.65});
}

TEST(ReferenceOptimizer, AdamWIsAdamWithWeightsThatDecayAndBiasesThatDoNot) {
  TrainOptions options;
  const std::vector<double> adam = TwoUpdates(options);
  options.optimizer = OptimizerKind::AdamW;
  options.weight_decay = 0.5;
  const double first = adam[0] - 0.05;  // 0.1 * 0.5 of a weight of 1
  ExpectNear(TwoUpdates(options), {first, first * 0.95 + adam[1] - adam[0]});
  ExpectNear(TwoUpdates(options, {1}), adam);
}

TEST(ReferenceOptimizer, ClipsEachElement) {
  TrainOptions options;
  options.optimizer = OptimizerKind::Sgd;
  options.clip_value = 0.3;
  ExpectNear(TwoUpdates(options), {0.97, 0.995});
}

// A large epsilon, because Adam hardly feels the size of a gradient otherwise.
TEST(ReferenceOptimizer, ClipsTheNormOfAllTensorsTogether) {
  auto updated = [](const Tensors& gradients, double clip_norm) {
    ReferenceOptimizer<double> adam(Options(/*epsilon=*/1.0, clip_norm));
    Tensors weights = {{"a", {1}, {1.0}}, {"b", {1}, {1.0}}};
    adam.Update(weights, gradients, 0.1);
    return std::vector<double>{weights[0].values[0], weights[1].values[0]};
  };
  const Tensors long_gradients = {{"a", {1}, {3.0}}, {"b", {1}, {4.0}}}, scaled = {{"a", {1}, {0.6}}, {"b", {1}, {0.8}}};
  const auto clipped = updated(long_gradients, 1.0), wanted = updated(scaled, 0.0);
  EXPECT_NEAR(clipped[0], wanted[0], 1e-14);
  EXPECT_NEAR(clipped[1], wanted[1], 1e-14);
  EXPECT_NE(updated(long_gradients, 0.0), wanted) << "without clipping the test would show nothing";
  EXPECT_EQ(updated(long_gradients, 5.0), updated(long_gradients, 0.0)) << "a norm at the bound is left alone";
}

TEST(ReferenceOptimizer, ClipsTheNormOfEachTensorAlone) {
  TrainOptions options;
  options.optimizer = OptimizerKind::Sgd;
  options.clip_tensor_norm = 1.0;
  ReferenceOptimizer<double> sgd(options);
  Tensors weights = {{"a", {2}, {1.0, 1.0}}, {"b", {1}, {1.0}}};
  sgd.Update(weights, {{"a", {2}, {3.0, 4.0}}, {"b", {1}, {0.5}}}, 0.1);
  EXPECT_NEAR(weights[0].values[0], 0.94, 1e-14);
  EXPECT_NEAR(weights[0].values[1], 0.92, 1e-14);
  EXPECT_NEAR(weights[1].values[0], 0.95, 1e-14) << "below the bound: left alone";
}

TEST(ReferenceOptimizer, TenUpdatesOfAModelLowerItsLoss) {
  const Spec spec = SpecOf({LstmOf(4), Head()}, {.width = 3, .target_classes = true, .classes = 3});
  const auto batch = RandomBatch(spec, {5, 3, 1, 4}, /*seed=*/3);
  auto weights = RandomWeights(spec, /*seed=*/3);
  ReferenceOptimizer<double> adam(Options(/*epsilon=*/1e-7, /*clip_norm=*/1.0));
  double before = ReferenceLoss(spec, weights, batch, {});
  for (int update = 0; update < 10; ++update) {
    adam.Update(weights, ReferenceStep(spec, weights, batch, {}).gradients, 0.02);
    const double after = ReferenceLoss(spec, weights, batch, {});
    EXPECT_LT(after, before) << "update " << update;
    before = after;
  }
}

}  // namespace
}  // namespace plimsoll
