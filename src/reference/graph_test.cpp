// Gradients of layer graphs in the reference against central differences.
#include <gtest/gtest.h>

#include "reference/gradient_check.h"
#include "reference/random_model.h"

namespace plimsoll {
namespace {

constexpr SampleShape kFeaturesToValue = {.width = 3, .target_width = 2};
constexpr SampleShape kFeaturesToValues = {.width = 3, .target_per_step = true, .target_width = 2};
constexpr SampleShape kIdsToClasses = {
    .ids = true, .target_per_step = true, .target_classes = true, .vocabulary = 7, .classes = 5};
const std::vector<int64_t> kRagged = {6, 1, 4, 3, 1};

LayerKind Merged(MergeMode mode) { return MergeOptions{.mode = mode}; }
LayerOptions Plain(LayerKind kind) { return Reading({}, std::move(kind)); }

GradientReport CheckedGradients(const Spec& spec, uint64_t seed) {
  const auto weights = RandomWeights(spec, seed);
  const auto batch = RandomBatch(spec, kRagged, seed);
  return CheckGradients(spec, weights, batch, {}, ReferenceStep(spec, weights, batch, {}).gradients);
}

void ExpectRight(const Spec& spec, const std::string& what) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const GradientReport report = CheckedGradients(spec, seed);
    EXPECT_TRUE(report.ok()) << what << "\n" << GradientReportText(report);
    EXPECT_EQ(report.excused, 0) << what << "\n" << GradientReportText(report);
  }
}

TEST(GraphGradient, SkipsAroundALayerAgreeWithCentralDifferences) {
  for (const MergeMode mode : {MergeMode::Concatenate, MergeMode::Add, MergeMode::Multiply}) {
    ExpectRight(SpecOf({Plain(LstmOf(4)), Plain(LstmOf(4)), Reading({"lstm", "lstm_1"}, Merged(mode)), Plain(GruOf(3, true)),
                        Plain(Head())},
                       kFeaturesToValues),
                "inside the body");
    ExpectRight(SpecOf({Plain(EmbeddingOptions{.output_dim = 4}), Plain(LstmOf(4)),
                        Reading({"lstm", "embedding", "lstm"}, Merged(mode)), Plain(Head())},
                       kIdsToClasses),
                "in the head, one input twice");
    ExpectRight(
        SpecOf({Plain(DenseOf(3, Activation::Tanh)), Plain(LstmOf(3)), Reading({"input", "lstm"}, Merged(mode)), Plain(Head())},
               kFeaturesToValues),
        "around everything");
  }
}

TEST(GraphGradient, SeveralPoolingsOfOneLayerAgreeWithCentralDifferences) {
  ExpectRight(SpecOf({Plain(LstmOf(4)), Plain(PoolingOptions{.mode = PoolingMode::Mean}),
                      Reading({"lstm"}, PoolingOptions{.mode = PoolingMode::Max}),
                      Reading({"lstm"}, PoolingOptions{.mode = PoolingMode::Last}),
                      Reading({"pooling", "pooling_1", "pooling_2"}, Merged(MergeMode::Concatenate)), Plain(Head())},
                     kFeaturesToValue),
              "mean, max and last");
}

TEST(GraphGradient, BranchesOfTheDataAgreeWithCentralDifferences) {
  ExpectRight(SpecOf({Plain(LstmOf(4)), Reading({"input"}, GruOf(3, true)), Plain(DenseOf(4, Activation::Tanh)),
                      Reading({"lstm", "dense"}, Merged(MergeMode::Multiply)), Plain(Head())},
                     kFeaturesToValue),
              "two branches");
}

// The control: where a merge forgets one of its readers' terms, the check says so.
TEST(GraphGradient, AMissingTermOfASkipIsRefused) {
  const Spec spec = SpecOf({Plain(LstmOf(4)), Plain(DenseOf(4, Activation::Tanh)),
                            Reading({"lstm", "dense"}, Merged(MergeMode::Add)), Plain(Head())},
                           kFeaturesToValues);
  const Spec without = SpecOf({LstmOf(4), DenseOf(4, Activation::Tanh), Head()}, kFeaturesToValues);
  const auto weights = RandomWeights(spec, 2);
  const auto batch = RandomBatch(spec, kRagged, 2);
  auto gradients = ReferenceStep(spec, weights, batch, {}).gradients;
  EXPECT_TRUE(CheckGradients(spec, weights, batch, {}, gradients).ok());
  gradients[0].values = ReferenceStep(without, weights, batch, {}).gradients[0].values;
  EXPECT_EQ(CheckGradients(spec, weights, batch, {}, gradients).failed, 1);
}

}  // namespace
}  // namespace plimsoll
