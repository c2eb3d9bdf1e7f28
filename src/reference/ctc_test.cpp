// The reference CTC against all sequences of classes, one by one, and its gradients against central differences.
#include "reference/ctc.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "reference/gradient_check.h"
#include "reference/random_model.h"

namespace plimsoll {
namespace {

using reference::Rows;

constexpr SampleShape kFeaturesToLabels = {.width = 3, .target_classes = true, .classes = 4, .longest_target = 4};

Rows<double> RandomOutputs(int64_t steps, int64_t classes, uint64_t seed) {
  RandomSequence random(SeedFor(seed, RandomUse::Data), 0);
  Rows<double> rows(steps, classes);
  for (double& value : rows.values) value = RandomBetween(random, -3.0, 3.0);
  return rows;
}

// What a class at each step spells: repeats are one, then blanks are left out.
std::vector<int32_t> Spelt(const std::vector<int32_t>& classes) {
  std::vector<int32_t> labels;
  for (size_t t = 0; t < classes.size(); ++t) {
    if (classes[t] != 0 && (t == 0 || classes[t] != classes[t - 1])) labels.push_back(classes[t]);
  }
  return labels;
}

// Calls on_classes(classes) for every sequence that there is.
template <typename OnClasses>
void ForEachSequence(int64_t steps, int64_t classes, const OnClasses& on_classes) {
  std::vector<int32_t> sequence(static_cast<size_t>(steps), 0);
  while (true) {
    on_classes(sequence);
    size_t at = 0;
    while (at < sequence.size() && sequence[at] + 1 == classes) sequence[at++] = 0;
    if (at == sequence.size()) return;
    ++sequence[at];
  }
}

TEST(ReferenceCtc, LossAndGradientEqualThoseOfAllSequences) {
  struct Example {
    int64_t steps, classes;
    std::vector<int32_t> labels;
  };
  for (const Example& example : {Example{1, 2, {1}},
                                 {2, 3, {2, 1}},
                                 {4, 2, {1, 1}},
                                 {3, 2, {1, 1}},
                                 {6, 3, {1, 2}},
                                 {7, 3, {2, 2, 1}},
                                 {6, 4, {3, 1, 3}},
                                 {8, 3, {1, 1, 1}},
                                 {5, 5, {4}},
                                 {7, 4, {1, 2, 2, 3}}}) {
    const auto& [steps, classes, labels] = example;
    const Rows<double> in = RandomOutputs(steps, classes, 5);
    const Rows<double> log_p = reference::CtcLogSoftmax(in);
    double all = 0.0;
    Rows<double> counts(steps, classes);  // probability of each class at each step, and the labels
    ForEachSequence(steps, classes, [&, steps = steps, labels = labels](const std::vector<int32_t>& sequence) {
      if (Spelt(sequence) != labels) return;
      double sum = 0.0;
      for (int64_t t = 0; t < steps; ++t) sum += log_p.row(t)[sequence[static_cast<size_t>(t)]];
      all += std::exp(sum);
      for (int64_t t = 0; t < steps; ++t) counts.row(t)[sequence[static_cast<size_t>(t)]] += std::exp(sum);
    });
    EXPECT_NEAR(reference::CtcLoss(in, labels), -std::log(all), 1e-10);
    Rows<double> d_in(steps, classes);
    reference::CtcBackward(d_in, in, labels, 2.0);
    for (size_t i = 0; i < d_in.values.size(); ++i) {
      EXPECT_NEAR(d_in.values[i], 2.0 * (std::exp(log_p.values[i]) - counts.values[i] / all), 1e-10);
    }
  }
}

TEST(ReferenceCtc, EqualNeighboursNeedAStepBetweenThem) {
  EXPECT_EQ(reference::CtcStepsOf({1, 2, 1}), 3);
  EXPECT_EQ(reference::CtcStepsOf({1, 1, 2, 2, 2}), 8);
  EXPECT_TRUE(std::isfinite(reference::CtcLoss(RandomOutputs(8, 3, 1), {1, 1, 2, 2, 2})));
  EXPECT_FALSE(std::isfinite(reference::CtcLoss(RandomOutputs(7, 3, 1), {1, 1, 2, 2, 2}))) << "the control";
}

// The controls: another label at the end of one target, two equal labels as if they were not, a forgotten weight.
TEST(ReferenceCtc, GradientsAgreeWithCentralDifferences) {
  TrainOptions train;
  train.loss = Loss::Ctc;
  const Spec spec = SpecOf({LstmOf(4), Head()}, kFeaturesToLabels, train);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto weights = RandomWeights(spec, seed);
    auto batch = RandomBatch(spec, {9, 1, 7, 4, 12}, seed);
    batch[0].targets[0].classes = {2, 2, 3};
    batch[2].weight = 2.5;
    const GradientReport report = CheckGradients(spec, weights, batch, {}, ReferenceStep(spec, weights, batch, {}).gradients);
    EXPECT_TRUE(report.ok()) << GradientReportText(report);
    EXPECT_EQ(report.excused, 0) << GradientReportText(report);

    const auto wrong = [&](auto change) {
      auto other = batch;
      change(other);
      return CheckGradients(spec, weights, batch, {}, ReferenceStep(spec, weights, other, {}).gradients).failed;
    };
    EXPECT_GT(wrong([](auto& other) { other[0].targets[0].classes.back() = 1; }), 0);
    EXPECT_GT(wrong([](auto& other) { other[0].targets[0].classes[1] = 1; }), 0);
    EXPECT_GT(wrong([](auto& other) { other[2].weight = 1.0; }), 0);
  }
}

TEST(ReferenceCtc, TheLossIsAMeanOverSamples) {
  TrainOptions train;
  train.loss = Loss::Ctc;
  const Spec spec = SpecOf({LstmOf(4), Head()}, kFeaturesToLabels, train);
  const auto weights = RandomWeights(spec, 1);
  const auto batch = RandomBatch(spec, {9, 3}, 1);
  const ReferenceResult<double> both = ReferenceStep(spec, weights, batch, {});
  double sum = 0.0;
  for (size_t i = 0; i < batch.size(); ++i) {
    Rows<double> outputs(batch[i].steps, spec.output().width);
    outputs.values = both.outputs[i];
    sum += reference::CtcLoss(outputs, batch[i].targets[0].classes);
  }
  EXPECT_NEAR(both.loss, sum / 2.0, 1e-12);
}

}  // namespace
}  // namespace plimsoll
