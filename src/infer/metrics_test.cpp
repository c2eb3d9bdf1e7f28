// Numbers in the tests are scikit-learn 1.9's; those of AUC follow Keras's thresholds, one by one.
#include "infer/metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace plimsoll {
namespace {

constexpr double kNear = 1e-9;

// Metrics with memory of their own, of just the bytes that they ask for.
class Counted {
 public:
  explicit Counted(MetricPlan plan) : plan_(std::move(plan)), memory_(static_cast<size_t>(plan_.bytes()) / 8 + 1) {
    metrics_.Start();
  }
  Metrics* operator->() { return &metrics_; }
  double Of(Metric metric) const {
    Score score;
    metrics_.AddTo(score);
    const double* value = score.metrics.Find(metric);
    return value == nullptr ? std::nan("") : *value;
  }

 private:
  MetricPlan plan_;
  std::vector<double> memory_;
  Metrics metrics_{plan_, reinterpret_cast<char*>(memory_.data())};
};

constexpr std::array kCountMetrics = {Metric::PrecisionMacro, Metric::RecallMacro, Metric::F1Macro,
                                      Metric::PrecisionMicro, Metric::RecallMicro, Metric::F1Micro};
std::vector<Metric> With(std::initializer_list<Metric> more) {
  std::vector<Metric> all(kCountMetrics.begin(), kCountMetrics.end());
  all.insert(all.end(), more);
  return all;
}

TEST(Metrics, OfFourClassesAreThoseOfScikitLearn) {
  constexpr std::array<float, 48> kLogits = {
      -0.92f,  -0.116f, 4.155f,  -1.203f, 1.878f,  -2.361f, -0.695f, 0.133f,  -3.255f, 0.796f,  -3.258f, -1.278f,
      -1.122f, 3.638f,  0.313f,  -2.407f, -1.408f, 2.038f,  -1.069f, -2.654f, 1.336f,  0.572f,  -0.741f, 2.101f,
      0.523f,  -1.389f, -4.049f, 1.692f,  -0.949f, -2.792f, -3.466f, -0.466f, -0.737f, -3.626f, 0.509f,  2.128f,
      -1.979f, -1.93f,  -2.843f, -0.438f, 0.135f,  -2.866f, -0.069f, -1.746f, 2.781f,  -1.845f, 1.681f,  2.171f};
  constexpr std::array<int32_t, 12> kWanted = {2, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 1};
  Counted counted(
      {.of = MetricPlan::Of::Classes, .width = 4, .metrics = With({Metric::TopKAccuracy, Metric::Auc}), .top_k = 2});
  for (size_t i = 0; i < kWanted.size(); ++i) counted->Class(kLogits.data() + 4 * i, kWanted[i]);
  EXPECT_NEAR(counted.Of(Metric::PrecisionMacro), 0.5833333333333333, kNear);
  EXPECT_NEAR(counted.Of(Metric::RecallMacro), 0.43333333333333335, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1Macro), 0.4861111111111111, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1Micro), 0.4166666666666667, kNear);
  EXPECT_NEAR(counted.Of(Metric::TopKAccuracy), 0.5833333333333334, kNear);
  EXPECT_NEAR(counted.Of(Metric::Auc), 0.6550925925925927, kNear);
  const std::span<const ClassCounts> classes = counted->classes();
  ASSERT_EQ(classes.size(), 4u);
  EXPECT_EQ(classes[3].wanted, 0);
  EXPECT_EQ(classes[3].given, 5);
  counted->Start();
  EXPECT_EQ(counted->classes()[3].given, 0) << "a new score begins with nothing";
}

TEST(Metrics, AClassThatNeverCameIsInNoMean) {
  Counted counted({.of = MetricPlan::Of::Classes, .width = 3, .metrics = {Metric::F1Macro}});
  const std::array<float, 3> first = {1.0f, 0.0f, -1.0f};
  counted->Class(first.data(), 0);
  EXPECT_EQ(counted.Of(Metric::F1Macro), 1.0);
}

TEST(Metrics, OfTwoClassesAreOfTheSecond) {
  constexpr std::array<float, 40> kLogits = {
      1.572f,  2.001f,  -0.296f, 2.662f,  -1.012f, 0.226f, 0.229f,  -1.596f, 0.657f, 2.908f,  -1.537f, 1.349f, -0.232f, 2.654f,
      0.726f,  1.014f,  0.965f,  0.374f,  -2.094f, 2.087f, -2.056f, 0.358f,  0.921f, -1.257f, 0.218f,  1.752f, -0.036f, -1.333f,
      -4.374f, -1.458f, -0.887f, -0.775f, -1.44f,  0.566f, -0.862f, -0.164f, 1.019f, -1.283f, -0.45f,  3.237f};
  constexpr std::array<int32_t, 20> kWanted = {1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0};
  Counted counted(
      {.of = MetricPlan::Of::Classes, .width = 2, .metrics = {Metric::Precision, Metric::Recall, Metric::F1, Metric::Auc}});
  for (size_t i = 0; i < kWanted.size(); ++i) counted->Class(kLogits.data() + 2 * i, kWanted[i]);
  EXPECT_NEAR(counted.Of(Metric::Precision), 0.4666666666666667, kNear);
  EXPECT_NEAR(counted.Of(Metric::Recall), 0.7777777777777778, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1), 0.5833333333333334, kNear);
  EXPECT_NEAR(counted.Of(Metric::Auc), 0.5555555555555556, kNear) << "of 200 thresholds; the exact area is 0.5606";
}

TEST(Metrics, OutputsThatAreNoNumbersAreCountedAsTheLeastProbable) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  constexpr std::array<float, 4> kLogits = {kNone, 1.0f, 0.0f, 1.0f};
  Counted counted({.of = MetricPlan::Of::Classes, .width = 2, .metrics = {Metric::Auc}});
  counted->Class(kLogits.data(), 0);
  counted->Class(kLogits.data() + 2, 1);
  EXPECT_EQ(counted.Of(Metric::Auc), 1.0);
}

TEST(Metrics, OfSeveralLabelsCountEveryLabel) {
  constexpr std::array<float, 24> kLogits = {-0.531f, -0.731f, 0.645f, 0.313f, -0.517f, -0.189f, -0.416f, 0.725f,
                                             -0.69f,  0.486f,  0.852f, 0.486f, -0.834f, 1.345f,  -0.678f, 0.426f,
                                             -0.753f, -1.744f, 0.226f, 0.287f, -0.077f, 0.276f,  -0.648f, -0.737f};
  constexpr std::array<float, 24> kWanted = {0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0};
  Counted counted(
      {.of = MetricPlan::Of::Labels, .width = 3, .metrics = With({Metric::BinaryAccuracy, Metric::Auc, Metric::F1})});
  for (size_t i = 0; i < kWanted.size(); i += 3) counted->Labels(kLogits.data() + i, kWanted.data() + i);
  EXPECT_NEAR(counted.Of(Metric::PrecisionMacro), 0.2333333333333333, kNear);
  EXPECT_NEAR(counted.Of(Metric::RecallMacro), 0.3333333333333333, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1Macro), 0.2619047619047619, kNear);
  EXPECT_NEAR(counted.Of(Metric::PrecisionMicro), 0.2727272727272727, kNear);
  EXPECT_NEAR(counted.Of(Metric::RecallMicro), 0.5, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1Micro), 0.35294117647058826, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1), 0.35294117647058826, kNear) << "over all labels, as in Keras";
  EXPECT_NEAR(counted.Of(Metric::BinaryAccuracy), 0.5416666666666666, kNear);
  EXPECT_NEAR(counted.Of(Metric::Auc), 0.5046296296296297, kNear);
}

constexpr std::array<float, 12> kValues = {3.508f, 2.476f, -1.587f, 4.215f, -2.663f, 1.179f,
                                           1.007f, 2.274f, -1.176f, 0.895f, 0.578f,  3.991f};
constexpr std::array<float, 12> kGiven = {2.712f, 2.549f, -1.848f, 2.917f, 0.013f, 1.108f,
                                          -0.48f, 3.683f, -2.247f, 1.266f, 1.441f, 3.343f};

TEST(Metrics, OfValuesAreThoseOfScikitLearnAndKeras) {
  Counted counted({.of = MetricPlan::Of::Values,
                   .width = 2,
                   .metrics = {Metric::Mae, Metric::Rmse, Metric::Mape, Metric::Smape, Metric::R2}});
  for (size_t i = 0; i < kValues.size(); i += 2)
    counted->Values(kGiven.data() + i, kValues.data() + i, [](int64_t) { return TargetUnit{}; });
  EXPECT_NEAR(counted.Of(Metric::Mae), 0.9186666921402017, kNear);
  EXPECT_NEAR(counted.Of(Metric::Rmse), 1.1620274351623163, kNear);
  EXPECT_NEAR(counted.Of(Metric::Mape), 57.257208655673, 1e-7);
  EXPECT_NEAR(counted.Of(Metric::Smape), 61.14020803300444, 1e-7);
  EXPECT_NEAR(counted.Of(Metric::R2), 0.5348893184094925, kNear);
}

TEST(Metrics, OfScaledValuesAreInTheUnitOfTheData) {
  Counted counted({.of = MetricPlan::Of::Values, .width = 1, .metrics = {Metric::Mae, Metric::Mape, Metric::R2}});
  const auto unit = [](int64_t) { return TargetUnit{.mean = 100.0, .deviation = 10.0}; };
  constexpr std::array<float, 2> kScaled = {0.0f, 1.0f}, kSaid = {1.0f, 1.0f};  // 100 and 110; 110 twice
  for (size_t i = 0; i < 2; ++i) counted->Values(kSaid.data() + i, kScaled.data() + i, unit);
  EXPECT_NEAR(counted.Of(Metric::Mae), 5.0, kNear);
  EXPECT_NEAR(counted.Of(Metric::Mape), 5.0, kNear);
  EXPECT_NEAR(counted.Of(Metric::R2), -1.0, kNear);
}

TEST(Metrics, AConstantColumnIsExplainedWhollyOrNotAtAll) {
  Counted counted({.of = MetricPlan::Of::Values, .width = 2, .metrics = {Metric::R2}});
  constexpr std::array<float, 2> kWanted = {3.0f, 3.0f}, kSaid = {3.0f, 4.0f};
  for (int i = 0; i < 2; ++i) counted->Values(kSaid.data(), kWanted.data(), [](int64_t) { return TargetUnit{}; });
  EXPECT_EQ(counted.Of(Metric::R2), 0.5);
}

enum { O, BPer, IPer, BLoc, ILoc };
const std::array<std::string_view, 5> kTags = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"};

TEST(Metrics, EntitiesAreHitWhereBothBordersAndTheTypeAre) {
  Counted counted({.of = MetricPlan::Of::Classes,
                   .width = 5,
                   .metrics = {Metric::EntityPrecision, Metric::EntityRecall, Metric::EntityF1, Metric::F1Micro},
                   .tags = EntityTagsOf(kTags)});
  const std::vector<std::vector<int32_t>> wanted = {{BPer, IPer, O, BLoc, O}, {ILoc, ILoc, BLoc}, {BPer}};
  const std::vector<std::vector<int32_t>> given = {{BPer, IPer, O, BPer, O}, {BLoc, ILoc, ILoc}, {BPer}};
  for (size_t step = 0; step < 5; ++step) {  // rows take turns, as in a group
    for (size_t row = 0; row < wanted.size(); ++row) {
      if (step >= wanted[row].size()) continue;
      counted->Decided(given[row][step], wanted[row][step]);
      counted->Tag(static_cast<int64_t>(row), step == 0, step + 1 == wanted[row].size(), given[row][step], wanted[row][step]);
    }
  }
  EXPECT_NEAR(counted.Of(Metric::EntityPrecision), 2.0 / 4.0, kNear);
  EXPECT_NEAR(counted.Of(Metric::EntityRecall), 2.0 / 5.0, kNear);
  EXPECT_NEAR(counted.Of(Metric::EntityF1), 4.0 / 9.0, kNear);
  EXPECT_NEAR(counted.Of(Metric::F1Micro), 6.0 / 9.0, kNear) << "tags are counted beside entities";
}

TEST(Metrics, NamesThatAreNoTagsOfEntitiesAreNone) {
  EXPECT_EQ(EntityTagsOf(kTags).size(), 5u);
  EXPECT_TRUE(EntityTagsOf(std::array<std::string_view, 2>{"O", "NOUN"}).empty());
  EXPECT_TRUE(EntityTagsOf(std::array<std::string_view, 1>{"O"}).empty()) << "nothing ever begins";
}

TEST(Metrics, PerplexityAndBitsFollowFromTheLoss) {
  Score score;
  AddLossMetrics(score, {.metrics = {Metric::Perplexity, Metric::BitsPerCharacter}}, std::log(8.0));
  EXPECT_NEAR(*score.metrics.Find(Metric::Perplexity), 8.0, kNear);
  EXPECT_NEAR(*score.metrics.Find(Metric::BitsPerCharacter), 3.0, kNear);
}

Spec SpecOf(Loss loss, int64_t width, bool per_step = false) {
  Spec spec;
  spec.outputs.push_back({.loss = loss, .per_step = per_step, .width = width});
  return spec;
}

TEST(PlanMetrics, EachTaskHasItsOwn) {
  Job job{.task = Task::Classify};
  EXPECT_EQ(PlanMetrics(job, SpecOf(Loss::SparseCategoricalCrossentropy, 3), {})->metrics, std::vector{Metric::F1Macro});
  EXPECT_EQ(PlanMetrics(job, SpecOf(Loss::BinaryCrossentropy, 3), {})->metrics, std::vector{Metric::F1Micro});
  EXPECT_TRUE(PlanMetrics(job, SpecOf(Loss::Ctc, 3), {})->metrics.empty());
  job.task = Task::Tag;
  const Result<MetricPlan> tags = PlanMetrics(job, SpecOf(Loss::Crf, 5, true), EntityTagsOf(kTags));
  EXPECT_EQ(tags.value().metrics, std::vector{Metric::EntityF1});
  job.task = Task::Regress;
  EXPECT_EQ(PlanMetrics(job, SpecOf(Loss::Huber, 1), {})->metrics, (std::vector{Metric::Mae, Metric::R2}));
  job.task = Task::Lm;
  job.data.tokens = TokenKind::Word;
  const Result<MetricPlan> words = PlanMetrics(job, SpecOf(Loss::SparseCategoricalCrossentropy, 9, true), {});
  EXPECT_EQ(words.value().metrics, std::vector{Metric::Perplexity});
  EXPECT_FALSE(words.value().looks_at_items());
  EXPECT_EQ(words.value().bytes(), 0);
}

TEST(PlanMetrics, WhatIsMonitoredIsCounted) {
  Job job{.task = Task::Classify};
  job.train.metrics.emplace();
  job.train.monitor = MonitorOf(Metric::Auc);
  EXPECT_EQ(PlanMetrics(job, SpecOf(Loss::SparseCategoricalCrossentropy, 2), {})->metrics, std::vector{Metric::Auc});
}

TEST(PlanMetrics, WhatAJobCannotHaveIsRefusedWithItsName) {
  const auto refused = [](Task task, Loss loss, int64_t width, Metric metric) {
    Job job{.task = task};
    job.data.tokens = TokenKind::Word;
    job.train.metrics = {metric};
    const Result<MetricPlan> plan = PlanMetrics(job, SpecOf(loss, width, task == Task::Tag), {});
    return !plan.ok() && plan.status().kind() == StatusKind::Usage &&
           plan.status().message().find(MetricName(metric)) != std::string::npos;
  };
  constexpr Loss kClasses = Loss::SparseCategoricalCrossentropy;
  EXPECT_TRUE(refused(Task::Classify, kClasses, 3, Metric::F1)) << "of which class?";
  EXPECT_FALSE(refused(Task::Classify, kClasses, 2, Metric::F1)) << "the control";
  EXPECT_TRUE(refused(Task::Classify, kClasses, 3, Metric::Mae));
  EXPECT_TRUE(refused(Task::Regress, Loss::MeanSquaredError, 1, Metric::Auc));
  EXPECT_TRUE(refused(Task::Classify, kClasses, 3, Metric::TopKAccuracy)) << "there are fewer than 5";
  EXPECT_TRUE(refused(Task::Tag, Loss::Crf, 9, Metric::Auc));
  EXPECT_TRUE(refused(Task::Tag, kClasses, 9, Metric::EntityF1)) << "no names";
  EXPECT_TRUE(refused(Task::Lm, kClasses, 9, Metric::BitsPerCharacter)) << "words";
  EXPECT_TRUE(refused(Task::Classify, Loss::BinaryCrossentropy, 9, Metric::Accuracy));
  EXPECT_TRUE(refused(Task::Classify, Loss::Ctc, 9, Metric::F1Macro));
}

}  // namespace
}  // namespace plimsoll
