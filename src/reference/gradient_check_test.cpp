// Tests of the reference gradients against central differences, and of the check itself: what is wrong must be refused.
#include "reference/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "reference/dense.h"
#include "reference/dropout.h"
#include "reference/loss.h"
#include "reference/lstm.h"
#include "reference/random_model.h"
#include "reference/rows.h"

namespace plimsoll {
namespace {

constexpr SampleShape kIdsToClass = {.ids = true, .target_classes = true, .vocabulary = 7, .classes = 3};
constexpr SampleShape kIdsToClasses = {
    .ids = true, .target_per_step = true, .target_classes = true, .vocabulary = 7, .classes = 7};
constexpr SampleShape kFeaturesToClass = {.width = 3, .target_classes = true, .classes = 4};
constexpr SampleShape kFeaturesToValues = {.width = 3, .target_width = 2};
constexpr SampleShape kFeaturesToValueSeries = {.width = 3, .target_per_step = true, .target_width = 2};
constexpr SampleShape kFeaturesToWideSeries = {.width = 3, .target_per_step = true, .target_width = 6};
constexpr SampleShape kNumberToNumber = {.width = 1, .target_width = 1};

const std::vector<int64_t> kRagged = {6, 1, 4, 3, 1};

struct GradientCase {
  std::string name;
  SampleShape shape;
  std::vector<LayerKind> layers;
  bool dropout = false;
  TrainOptions train = {};
};
std::ostream& operator<<(std::ostream& out, const GradientCase& tested) { return out << tested.name; }

const LayerKind kEmbedding = EmbeddingOptions{.input_dim = 0, .output_dim = 3};
const LayerKind kTied = DenseOptions{.tied_to = "embedding"};
const LayerKind kMean = PoolingOptions{.mode = PoolingMode::Mean};
const LayerKind kMax = PoolingOptions{.mode = PoolingMode::Max};
const LayerKind kLast = PoolingOptions{.mode = PoolingMode::Last};
const LayerKind kDropout = DropoutOptions{.rate = 0.4};

const LayerKind kState = PoolingOptions{.mode = PoolingMode::State};

class GradientOf : public testing::TestWithParam<GradientCase> {};

// Each sample brings along what State begins with.
LayerKind Beginning(LayerKind kind) {
  std::visit(
      [](auto& options) {
        if constexpr (requires { options.initial_state; }) options.initial_state = "data";
      },
      kind);
  return kind;
}
SampleShape WithState(SampleShape shape, int64_t width) {
  shape.state_width = width;
  return shape;
}

LayerKind Masked(LayerKind kind) {
  std::visit(
      [](auto& options) {
        if constexpr (requires { options.recurrent_dropout; }) {
          options.dropout = 0.3;
          options.recurrent_dropout = 0.4;
        }
      },
      kind);
  return kind;
}

// A relu kink or a tie of max within 1e-6 of a weight would fail here rightly; with these seeds there is none.
TEST_P(GradientOf, AgreesWithCentralDifferences) {
  const Spec spec = SpecOf(GetParam().layers, GetParam().shape, GetParam().train);
  const ReferenceDropout dropout = {.on = GetParam().dropout, .seed = SeedFor(5, RandomUse::Dropout), .update = 12};
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto weights = RandomWeights(spec, seed);
    const auto batch = RandomBatch(spec, kRagged, seed);
    const auto result = ReferenceStep(spec, weights, batch, dropout);
    EXPECT_EQ(result.loss, ReferenceLoss(spec, weights, batch, dropout));
    const GradientReport report = CheckGradients(spec, weights, batch, dropout, result.gradients);
    EXPECT_TRUE(report.ok()) << "seed " << seed << "\n" << GradientReportText(report);
    EXPECT_EQ(report.excused, 0) << "seed " << seed << "\n" << GradientReportText(report);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Reference, GradientOf,
    testing::Values(
        GradientCase{"LstmLastState", kFeaturesToClass, {LstmOf(4), Head()}},
        GradientCase{"LstmOneInputOneUnit", kNumberToNumber, {LstmOf(1), Head()}},
        GradientCase{"LstmEveryStepClasses", kIdsToClasses, {kEmbedding, LstmOf(4), Head()}},
        GradientCase{"LstmEveryStepValues", kFeaturesToValueSeries, {LstmOf(4), Head()}},
        GradientCase{"LstmOnLstm", kFeaturesToClass, {LstmOf(4), LstmOf(3), Head()}},
        GradientCase{"LstmOnDenseOnLstm", kFeaturesToValues, {LstmOf(4), DenseOf(5, Activation::Tanh), LstmOf(3), Head()}},
        GradientCase{"LstmOnLstmEveryStep", kIdsToClasses, {kEmbedding, LstmOf(4), LstmOf(3), Head()}},
        GradientCase{"LstmWithoutBias", kFeaturesToClass, {LSTMOptions{.units = 4, .use_bias = false}, Head()}},
        GradientCase{"LstmProjected", kFeaturesToClass, {ProjectedOf(5, 3), Head()}},
        GradientCase{"LstmProjectedEveryStep", kIdsToClasses, {kEmbedding, ProjectedOf(5, 4), Head()}},
        GradientCase{"LstmProjectedTwice", kFeaturesToValueSeries, {ProjectedOf(5, 4), ProjectedOf(4, 3), Head()}},
        GradientCase{"LstmProjectedWithoutBias", kFeaturesToValueSeries, {ProjectedOf(5, 2, false), Head()}},
        GradientCase{"NormalizedLastState", kFeaturesToClass, {NormalizedOf(4), Head()}},
        GradientCase{"NormalizedEveryStep", kIdsToClasses, {kEmbedding, NormalizedOf(4), Head()}},
        GradientCase{"NormalizedTwice", kFeaturesToValueSeries, {NormalizedOf(4), NormalizedOf(3), Head()}},
        GradientCase{"NormalizedWithoutBias", kFeaturesToValueSeries, {NormalizedOf(5, false), Head()}},
        GradientCase{"NormalizedByAnotherEpsilon",
                     kFeaturesToValueSeries,
                     {LSTMOptions{.units = 4, .layer_normalization = true, .epsilon = 0.1}, Head()}},
        GradientCase{"NormalizedByOtherFunctions",
                     kFeaturesToValueSeries,
                     {LSTMOptions{.units = 4,
                                  .activation = Activation::Softsign,
                                  .recurrent_activation = Activation::HardSigmoid,
                                  .layer_normalization = true},
                      Head()}},
        GradientCase{"GruLastState", kFeaturesToClass, {GruOf(4, true), Head()}},
        GradientCase{"GruOneInputOneUnit", kNumberToNumber, {GruOf(1, true), Head()}},
        GradientCase{"GruEveryStep", kIdsToClasses, {kEmbedding, GruOf(4, true), Head()}},
        GradientCase{"GruOnGru", kFeaturesToClass, {GruOf(4, true), GruOf(3, true), Head()}},
        GradientCase{"GruWithoutBias", kFeaturesToValueSeries, {GruOf(4, true, false), Head()}},
        GradientCase{"GruBeforeLastState", kFeaturesToClass, {GruOf(4, false), Head()}},
        GradientCase{"GruBeforeOneInputOneUnit", kNumberToNumber, {GruOf(1, false), Head()}},
        GradientCase{"GruBeforeEveryStep", kIdsToClasses, {kEmbedding, GruOf(4, false), Head()}},
        GradientCase{"GruBeforeOnGruBefore", kFeaturesToClass, {GruOf(4, false), GruOf(3, false), Head()}},
        GradientCase{"GruBeforeWithoutBias", kFeaturesToValueSeries, {GruOf(4, false, false), Head()}},
        GradientCase{"RnnLastState", kFeaturesToClass, {RnnOf(4), Head()}},
        GradientCase{"RnnEveryStep", kIdsToClasses, {kEmbedding, RnnOf(4), Head()}},
        GradientCase{"RnnOnRnn", kFeaturesToClass, {RnnOf(4), RnnOf(3), Head()}},
        GradientCase{"RnnWithoutBias", kFeaturesToValueSeries, {RnnOf(4, false), Head()}},
        GradientCase{"EveryCell", kIdsToClasses, {kEmbedding, RnnOf(3), LstmOf(4), GruOf(3, false), GruOf(5, true), Head()}},
        GradientCase{"Embedding", kIdsToClass, {kEmbedding, LstmOf(4), Head(Activation::Softmax)}},
        GradientCase{"EmbeddingWithoutLstm", kIdsToClass, {kEmbedding, kMean, Head()}},
        GradientCase{"Tied", kIdsToClasses, {kEmbedding, LstmOf(3), kTied}},
        GradientCase{"TiedPooled", kIdsToClass, {kEmbedding, LstmOf(4), DenseOf(3, Activation::Tanh), kMean, kTied}},
        GradientCase{"TiedWithoutLstm", kIdsToClass, {kEmbedding, kMean, kTied}},
        GradientCase{"TiedTwice", kIdsToClasses, {kEmbedding, kTied, LstmOf(3), kTied}},
        GradientCase{"TiedWithAPenalty",
                     kIdsToClasses,
                     {EmbeddingOptions{.output_dim = 3, .embeddings_l1 = 0.02, .embeddings_l2 = 0.01}, LstmOf(3), kTied}},
        GradientCase{"PoolingLast", kFeaturesToClass, {LstmOf(4), kLast, Head()}},
        GradientCase{"StateOfLstm", kFeaturesToClass, {LstmOf(4), kState, Head()}},
        GradientCase{"StateOfProjectedLstm", kFeaturesToClass, {LstmOf(3), ProjectedOf(5, 3), kState, Head()}},
        GradientCase{"StateOfGru", kFeaturesToClass, {GruOf(4, true), kState, Head()}},
        GradientCase{"LstmBeginning", WithState(kFeaturesToValueSeries, 8), {Beginning(LstmOf(4)), Head()}},
        GradientCase{"ProjectedBeginning", WithState(kFeaturesToClass, 8), {Beginning(ProjectedOf(5, 3)), kState, Head()}},
        GradientCase{"GruBeginning", WithState(kFeaturesToValueSeries, 4), {Beginning(GruOf(4, true)), Head()}},
        GradientCase{"GruBeforeBeginning", WithState(kFeaturesToValueSeries, 4), {Beginning(GruOf(4, false)), Head()}},
        GradientCase{
            "RnnBeginning", WithState(kIdsToClasses, 7), {kEmbedding, Beginning(RnnOf(4)), Beginning(RnnOf(3)), Head()}},
        GradientCase{"PoolingMean", kFeaturesToClass, {LstmOf(4), kMean, Head()}},
        GradientCase{"PoolingMax", kFeaturesToClass, {LstmOf(4), kMax, Head()}},
        GradientCase{"DenseLinear", kFeaturesToClass, {LstmOf(4), DenseOf(5, Activation::Linear), Head()}},
        GradientCase{"DenseRelu", kFeaturesToClass, {LstmOf(4), DenseOf(5, Activation::Relu), Head()}},
        GradientCase{"DenseTanh", kFeaturesToClass, {LstmOf(4), DenseOf(5, Activation::Tanh), Head()}},
        GradientCase{"DenseSigmoid", kFeaturesToClass, {LstmOf(4), DenseOf(5, Activation::Sigmoid), Head()}},
        GradientCase{"HeadRelu", kFeaturesToWideSeries, {LstmOf(4), Head(Activation::Relu)}},
        GradientCase{"HeadTanh", kFeaturesToValues, {LstmOf(4), Head(Activation::Tanh)}},
        GradientCase{"HeadSigmoid", kFeaturesToValues, {LstmOf(4), Head(Activation::Sigmoid)}},
        GradientCase{
            "DropoutEverywhere",
            kIdsToClass,
            {kEmbedding, kDropout, LstmOf(6), kDropout, kMean, kDropout, DenseOf(9, Activation::Tanh), kDropout, Head()},
            /*dropout=*/true},
        GradientCase{"DropoutEveryStep", kFeaturesToValueSeries, {kDropout, LstmOf(6), kDropout, Head()}, /*dropout=*/true},
        GradientCase{"DropoutOfWholeUnits",
                     kFeaturesToValueSeries,
                     {DropoutOptions{.rate = 0.4, .spatial = true}, LstmOf(6), Head()},
                     /*dropout=*/true},
        GradientCase{"Backwards", kIdsToClasses, {kEmbedding, GRUOptions{.units = 4, .go_backwards = true}, LstmOf(3), Head()}},
        GradientCase{"DropoutInsideLstm", kFeaturesToValueSeries, {Masked(LstmOf(6)), Masked(LstmOf(5)), Head()}, true},
        GradientCase{"DropoutInsideProjectedLstm", kFeaturesToValueSeries, {Masked(ProjectedOf(6, 4)), Head()}, true},
        GradientCase{
            "DropoutInsideGru", kFeaturesToValueSeries, {Masked(GruOf(6, true)), Masked(GruOf(5, true)), Head()}, true},
        GradientCase{
            "DropoutInsideGruBefore", kFeaturesToValueSeries, {Masked(GruOf(6, false)), Masked(GruOf(5, false)), Head()}, true},
        GradientCase{"DropoutInsideRnn", kFeaturesToValueSeries, {Masked(RnnOf(6)), Masked(RnnOf(5)), Head()}, true},
        GradientCase{
            "LstmOfOtherFunctions",
            kFeaturesToValueSeries,
            {LSTMOptions{.units = 4, .activation = Activation::Softsign, .recurrent_activation = Activation::HardSigmoid},
             Head()}},
        GradientCase{
            "GruOfOtherFunctions",
            kFeaturesToValueSeries,
            {GRUOptions{.units = 4, .activation = Activation::Elu, .recurrent_activation = Activation::HardSigmoid}, Head()}},
        GradientCase{"GruBeforeOfOtherFunctions",
                     kFeaturesToValueSeries,
                     {GRUOptions{.units = 4,
                                 .activation = Activation::LeakyRelu,
                                 .recurrent_activation = Activation::Softsign,
                                 .reset_after = false},
                      Head()}},
        GradientCase{"RnnOfAnotherFunction",
                     kFeaturesToValueSeries,
                     {SimpleRNNOptions{.units = 4, .activation = Activation::LeakyRelu}, Head()}},
        GradientCase{"ActivationLayer",
                     kFeaturesToValueSeries,
                     {DenseOf(5, Activation::Linear), ActivationOptions{.activation = Activation::Elu}, LstmOf(4),
                      ActivationOptions{.activation = Activation::LeakyRelu}, Head()}},
        GradientCase{"Convolution",
                     kFeaturesToValueSeries,
                     {Conv1DOptions{.filters = 4, .kernel_size = 3, .dilation_rate = 2, .activation = Activation::Tanh},
                      LstmOf(4), Conv1DOptions{.filters = 5, .kernel_size = 2, .use_bias = false}, Head()}},
        GradientCase{"LayerNormalization",
                     kFeaturesToValueSeries,
                     {LayerNormalizationOptions{}, LstmOf(4), LayerNormalizationOptions{.epsilon = 0.1}, Head()}},
        GradientCase{
            "MeanAbsoluteError", kFeaturesToValueSeries, {LstmOf(4), Head()}, false, {.loss = Loss::MeanAbsoluteError}},
        GradientCase{"Huber", kFeaturesToValueSeries, {LstmOf(4), Head()}, false, {.loss = Loss::Huber, .huber_delta = 0.3}},
        GradientCase{
            "BinaryCrossentropy", kFeaturesToValueSeries, {LstmOf(4), Head()}, false, {.loss = Loss::BinaryCrossentropy}},
        GradientCase{"BinaryCrossentropySmoothed",
                     kFeaturesToValues,
                     {LstmOf(4), Head(Activation::Sigmoid)},
                     false,
                     {.loss = Loss::BinaryCrossentropy, .label_smoothing = 0.2}},
        GradientCase{"PenaltiesOnEveryTensor",
                     kIdsToClasses,
                     {EmbeddingOptions{.output_dim = 3, .embeddings_l1 = 0.03, .embeddings_l2 = 0.02},
                      LSTMOptions{.units = 4, .kernel_l1 = 0.01, .recurrent_l2 = 0.04, .bias_l1 = 0.02},
                      GRUOptions{.units = 3, .kernel_l2 = 0.05, .recurrent_l1 = 0.01, .bias_l2 = 0.07},
                      SimpleRNNOptions{.units = 3, .kernel_l1 = 0.02, .kernel_l2 = 0.01, .bias_l2 = 0.03},
                      DenseOptions{.kernel_l1 = 0.01, .kernel_l2 = 0.02, .bias_l1 = 0.03, .bias_l2 = 0.04}}},
        GradientCase{"ClassWeights",
                     kIdsToClasses,
                     {kEmbedding, LstmOf(4), Head()},
                     false,
                     {.class_weight = {0.5, 2.0, 1.0, 0.0, 3.0, 1.0, 0.25}}},
        GradientCase{"CrossentropySmoothed", kIdsToClasses, {kEmbedding, LstmOf(4), Head()}, false, {.label_smoothing = 0.2}}),
    [](const auto& described) { return described.param.name; });

// The negative controls share one model; every one of them breaks its gradient in a way that a real mistake would.
class WrongGradient : public testing::Test {
 protected:
  const Spec spec_ = SpecOf({LstmOf(4), kDropout, Head()}, kFeaturesToValueSeries);
  const ReferenceDropout dropout_ = {.on = true, .seed = 77, .update = 3};
  const std::vector<ReferenceTensor<double>> weights_ = RandomWeights(spec_, /*seed=*/4);
  const std::vector<ReferenceSample<double>> batch_ = RandomBatch(spec_, kRagged, /*seed=*/4);
  std::vector<ReferenceTensor<double>> gradients_ = ReferenceStep(spec_, weights_, batch_, dropout_).gradients;

  std::vector<double>& Gradient(const std::string& name) {
    for (ReferenceTensor<double>& gradient : gradients_)
      if (gradient.name == name) return gradient.values;
    ADD_FAILURE() << "no tensor " << name;
    return gradients_[0].values;
  }
  // The names of the tensors that the check refuses; all others must have passed.
  std::vector<std::string> Refused() const {
    const GradientReport report = CheckGradients(spec_, weights_, batch_, dropout_, gradients_);
    std::vector<std::string> refused;
    for (const TensorGradientCheck& check : report.tensors) {
      EXPECT_NE(check.verdict, GradientVerdict::Excused) << check.tensor;
      if (check.verdict == GradientVerdict::Failed) refused.push_back(check.tensor);
    }
    EXPECT_EQ(report.ok(), refused.empty());
    return refused;
  }
  using Names = std::vector<std::string>;
};

TEST(WrongPenalty, HalfOfItAndOneOfAnotherTensorAreRefused) {
  const auto model = [](double kernel_l1, double kernel_l2, double recurrent_l2) {
    return SpecOf(
        {LSTMOptions{.units = 4, .kernel_l1 = kernel_l1, .kernel_l2 = kernel_l2, .recurrent_l2 = recurrent_l2}, Head()},
        kFeaturesToClass);
  };
  const Spec right = model(0.02, 0.01, 0.0);
  const auto weights = RandomWeights(right, 4);
  const auto batch = RandomBatch(right, kRagged, 4);
  const auto failed = [&](const Spec& claimed) {
    return CheckGradients(right, weights, batch, {}, ReferenceStep(claimed, weights, batch, {}).gradients).failed;
  };
  EXPECT_EQ(failed(right), 0);
  EXPECT_EQ(failed(model(0.02, 0.005, 0.0)), 1) << "w for 2 w";
  EXPECT_EQ(failed(model(0.0, 0.01, 0.0)), 1) << "no sign";
  EXPECT_EQ(failed(model(0.02, 0.0, 0.01)), 2) << "on the state's weights";
}

TEST_F(WrongGradient, TheUnbrokenOnePasses) { EXPECT_EQ(Refused(), Names{}); }

TEST_F(WrongGradient, SwappedGateBlocksAreRefused) {
  std::vector<double>& values = Gradient("lstm.weight_ih");
  const auto block = static_cast<std::ptrdiff_t>(values.size() / 4);
  std::swap_ranges(values.begin(), values.begin() + block, values.begin() + block);  // i and f
  EXPECT_EQ(Refused(), Names{"lstm.weight_ih"});
}

TEST_F(WrongGradient, AFlippedSignIsRefused) {
  for (double& value : Gradient("lstm.bias")) value = -value;
  EXPECT_EQ(Refused(), Names{"lstm.bias"});
}

TEST_F(WrongGradient, ADroppedTensorIsRefused) {
  for (double& value : Gradient("lstm.weight_hh")) value = 0.0;
  EXPECT_EQ(Refused(), Names{"lstm.weight_hh"});
}

TEST_F(WrongGradient, OneSlightlyWrongElementIsRefused) {
  Gradient("dense.bias")[1] *= 1.0 + 1e-5;
  EXPECT_EQ(Refused(), Names{"dense.bias"});
}

TEST_F(WrongGradient, NotFiniteIsRefused) {
  Gradient("dense.bias")[0] = std::nan("");
  Gradient("lstm.bias")[0] = HUGE_VAL;
  EXPECT_EQ(Refused(), (Names{"lstm.bias", "dense.bias"}));
}

TEST_F(WrongGradient, AMeanOfSampleMeansIsRefused) {
  for (ReferenceTensor<double>& gradient : gradients_)
    for (double& value : gradient.values) value = 0.0;
  for (const auto& sample : batch_) {
    const auto alone = ReferenceStep(spec_, weights_, {sample}, dropout_).gradients;
    for (size_t i = 0; i < alone.size(); ++i)
      for (size_t e = 0; e < alone[i].values.size(); ++e)
        gradients_[i].values[e] += alone[i].values[e] / static_cast<double>(batch_.size());
  }
  EXPECT_EQ(Refused().size(), gradients_.size());
}

TEST_F(WrongGradient, AMaskOfAnotherUpdateIsRefused) {
  ReferenceDropout other = dropout_;
  ++other.update;
  gradients_ = ReferenceStep(spec_, weights_, batch_, other).gradients;
  EXPECT_EQ(Refused().size(), gradients_.size());
}

// A tied table hears of its rows that were looked up and of its product. An untied twin with the same values tells both apart.
TEST(WrongTie, OneOfTheTwoUsesAloneIsRefused) {
  const Spec spec = SpecOf({kEmbedding, LstmOf(3), kTied}, kIdsToClasses);
  const Spec twin = SpecOf({kEmbedding, LstmOf(3), DenseOptions{}}, kIdsToClasses);
  const auto weights = RandomWeights(spec, /*seed=*/6);
  const auto batch = RandomBatch(spec, kRagged, /*seed=*/6);
  auto untied = weights;  // embedding.weight, three of the LSTM, dense.bias
  untied.insert(untied.end() - 1, weights.front());
  untied[4].name = "dense.weight";
  const auto parts = ReferenceStep(twin, untied, batch, {}).gradients;
  const auto failed = [&](double looked_up, double product) {
    auto claimed = ReferenceStep(spec, weights, batch, {}).gradients;
    for (size_t i = 0; i < claimed[0].values.size(); ++i)
      claimed[0].values[i] = looked_up * parts[0].values[i] + product * parts[4].values[i];
    return CheckGradients(spec, weights, batch, {}, claimed).failed;
  };
  EXPECT_EQ(failed(1.0, 1.0), 0);
  EXPECT_EQ(failed(1.0, 0.0), 1);
  EXPECT_EQ(failed(0.0, 1.0), 1);
}

// Two heads over one body, one on steps and one on pooled rows: classes and values, with weights.
Spec TwoHeads(double tags_weight, double mood_weight, Loss loss = Loss::Huber) {
  Job job;
  job.layers = {{"", kEmbedding},
                {"", LstmOf(4)},
                {"", DenseOf(3, Activation::Tanh), {"lstm"}},
                {"", kMean, {"dense"}},
                {"mood", DenseOptions{}, {"pooling"}},
                {"tags", DenseOptions{}, {"dense"}}};
  job.outputs = {{.layer = "tags", .loss_weight = tags_weight}, {.layer = "mood", .loss = loss, .loss_weight = mood_weight}};
  SampleShape shape = kIdsToClasses;
  shape.several = 2;
  shape.targets = {TargetShape{.per_step = true, .are_classes = true, .classes = 7}, TargetShape{.width = 2}};
  Result<Spec> made = MakeSpec(job, shape);
  PLIMSOLL_CHECK(made.ok(), made.status().message().c_str());
  return std::move(made).value();
}

TEST(SeveralOutputs, TheirGradientsAgreeWithCentralDifferencesAndAnotherWeightIsRefused) {
  for (const Loss loss : {Loss::Huber, Loss::MeanSquaredError, Loss::BinaryCrossentropy}) {
    const Spec right = TwoHeads(0.7, 2.5, loss);
    const auto weights = RandomWeights(right, /*seed=*/3);
    const auto batch = RandomBatch(right, kRagged, /*seed=*/3);
    const auto failed = [&](const Spec& claimed) {
      return CheckGradients(right, weights, batch, {}, ReferenceStep(claimed, weights, batch, {}).gradients).failed;
    };
    EXPECT_EQ(failed(right), 0);
    EXPECT_EQ(failed(TwoHeads(0.7, 2.4, loss)), 8) << "all but the other head";
    EXPECT_EQ(failed(TwoHeads(0.8, 2.5, loss)), 8);
  }
}

TEST(SeveralOutputs, EachLossIsTheMeanOfItsOwnItems) {
  const Spec both = TwoHeads(2.0, 3.0), tags = TwoHeads(2.0, 1e-30), mood = TwoHeads(1e-30, 3.0);
  const auto weights = RandomWeights(both, /*seed=*/5);
  const auto batch = RandomBatch(both, kRagged, /*seed=*/5);
  const double sum = ReferenceLoss(tags, weights, batch, {}) + ReferenceLoss(mood, weights, batch, {});
  EXPECT_NEAR(ReferenceLoss(both, weights, batch, {}), sum, 1e-12);
}

// The likeliest mistake of a recurrent backward: a time step that does not hear of the one behind it through h.
TEST(GradientCheck, BackwardWithoutTheRecurrentTermIsRefused) {
  const Spec spec = SpecOf({LstmOf(4), Head()}, kFeaturesToValueSeries);
  const auto weights = RandomWeights(spec, /*seed=*/9);
  const auto batch = RandomBatch(spec, {5}, /*seed=*/9);
  reference::Rows<double> in(5, 3), hidden(5, 4), out(5, 2), d_out(5, 2);
  in.values = batch[0].features;
  reference::LstmTape<double> tape;
  reference::LstmForward(hidden, tape, in, weights[0].values, weights[1].values, weights[2].values);
  reference::DenseForward(out, hidden, weights[3].values, weights[4].values, Activation::Linear);
  for (int64_t t = 0; t < 5; ++t)
    reference::MeanSquaredError(d_out.row(t), out.row(t), batch[0].targets[0].values.data() + 2 * t, 2);

  for (const bool broken : {false, true}) {
    auto gradients = weights;
    for (auto& gradient : gradients)
      for (double& value : gradient.values) value = 0.0;
    reference::Rows<double> d_in(5, 3), d_hidden(5, 4);
    reference::DenseBackward(d_hidden, gradients[3].values, gradients[4].values, d_out, hidden, out, weights[3].values,
                             Activation::Linear);
    const std::vector<double> recurrent = broken ? std::vector<double>(4 * 4 * 4) : weights[1].values;
    reference::LstmBackward(d_in, gradients[0].values, gradients[1].values, gradients[2].values, d_hidden, in, hidden, tape,
                            weights[0].values, recurrent);
    for (auto& gradient : gradients)
      for (double& value : gradient.values) value /= 5.0;
    const GradientReport report = CheckGradients(spec, weights, batch, {}, gradients);
    EXPECT_EQ(report.failed, broken ? 3 : 0) << GradientReportText(report);  // the LSTM's three tensors
    EXPECT_EQ(report.passed, broken ? 2 : 5) << GradientReportText(report);
  }
}

// The same of a projection: a step that hears of the one behind it past W_hr, and a weight that hears of its own step alone.
TEST(GradientCheck, AProjectionWithAWrongTermIsRefused) {
  const Spec spec = SpecOf({ProjectedOf(4, 3), Head()}, kFeaturesToValueSeries);
  const auto weights = RandomWeights(spec, /*seed=*/9);
  const auto batch = RandomBatch(spec, {5, 3}, /*seed=*/9);
  auto claimed = ReferenceStep(spec, weights, batch, {}).gradients;
  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, claimed).failed, 0);
  EXPECT_EQ(claimed[3].name, "lstm.weight_hr");

  auto without_recurrence = weights;  // what later steps say about h does not arrive
  std::fill(without_recurrence[1].values.begin(), without_recurrence[1].values.end(), 0.0);
  claimed[3] = ReferenceStep(spec, without_recurrence, batch, {}).gradients[3];
  const GradientReport report = CheckGradients(spec, weights, batch, {}, claimed);
  EXPECT_EQ(report.failed, 1) << GradientReportText(report);
  EXPECT_EQ(report.tensors[3].verdict, GradientVerdict::Failed);
}

// The same of an LSTM with layer normalisation: a step that does not hear of the one behind it, an epsilon that is another's,
// and the vectors of one product taken for those of the other.
TEST(GradientCheck, ANormalisationWithAWrongTermIsRefused) {
  const auto spec_with = [](double epsilon) {
    const LayerKind lstm = LSTMOptions{.units = 4, .layer_normalization = true, .epsilon = epsilon};
    return SpecOf({lstm, Head()}, kFeaturesToValueSeries);
  };
  const Spec spec = spec_with(1e-3);
  const auto weights = RandomWeights(spec, /*seed=*/9);
  const auto batch = RandomBatch(spec, {5, 3}, /*seed=*/9);
  const auto claimed = ReferenceStep(spec, weights, batch, {}).gradients;
  std::vector<std::string> names;
  for (const auto& gradient : claimed) names.push_back(gradient.name);
  const std::vector<std::string> wanted = {"lstm.weight_ih",      "lstm.weight_hh",     "lstm.bias",
                                           "lstm.norm_ih_weight", "lstm.norm_ih_bias",  "lstm.norm_hh_weight",
                                           "lstm.norm_hh_bias",   "lstm.norm_c_weight", "lstm.norm_c_bias",
                                           "dense.weight",        "dense.bias"};
  EXPECT_EQ(names, wanted);

  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, claimed).failed, 0);
  EXPECT_EQ(claimed[2].values, claimed[4].values) << "three vectors are added to the same sums";
  EXPECT_EQ(claimed[2].values, claimed[6].values);

  auto without_recurrence = weights;
  std::fill(without_recurrence[1].values.begin(), without_recurrence[1].values.end(), 0.0);
  auto wrong = claimed;
  wrong[7] = ReferenceStep(spec, without_recurrence, batch, {}).gradients[7];
  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, wrong).failed, 1) << "without the recurrent term";

  wrong = ReferenceStep(spec_with(2e-3), weights, batch, {}).gradients;
  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, wrong).failed, 11) << "another epsilon";

  wrong = claimed;
  std::swap(wrong[3].values, wrong[5].values);
  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, wrong).failed, 2) << "scales of the two products swapped";
}

// What a forgotten mask does: of the inputs, or of h.
TEST(GradientCheck, AForgottenMaskInsideARecurrentLayerIsRefused) {
  const ReferenceDropout dropout = {.on = true, .seed = 77, .update = 3};
  const auto spec_with = [](double of_inputs, double of_h) {
    return SpecOf({LSTMOptions{.units = 6, .dropout = of_inputs, .recurrent_dropout = of_h}, Head()}, kFeaturesToValueSeries);
  };
  const Spec spec = spec_with(0.4, 0.4);
  const auto weights = RandomWeights(spec, /*seed=*/9);
  const auto batch = RandomBatch(spec, {5, 3}, /*seed=*/9);
  EXPECT_EQ(CheckGradients(spec, weights, batch, dropout, ReferenceStep(spec, weights, batch, dropout).gradients).failed, 0);
  for (const Spec& other : {spec_with(0.0, 0.4), spec_with(0.4, 0.0)}) {
    const auto claimed = ReferenceStep(other, weights, batch, dropout).gradients;
    EXPECT_EQ(CheckGradients(spec, weights, batch, dropout, claimed).failed, 5);
  }

  const reference::DropoutPlace place = {.seed = 77, .update = 3, .layer = 0, .sample = 7};
  EXPECT_NE(reference::RecurrentScales<double>(0.5, place, 0, 64), reference::RecurrentScales<double>(0.5, place, 1, 64))
      << "x and h have masks of their own";
}

// The same of the GRU, whose State has two ways on: a product, and z.
TEST(GradientCheck, AGruWithAWrongTermIsRefused) {
  for (const bool reset_after : {true, false}) {
    const Spec spec = SpecOf({GruOf(4, reset_after), Head()}, kFeaturesToValueSeries);
    const auto weights = RandomWeights(spec, /*seed=*/9);
    const auto batch = RandomBatch(spec, {5, 3}, /*seed=*/9);
    const auto claimed = ReferenceStep(spec, weights, batch, {}).gradients;
    EXPECT_EQ(CheckGradients(spec, weights, batch, {}, claimed).failed, 0);

    // The other kind of GRU has the same tensors but for the second bias.
    const Spec other = SpecOf({GruOf(4, !reset_after), Head()}, kFeaturesToValueSeries);
    auto other_weights = weights;
    if (reset_after) {
      other_weights.erase(other_weights.begin() + 3);
      other_weights[2].name = "gru.bias";
    } else {
      other_weights.insert(other_weights.begin() + 3, other_weights[2]);
      other_weights[2].name = "gru.bias_ih";
      other_weights[3].name = "gru.bias_hh";
    }
    const auto of_other = ReferenceStep(other, other_weights, batch, {}).gradients;
    auto wrong = claimed;
    wrong[1].values = of_other[1].values;
    EXPECT_EQ(CheckGradients(spec, weights, batch, {}, wrong).failed, 1) << "the reset on the other side of the product";

    wrong = claimed;  // z and r swapped
    const auto block = static_cast<std::ptrdiff_t>(wrong[0].values.size() / 3);
    std::swap_ranges(wrong[0].values.begin(), wrong[0].values.begin() + block, wrong[0].values.begin() + block);
    EXPECT_EQ(CheckGradients(spec, weights, batch, {}, wrong).failed, 1);
  }
}

TEST(GradientCheck, ATensorWithoutInfluenceIsExcusedAndNotPassed) {
  const Spec spec = SpecOf({LstmOf(4), Head()}, kFeaturesToClass);
  const auto weights = RandomWeights(spec, /*seed=*/2);
  const auto batch = RandomBatch(spec, {1, 1}, /*seed=*/2);  // without a second step nothing recurs
  const GradientReport report = CheckGradients(spec, weights, batch, {}, ReferenceStep(spec, weights, batch, {}).gradients);
  EXPECT_EQ(report.excused, 1);
  EXPECT_EQ(report.passed, 4);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.tensors[1].tensor, "lstm.weight_hh");
  EXPECT_EQ(report.tensors[1].verdict, GradientVerdict::Excused);
  EXPECT_NE(GradientReportText(report).find("excused  lstm.weight_hh"), std::string::npos) << GradientReportText(report);
  EXPECT_FALSE((GradientReport{.tensors = {}, .passed = 0, .failed = 0, .excused = 3}.ok())) << "excused alone proves nothing";
}

TEST(GradientCheck, SaysHowManyElementsItCheckedAndChoosesThemBySeed) {
  const Spec spec = SpecOf({LstmOf(4), Head()}, kFeaturesToClass);
  const auto weights = RandomWeights(spec, /*seed=*/2);
  const auto batch = RandomBatch(spec, kRagged, /*seed=*/2);
  const auto gradients = ReferenceStep(spec, weights, batch, {}).gradients;
  GradientCheckOptions options;
  options.elements_per_tensor = 5;
  const GradientReport report = CheckGradients(spec, weights, batch, {}, gradients, options);
  EXPECT_TRUE(report.ok()) << GradientReportText(report);
  const std::vector<int64_t> elements = {48, 64, 16, 16, 4}, checked = {5, 5, 5, 5, 4};
  for (size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(report.tensors[i].elements, elements[i]);
    EXPECT_EQ(report.tensors[i].checked, checked[i]);
  }
  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, gradients, options).tensors[0].claimed_norm,
            report.tensors[0].claimed_norm);
  options.seed = 2;
  EXPECT_NE(CheckGradients(spec, weights, batch, {}, gradients, options).tensors[0].claimed_norm,
            report.tensors[0].claimed_norm);
}

}  // namespace
}  // namespace plimsoll
