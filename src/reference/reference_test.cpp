// Tests of the reference by values that were worked out without it: small enough to follow with a pencil.
#include "reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "reference/dense.h"
#include "reference/embedding.h"
#include "reference/loss.h"
#include "reference/lstm.h"
#include "reference/pooling.h"
#include "reference/random_model.h"
#include "reference/rows.h"

namespace plimsoll {
namespace {

using reference::Rows;

Rows<double> RowsOf(int64_t count, int64_t width, const std::vector<double>& values) {
  Rows<double> rows(count, width);
  rows.values = values;
  return rows;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << "element " << i;
}

// One unit, one input, two steps x = 0.5, -1. Row blocks i, f, g, o.
class OneUnitLstm : public testing::Test {
 protected:
  const std::vector<double> weight_ih_ = {0.5, -0.3, 0.8, 0.2};
  const std::vector<double> weight_hh_ = {0.1, 0.4, -0.6, 0.7};
  const std::vector<double> bias_ = {0.0, 1.0, 0.1, -0.2};
  const Rows<double> in_ = RowsOf(2, 1, {0.5, -1.0});
};

TEST_F(OneUnitLstm, ForwardGivesTheValuesOfAPencil) {
  Rows<double> out(2, 1);
  reference::LstmTape<double> tape;
  reference::LstmForward(out, tape, in_, weight_ih_, weight_hh_, bias_);
  // step 0, h = c = 0:  i = sigmoid(0 + 0.5 * 0.5) = sigmoid(0.25), f = sigmoid(1 - 0.15), g = tanh(0.1 + 0.4),
  //                     o = sigmoid(-0.2 + 0.1);  c = i g;  h = o tanh(c)
  // step 1:             i = sigmoid(0 - 0.5 + 0.1 h), f = sigmoid(1 + 0.3 + 0.4 h), g = tanh(0.1 - 0.8 - 0.6 h),
  //                     o = sigmoid(-0.2 - 0.2 + 0.7 h);  c = f c + i g;  h = o tanh(c)
  ExpectNear(tape.gates.values,
             {0.5621765008857981, 0.7005671424739729, 0.46211715726000974, 0.47502081252106,  //
              0.3803813982489571, 0.7938484825115563, -0.6483354740582079, 0.42177089319936817},
             1e-15);
  ExpectNear(tape.cells.values, {0.25979140646772436, -0.040379740362715716}, 1e-15);
  ExpectNear(out.values, {0.1207029868787468, -0.01702174871205763}, 1e-15);
}

TEST_F(OneUnitLstm, BackwardGivesTheChainRuleWrittenOut) {
  Rows<double> out(2, 1);
  reference::LstmTape<double> tape;
  reference::LstmForward(out, tape, in_, weight_ih_, weight_hh_, bias_);
  const double i0 = 0.5621765008857981, f0 = 0.7005671424739729, g0 = 0.46211715726000974, o0 = 0.47502081252106;
  const double i1 = 0.3803813982489571, f1 = 0.7938484825115563, g1 = -0.6483354740582079, o1 = 0.42177089319936817;
  const double c0 = 0.25979140646772436, c1 = -0.040379740362715716, h0 = 0.1207029868787468;
  // The loss is 3 h0 + 2 h1.
  const double d_h1 = 2.0;
  const double d_c1 = d_h1 * o1 * (1 - std::tanh(c1) * std::tanh(c1));
  const double d_i1 = d_c1 * g1 * i1 * (1 - i1), d_f1 = d_c1 * c0 * f1 * (1 - f1), d_g1 = d_c1 * i1 * (1 - g1 * g1),
               d_o1 = d_h1 * std::tanh(c1) * o1 * (1 - o1);
  const double d_h0 = 3.0 + d_i1 * 0.1 + d_f1 * 0.4 + d_g1 * -0.6 + d_o1 * 0.7;
  const double d_c0 = d_c1 * f1 + d_h0 * o0 * (1 - std::tanh(c0) * std::tanh(c0));
  const double d_i0 = d_c0 * g0 * i0 * (1 - i0), d_f0 = d_c0 * 0.0 * f0, d_g0 = d_c0 * i0 * (1 - g0 * g0),
               d_o0 = d_h0 * std::tanh(c0) * o0 * (1 - o0);

  Rows<double> d_in(2, 1);
  std::vector<double> d_weight_ih(4), d_weight_hh(4), d_bias(4);
  reference::LstmBackward(d_in, d_weight_ih, d_weight_hh, d_bias, RowsOf(2, 1, {3.0, 2.0}), in_, out, tape, weight_ih_,
                          weight_hh_);
  ExpectNear(d_weight_ih, {0.5 * d_i0 - d_i1, 0.5 * d_f0 - d_f1, 0.5 * d_g0 - d_g1, 0.5 * d_o0 - d_o1}, 1e-14);
  ExpectNear(d_weight_hh, {h0 * d_i1, h0 * d_f1, h0 * d_g1, h0 * d_o1}, 1e-14);
  ExpectNear(d_bias, {d_i0 + d_i1, d_f0 + d_f1, d_g0 + d_g1, d_o0 + d_o1}, 1e-14);
  ExpectNear(d_in.values,
             {d_i0 * 0.5 + d_f0 * -0.3 + d_g0 * 0.8 + d_o0 * 0.2, d_i1 * 0.5 + d_f1 * -0.3 + d_g1 * 0.8 + d_o1 * 0.2}, 1e-14);
}

TEST(ReferencePooling, TheFirstOfEqualMaximaTakesTheGradientAlone) {
  const Rows<double> in = RowsOf(4, 2, {1, 9, 5, 2, 5, 9, 4, 3});
  Rows<double> out(1, 2), d_in(4, 2);
  reference::PoolingForward(out, in, PoolingMode::Max);
  EXPECT_EQ(out.values, (std::vector<double>{5, 9}));
  reference::PoolingBackward(d_in, RowsOf(1, 2, {10, 20}), in, PoolingMode::Max);
  EXPECT_EQ(d_in.values, (std::vector<double>{0, 20, 10, 0, 0, 0, 0, 0}));
}

TEST(ReferencePooling, MeanDividesByTheSamplesOwnLength) {
  const Rows<double> in = RowsOf(4, 1, {1, 2, 3, 6});
  Rows<double> out(1, 1), d_in(4, 1);
  reference::PoolingForward(out, in, PoolingMode::Mean);
  EXPECT_EQ(out.values, std::vector<double>{3});
  reference::PoolingBackward(d_in, RowsOf(1, 1, {8}), in, PoolingMode::Mean);
  EXPECT_EQ(d_in.values, (std::vector<double>{2, 2, 2, 2}));
}

TEST(ReferencePooling, LastIsTheSamplesLastStep) {
  const Rows<double> in = RowsOf(3, 1, {1, 2, 3});
  Rows<double> out(1, 1), d_in(3, 1);
  reference::PoolingForward(out, in, PoolingMode::Last);
  EXPECT_EQ(out.values, std::vector<double>{3});
  reference::PoolingBackward(d_in, RowsOf(1, 1, {8}), in, PoolingMode::Last);
  EXPECT_EQ(d_in.values, (std::vector<double>{0, 0, 8}));
}

TEST(ReferenceEmbedding, ARepeatedIdCollectsItsGradients) {
  std::vector<double> d_table(6);
  reference::EmbeddingBackward(d_table, RowsOf(3, 2, {1, 2, 10, 20, 100, 200}), {2, 0, 2});
  EXPECT_EQ(d_table, (std::vector<double>{10, 20, 0, 0, 101, 202}));
}

TEST(ReferenceDense, EachActivationHasItsValueAndSlope) {
  struct Wanted {
    Activation activation;
    std::vector<double> y, slope;  // at W x + b = -1 and 2
  };
  const double t1 = std::tanh(1.0), t2 = std::tanh(2.0), s1 = 1 / (1 + std::exp(1.0)), s2 = 1 / (1 + std::exp(-2.0));
  for (const Wanted& wanted :
       {Wanted{Activation::Linear, {-1, 2}, {1, 1}}, Wanted{Activation::Softmax, {-1, 2}, {1, 1}},
        Wanted{Activation::Relu, {0, 2}, {0, 1}}, Wanted{Activation::Tanh, {-t1, t2}, {1 - t1 * t1, 1 - t2 * t2}},
        Wanted{Activation::Sigmoid, {s1, s2}, {s1 * (1 - s1), s2 * (1 - s2)}}}) {
    const Rows<double> in = RowsOf(1, 1, {1.0});
    Rows<double> out(1, 2), d_in(1, 1);
    std::vector<double> d_weight(2), d_bias(2);
    reference::DenseForward(out, in, {-2.0, 3.0}, {1.0, -1.0}, wanted.activation);
    ExpectNear(out.values, wanted.y, 1e-15);
    reference::DenseBackward(d_in, d_weight, d_bias, RowsOf(1, 2, {1, 1}), in, out, {-2.0, 3.0}, wanted.activation);
    ExpectNear(d_bias, wanted.slope, 1e-15);
    ExpectNear(d_weight, wanted.slope, 1e-15);
    ExpectNear(d_in.values, {-2.0 * wanted.slope[0] + 3.0 * wanted.slope[1]}, 1e-15);
  }
}

TEST(ReferenceLoss, CrossEntropyOfEqualLogitsIsTheLogOfTheirNumber) {
  std::vector<double> d(4);
  const std::vector<double> logits(4, 1000.0);  // far beyond what exp alone could bear
  EXPECT_NEAR(reference::CrossEntropy(d.data(), logits.data(), 2, 4), std::log(4.0), 1e-15);
  ExpectNear(d, {0.25, 0.25, -0.75, 0.25}, 1e-15);
}

TEST(ReferenceLoss, CrossEntropyIsMinusTheLogOfTheTargetsShare) {
  std::vector<double> d(2);
  const std::vector<double> logits = {0.0, std::log(3.0)};  // shares 1/4 and 3/4
  EXPECT_NEAR(reference::CrossEntropy(d.data(), logits.data(), 0, 2), std::log(4.0), 1e-15);
  ExpectNear(d, {-0.75, 0.75}, 1e-15);
}

TEST(ReferenceLoss, MeanSquaredErrorIsTheMeanOverTheTargetsValues) {
  std::vector<double> d(2);
  const std::vector<double> y = {1.0, 3.0}, target = {0.0, 1.0};
  EXPECT_EQ(reference::MeanSquaredError(d.data(), y.data(), target.data(), 2), 2.5);
  EXPECT_EQ(d, (std::vector<double>{1.0, 2.0}));
}

constexpr SampleShape kSeries = {.width = 5, .target_per_step = true, .target_width = 5};
constexpr SampleShape kTokens = {.ids = true, .target_per_step = true, .target_classes = true, .vocabulary = 9, .classes = 9};

// Dense weights that hand their input on, so that the model's output is the dropout layer's.
std::vector<ReferenceTensor<double>> IdentityWeights(const Spec& spec) {
  auto weights = RandomWeights(spec, 1);
  std::fill(weights[0].values.begin(), weights[0].values.end(), 0.0);
  std::fill(weights[1].values.begin(), weights[1].values.end(), 0.0);
  for (size_t u = 0; u < 5; ++u) weights[0].values[6 * u] = 1.0;
  return weights;
}

TEST(ReferenceStep, DropoutAsksTheCounterForEveryStepAndUnit) {
  const Spec spec = SpecOf({DropoutOptions{.rate = 0.25}, Head()}, kSeries);
  auto batch = RandomBatch(spec, {6, 2}, /*seed=*/3);
  batch[1].number = (int64_t{1} << 33) + 1;
  const ReferenceDropout dropout = {.on = true, .seed = SeedFor(8, RandomUse::Dropout), .update = 41};
  const auto result = ReferenceStep(spec, IdentityWeights(spec), batch, dropout);
  int dropped = 0;
  for (size_t s = 0; s < batch.size(); ++s)
    for (uint64_t t = 0; t < static_cast<uint64_t>(batch[s].steps); ++t)
      for (uint32_t u = 0; u < 5; ++u) {
        const uint32_t word =
            DropoutWords(dropout.seed, 41, /*layer=*/0, static_cast<uint64_t>(batch[s].number), t, u / 4)[u % 4];
        const bool keep = word >= DropoutThreshold(0.25);
        dropped += !keep;
        const double x = batch[s].features[t * 5 + u];
        EXPECT_DOUBLE_EQ(result.outputs[s][t * 5 + u], keep ? x / 0.75 : 0.0)
            << "sample " << s << " step " << t << " unit " << u;
      }
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, 40);
}

TEST(ReferenceStep, DropoutBehindPoolingCountsAsStepZeroOfItsNode) {
  SampleShape shape = kSeries;
  shape.target_per_step = false;
  const Spec spec = SpecOf({PoolingOptions{.mode = PoolingMode::Last}, DropoutOptions{.rate = 0.5}, Head()}, shape);
  const auto batch = RandomBatch(spec, {4}, /*seed=*/3);
  const auto result = ReferenceStep(spec, IdentityWeights(spec), batch, {.on = true, .seed = 6, .update = 2});
  for (uint32_t u = 0; u < 5; ++u) {
    const bool keep = DropoutWords(6, 2, /*layer=*/1, batch[0].number, /*step=*/0, u / 4)[u % 4] >= DropoutThreshold(0.5);
    EXPECT_DOUBLE_EQ(result.outputs[0][u], keep ? 2.0 * batch[0].features[3 * 5 + u] : 0.0);
  }
}

TEST(ReferenceStep, DropoutThatIsOffPassesItsInputOn) {
  const Spec spec = SpecOf({DropoutOptions{.rate = 0.9}, Head()}, kSeries);
  const auto batch = RandomBatch(spec, {6}, /*seed=*/3);
  EXPECT_EQ(ReferenceStep(spec, IdentityWeights(spec), batch, {}).outputs[0], batch[0].features);
}

TEST(ReferenceStep, EveryItemOfARaggedBatchWeighsTheSame) {
  const Spec spec = SpecOf({EmbeddingOptions{.input_dim = 0, .output_dim = 3}, LstmOf(4), Head()}, kTokens);
  const auto weights = RandomWeights(spec, /*seed=*/5);
  const auto batch = RandomBatch(spec, {7, 1}, /*seed=*/5);
  const auto both = ReferenceStep(spec, weights, batch, {});
  const auto longer = ReferenceStep(spec, weights, {batch[0]}, {}), shorter = ReferenceStep(spec, weights, {batch[1]}, {});
  EXPECT_NEAR(both.loss, (7 * longer.loss + shorter.loss) / 8, 1e-15);
  for (size_t i = 0; i < both.gradients.size(); ++i)
    for (size_t e = 0; e < both.gradients[i].values.size(); ++e)
      EXPECT_NEAR(both.gradients[i].values[e], (7 * longer.gradients[i].values[e] + shorter.gradients[i].values[e]) / 8, 1e-15);
}

TEST(ReferenceStep, GradientsAndOutputsHaveTheCanonicalLayout) {
  const Spec spec = SpecOf({EmbeddingOptions{.input_dim = 0, .output_dim = 3}, LstmOf(4), Head()}, kTokens);
  const auto batch = RandomBatch(spec, {7, 1}, /*seed=*/5);
  const auto result = ReferenceStep(spec, RandomWeights(spec, /*seed=*/5), batch, {});
  const auto tensors = CanonicalTensors(spec);
  ASSERT_EQ(result.gradients.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(result.gradients[i].name, tensors[i].name);
    EXPECT_EQ(result.gradients[i].shape, tensors[i].shape);
  }
  EXPECT_EQ(result.outputs[0].size(), 7u * 9u);
  EXPECT_EQ(result.outputs[1].size(), 9u);
}

// The bound that float32 kernels have to keep against double: here the plain loops show that it can be kept.
TEST(ReferenceStep, FloatAgreesWithDouble) {
  const double steps = 32;
  const double relative = 1.3e-6 * std::sqrt(steps), absolute = 1e-5;
  auto near = [&](double got, double wanted) { return std::abs(got - wanted) <= absolute + relative * std::abs(wanted); };
  const std::vector<Spec> specs = {
      SpecOf({EmbeddingOptions{.input_dim = 0, .output_dim = 6}, LstmOf(8), DropoutOptions{.rate = 0.3}, LstmOf(5), Head()},
             kTokens),
      SpecOf({LstmOf(8), PoolingOptions{.mode = PoolingMode::Mean}, DenseOf(6, Activation::Sigmoid), Head()},
             {.width = 4, .target_width = 3})};
  for (const Spec& spec : specs) {
    // Rounded to float first, so that both start from the same numbers.
    const auto weights = Converted<float>(RandomWeights(spec, /*seed=*/6));
    const auto batch = Converted<float>(RandomBatch(spec, {32, 9, 1}, /*seed=*/6));
    const ReferenceDropout dropout = {.on = true, .seed = 11, .update = 1};
    const auto in_float = ReferenceStep(spec, weights, batch, dropout);
    const auto in_double = ReferenceStep(spec, Converted<double>(weights), Converted<double>(batch), dropout);
    EXPECT_TRUE(near(static_cast<double>(in_float.loss), in_double.loss));
    for (size_t s = 0; s < batch.size(); ++s)
      for (size_t e = 0; e < in_double.outputs[s].size(); ++e)
        EXPECT_TRUE(near(static_cast<double>(in_float.outputs[s][e]), in_double.outputs[s][e]))
            << "sample " << s << " at " << e;
    double largest_difference = 0.0;
    for (size_t i = 0; i < in_double.gradients.size(); ++i)
      for (size_t e = 0; e < in_double.gradients[i].values.size(); ++e) {
        const auto got = static_cast<double>(in_float.gradients[i].values[e]);
        const double wanted = in_double.gradients[i].values[e];
        EXPECT_TRUE(near(got, wanted)) << in_double.gradients[i].name << " at " << e;
        largest_difference = std::max(largest_difference, std::abs(got - wanted));
      }
    EXPECT_GT(largest_difference, 0.0) << "the float version does not calculate in float";
  }
}

// As long as the sequence: exact. Shorter: only what is on the far side of a border is missing.
TEST(ReferenceTruncate, ForgetsWhatFollowsABorderAndNothingElse) {
  constexpr SampleShape kSteps = {.width = 3, .target_per_step = true, .target_width = 2};
  for (const LayerKind& cell : {LstmOf(4), GruOf(4, true), GruOf(4, false), RnnOf(4), NormalizedOf(4)}) {
    const auto gradients = [&](int64_t truncate, const std::vector<int64_t>& lengths) {
      const Spec spec = SpecOf({cell, Head()}, kSteps, {.truncate = truncate});
      return ReferenceStep(spec, RandomWeights(spec, 3), RandomBatch(spec, lengths, 3), {}).gradients;
    };
    const auto exact = gradients(0, {6}), whole = gradients(6, {6}), cut = gradients(3, {6});
    const auto three = gradients(0, {3}), three_cut = gradients(3, {3});
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(whole[i].values, exact[i].values);
      EXPECT_EQ(three_cut[i].values, three[i].values);
    }
    EXPECT_NE(cut[0].values, exact[0].values) << "the control";
    EXPECT_EQ(cut.back().values, exact.back().values) << "the Dense has no State";
  }
}

}  // namespace
}  // namespace plimsoll
