// Tests of the reference Adam by values worked out from Keras's formula.
#include "reference/adam.h"

#include <vector>

#include <gtest/gtest.h>

#include "reference/random_model.h"

namespace plimsoll {
namespace {

using Tensors = std::vector<ReferenceTensor<double>>;

TrainOptions Options(double learning_rate, double epsilon, double clip_norm) {
  TrainOptions options;
  options.learning_rate = learning_rate;
  options.epsilon = epsilon;
  options.clip_norm = clip_norm;
  return options;
}

TEST(ReferenceAdam, TwoUpdatesGiveTheValuesOfAPencil) {
  ReferenceAdam<double> adam(Options(/*learning_rate=*/0.1, /*epsilon=*/1e-7, /*clip_norm=*/0.0));
  Tensors weights = {{"w", {1}, {1.0}}};
  // m = 0.05, v = 0.00025, alpha = 0.1 sqrt(0.001) / 0.1
  adam.Update(weights, {{"w", {1}, {0.5}}});
  EXPECT_NEAR(weights[0].values[0], 0.9000006324515321, 1e-14);
  // m = 0.9 * 0.05 - 0.025 = 0.02, v = 0.999 * 0.00025 + 0.0000625, alpha = 0.1 sqrt(1 - 0.999^2) / (1 - 0.81)
  adam.Update(weights, {{"w", {1}, {-0.25}}});
  EXPECT_NEAR(weights[0].values[0], 0.8733670792079219, 1e-14);
}

// A large epsilon, because Adam hardly feels the size of a gradient otherwise.
TEST(ReferenceAdam, ClipsTheNormOfAllTensorsTogether) {
  auto updated = [](const Tensors& gradients, double clip_norm) {
    ReferenceAdam<double> adam(Options(/*learning_rate=*/0.1, /*epsilon=*/1.0, clip_norm));
    Tensors weights = {{"a", {1}, {1.0}}, {"b", {1}, {1.0}}};
    adam.Update(weights, gradients);
    return std::vector<double>{weights[0].values[0], weights[1].values[0]};
  };
  const Tensors long_gradients = {{"a", {1}, {3.0}}, {"b", {1}, {4.0}}}, scaled = {{"a", {1}, {0.6}}, {"b", {1}, {0.8}}};
  const auto clipped = updated(long_gradients, 1.0), wanted = updated(scaled, 0.0);
  EXPECT_NEAR(clipped[0], wanted[0], 1e-14);
  EXPECT_NEAR(clipped[1], wanted[1], 1e-14);
  EXPECT_NE(updated(long_gradients, 0.0), wanted) << "without clipping the test would show nothing";
  EXPECT_EQ(updated(long_gradients, 5.0), updated(long_gradients, 0.0)) << "a norm at the bound is left alone";
}

TEST(ReferenceAdam, TenUpdatesOfAModelLowerItsLoss) {
  const Spec spec = SpecOf({LstmOf(4), Head()}, {.width = 3, .target_classes = true, .classes = 3});
  const auto batch = RandomBatch(spec, {5, 3, 1, 4}, /*seed=*/3);
  auto weights = RandomWeights(spec, /*seed=*/3);
  ReferenceAdam<double> adam(Options(/*learning_rate=*/0.02, /*epsilon=*/1e-7, /*clip_norm=*/1.0));
  double before = ReferenceLoss(spec, weights, batch, {});
  for (int update = 0; update < 10; ++update) {
    adam.Update(weights, ReferenceStep(spec, weights, batch, {}).gradients);
    const double after = ReferenceLoss(spec, weights, batch, {});
    EXPECT_LT(after, before) << "update " << update;
    before = after;
  }
}

}  // namespace
}  // namespace plimsoll
