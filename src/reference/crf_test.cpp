// The reference CRF against all sequences of tags, one by one, and its gradients against central differences.
#include "reference/crf.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "reference/gradient_check.h"
#include "reference/random_model.h"

namespace plimsoll {
namespace {

constexpr SampleShape kFeaturesToTags = {.width = 3, .target_per_step = true, .target_classes = true, .classes = 4};

struct Chain {
  reference::Rows<double> in;
  std::vector<double> transitions, start, end;
  std::vector<int32_t> tags;
  reference::CrfScores<double> scores() const { return {transitions, start, end}; }
};

Chain RandomChain(int64_t steps, int64_t tags, uint64_t seed) {
  RandomSequence random(SeedFor(seed, RandomUse::Data), 0);
  const auto draw = [&](int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(RandomBetween(random, -2.0, 2.0));
    return values;
  };
  Chain chain{.in = {steps, tags}, .transitions = draw(tags * tags), .start = draw(tags), .end = draw(tags), .tags = {}};
  chain.in.values = draw(steps * tags);
  for (int64_t t = 0; t < steps; ++t) chain.tags.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(tags))));
  return chain;
}

// Calls on_tags(tags) for every sequence that there is.
template <typename OnTags>
void ForEachSequence(int64_t steps, int64_t tags, const OnTags& on_tags) {
  std::vector<int32_t> sequence(static_cast<size_t>(steps), 0);
  while (true) {
    on_tags(sequence);
    size_t at = 0;
    while (at < sequence.size() && sequence[at] + 1 == tags) sequence[at++] = 0;
    if (at == sequence.size()) return;
    ++sequence[at];
  }
}

TEST(ReferenceCrf, LossAndGradientEqualThoseOfAllSequences) {
  for (const auto& [steps, tags] : {std::pair{1, 1}, {1, 4}, {2, 3}, {5, 3}, {6, 4}, {4, 7}}) {
    const Chain chain = RandomChain(steps, tags, 5);
    double z = 0.0;
    ForEachSequence(steps, tags, [&](const auto& sequence) { z += std::exp(CrfScore(chain.in, chain.scores(), sequence)); });
    const double wanted = std::log(z) - CrfScore(chain.in, chain.scores(), chain.tags);
    EXPECT_NEAR(CrfLoss(chain.in, chain.scores(), chain.tags), wanted, 1e-10);

    // The gradient of log Z is what a score counts, weighed by the probability of each sequence.
    reference::Rows<double> expected(steps, tags);
    std::vector<double> pairs(chain.transitions.size()), starts(chain.start.size()), ends(chain.end.size());
    const auto count = [&](const std::vector<int32_t>& sequence, double weight) {
      for (size_t t = 0; t < sequence.size(); ++t) {
        expected.row(static_cast<int64_t>(t))[sequence[t]] += weight;
        if (t > 0) pairs[static_cast<size_t>(sequence[t - 1] * tags + sequence[t])] += weight;
      }
      starts[static_cast<size_t>(sequence.front())] += weight;
      ends[static_cast<size_t>(sequence.back())] += weight;
    };
    ForEachSequence(steps, tags,
                    [&](const auto& sequence) { count(sequence, std::exp(CrfScore(chain.in, chain.scores(), sequence)) / z); });
    count(chain.tags, -1.0);
    reference::Rows<double> d_in(steps, tags);
    std::vector<double> d_pairs(pairs.size()), d_starts(starts.size()), d_ends(ends.size());
    CrfBackward(d_in, d_pairs, d_starts, d_ends, chain.in, chain.scores(), chain.tags);
    const auto expect_near = [](const std::vector<double>& got, const std::vector<double>& of_all) {
      for (size_t i = 0; i < of_all.size(); ++i) EXPECT_NEAR(got[i], of_all[i], 1e-10);
    };
    expect_near(d_in.values, expected.values);
    expect_near(d_pairs, pairs);
    expect_near(d_starts, starts);
    expect_near(d_ends, ends);
  }
}

TEST(ReferenceCrf, NormalAlphasAreADistributionOfEachStep) {
  const Chain chain = RandomChain(6, 5, 2);
  const auto plain = CrfAlphas(chain.in, chain.scores(), false), normal = CrfAlphas(chain.in, chain.scores(), true);
  for (int64_t t = 0; t < 6; ++t) {
    double sum = 0.0;
    for (int64_t k = 0; k < 5; ++k) {
      sum += std::exp(normal.row(t)[k]);
      EXPECT_NEAR(normal.row(t)[k] - normal.row(t)[0], plain.row(t)[k] - plain.row(t)[0], 1e-12);
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

// The control: a chain whose last transition is forgotten is refused.
TEST(ReferenceCrf, GradientsAgreeWithCentralDifferences) {
  const Spec spec = SpecOf({LstmOf(4), Head(), CRFOptions{}}, kFeaturesToTags);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto weights = RandomWeights(spec, seed);
    const auto batch = RandomBatch(spec, {6, 2, 4, 3, 1}, seed);
    auto gradients = ReferenceStep(spec, weights, batch, {}).gradients;
    const GradientReport report = CheckGradients(spec, weights, batch, {}, gradients);
    EXPECT_TRUE(report.ok()) << GradientReportText(report);
    EXPECT_EQ(report.excused, 0) << GradientReportText(report);
    for (ReferenceTensor<double>& gradient : gradients) {
      if (gradient.name == "crf.transitions") std::swap(gradient.values[1], gradient.values[4]);  // from and to
    }
    EXPECT_EQ(CheckGradients(spec, weights, batch, {}, gradients).failed, 1);
  }
}

}  // namespace
}  // namespace plimsoll
