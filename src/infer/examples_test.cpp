#include "infer/examples.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll {
namespace {

Spec SpecOf(Loss loss, bool per_step, int64_t width, bool ids) {
  Spec spec;
  spec.id_input = ids;
  spec.outputs = {{.loss = loss, .per_step = per_step, .width = width}};
  return spec;
}

// Three rows of 3, 2 and 1 steps; packed: step 0 of all, then step 1 of two, then step 2 of one.
class ExamplesTest : public testing::Test {
 protected:
  ExamplesTest() {
    group_.rows = 3;
    group_.steps = 3;
    group_.samples = samples_.data();
    group_.lengths = lengths_.data();
    group_.ids = ids_.data();
    group_.targets[0] = {.classes = classes_.data(), .values = values_.data()};
  }
  std::vector<Example> Kept() const {
    std::vector<Example> kept;
    for (const Example& example : room_) {
      if (example.sample >= 0) kept.push_back(example);
    }
    return kept;
  }
  std::vector<int64_t> samples_ = {70, 71, 72};
  std::vector<int32_t> lengths_ = {3, 2, 1};
  std::vector<int32_t> ids_ = {10, 20, 30, 11, 21, 12};
  std::vector<int32_t> classes_ = {0, 1, 2, 0, 1, 2};
  std::vector<float> values_ = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
  RowGroup group_;
  std::vector<Example> room_ = std::vector<Example>(kMostExamples);
};

TEST_F(ExamplesTest, EachStepOfAPickedRowIsKeptWithItsIdAndItsLikeliestClasses) {
  const Spec spec = SpecOf(Loss::SparseCategoricalCrossentropy, true, 3, true);
  ExamplePicker picker(room_, spec, 2);
  picker.Offer(0, 70);
  picker.Offer(1, 71);
  // Class 1 leads everywhere, then class 2; in two slices, of which the second begins in the middle of a step.
  const std::vector<float> outputs = {0, 3, 1, 9, 0, 3, 1, 9, 0, 3, 1, 9, 0, 3, 1, 9, 0, 3, 1, 9, 0, 3, 1, 9};
  picker.Rows(group_, 0, 4, outputs.data(), 4);
  picker.Rows(group_, 4, 2, outputs.data(), 4);
  const std::vector<Example> kept = Kept();
  ASSERT_EQ(kept.size(), 5u) << "three steps of one, two of the other, none of the third";
  const std::vector<int> sample = {0, 1, 0, 1, 0}, step = {0, 0, 1, 1, 2}, input = {10, 20, 11, 21, 12},
                         target = {0, 1, 0, 1, 2};
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].sample, sample[i]);
    EXPECT_EQ(kept[i].step, step[i]);
    EXPECT_EQ(kept[i].input, input[i]);
    EXPECT_EQ(kept[i].target, target[i]);
    EXPECT_EQ(kept[i].likely, (std::array<int32_t, 3>{1, 2, 0})) << "the fourth is no class, but what fills the row up";
    EXPECT_NEAR(kept[i].probability[0], 0.8438, 1e-4);
  }
}

TEST_F(ExamplesTest, AClassOfASampleComesWithTheIdsThatItBeginsWith) {
  const Spec spec = SpecOf(Loss::SparseCategoricalCrossentropy, false, 3, true);
  ExamplePicker picker(room_, spec, 3);
  picker.Offer(0, 72);
  picker.Offer(1, 70);
  const std::vector<float> outputs = {5, 0, 0, 0, 0, 5, 0, 0, 5};
  picker.Rows(group_, 0, 3, outputs.data(), 3);
  const std::vector<Example> kept = Kept();
  ASSERT_EQ(kept.size(), 4u + 2u);
  EXPECT_EQ(kept[1].input, 11);
  EXPECT_EQ(kept[2].input, 12);
  EXPECT_EQ(kept[3].sample, 1);
  EXPECT_EQ(kept[3].target, 0);
  EXPECT_EQ(kept[3].likely[0], 0);
  EXPECT_EQ(kept[5].sample, 0);
  EXPECT_EQ(kept[5].target, 2);
  EXPECT_EQ(kept[5].likely[0], 2);
}

TEST_F(ExamplesTest, OfSeveralLabelsThoseAreKeptThatAreWantedOrGiven) {
  const Spec spec = SpecOf(Loss::BinaryCrossentropy, false, 4, false);
  const std::vector<float> targets = {1, 0, 0, 1};
  group_.rows = 1;
  group_.targets[0].values = targets.data();
  ExamplePicker picker(room_, spec, 1);
  picker.Offer(0, 70);
  const std::vector<float> outputs = {2, 2, -2, -2};
  picker.Rows(group_, 0, 1, outputs.data(), 4);
  const std::vector<Example> kept = Kept();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[1].step, 1);
  EXPECT_EQ(kept[1].wanted, 0.0f);
  EXPECT_NEAR(kept[1].given, 0.8808f, 1e-4f);
  EXPECT_EQ(kept[2].step, 3);
  EXPECT_EQ(kept[2].wanted, 1.0f);
  EXPECT_NEAR(kept[2].given, 0.1192f, 1e-4f);
}

TEST_F(ExamplesTest, WhatIsSpeltHasNoBlanksAndNoRepeats) {
  const Spec spec = SpecOf(Loss::Ctc, false, 3, false);
  const std::vector<int32_t> lengths = {6}, target_lengths = {2};
  const std::vector<int32_t> labels = {2, 1, 0};
  group_.rows = 1;
  group_.steps = 6;
  group_.lengths = lengths.data();
  group_.target_lengths = target_lengths.data();
  group_.longest_target = 3;
  group_.targets[0].classes = labels.data();
  ExamplePicker picker(room_, spec, 1);
  picker.Offer(0, 70);
  const std::vector<int> largest = {2, 2, 0, 2, 1, 1};
  std::vector<float> outputs(18, 0.0f);
  for (size_t i = 0; i < largest.size(); ++i) outputs[3 * i + static_cast<size_t>(largest[i])] = 1.0f;
  picker.Rows(group_, 0, 2, outputs.data(), 3);
  picker.Rows(group_, 2, 4, outputs.data() + 6, 3);
  std::vector<int> wanted, given;
  for (const Example& example : Kept()) {
    if (example.target >= 0) wanted.push_back(example.target);
    if (example.likely[0] >= 0) given.push_back(example.likely[0]);
  }
  EXPECT_EQ(wanted, (std::vector<int>{2, 1}));
  EXPECT_EQ(given, (std::vector<int>{2, 2, 1}));
}

TEST_F(ExamplesTest, ValuesOfOneTargetAreKeptInTheirOrder) {
  const Spec spec = SpecOf(Loss::MeanSquaredError, false, 2, false);
  ExamplePicker picker(room_, spec, 3);
  picker.Offer(0, 71);
  const std::vector<float> outputs = {1, 2, 0, 3, 4, 0, 5, 6, 0};
  picker.Rows(group_, 0, 3, outputs.data(), 3);
  const std::vector<Example> kept = Kept();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].wanted, 2.5f);
  EXPECT_EQ(kept[0].given, 3.0f);
  EXPECT_EQ(kept[1].step, 1);
  EXPECT_EQ(kept[1].wanted, 3.5f);
  EXPECT_EQ(kept[1].given, 4.0f);
}

TEST_F(ExamplesTest, SamplesAreSpreadOverTheScoreAndTheRoomIsNeverPassed) {
  const Spec spec = SpecOf(Loss::SparseCategoricalCrossentropy, true, 2, false);
  constexpr int64_t kSteps = 500, kSamples = 100;
  ExamplePicker picker(room_, spec, kSamples);
  const std::vector<int32_t> lengths = {kSteps};
  const std::vector<int32_t> classes(kSteps, 1);
  const std::vector<float> outputs(2 * kSteps, 0.0f);
  group_.rows = 1;
  group_.steps = kSteps;
  group_.lengths = lengths.data();
  group_.targets[0].classes = classes.data();
  std::vector<int64_t> picked;
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    picker.Offer(sample, sample);
    group_.samples = &sample;
    const size_t before = Kept().size();
    picker.Rows(group_, 0, kSteps, outputs.data(), 2);
    if (Kept().size() > before) picked.push_back(sample);
  }
  EXPECT_EQ(picked, (std::vector<int64_t>{0, 25, 50, 75}));
  EXPECT_EQ(Kept().size(), kMostExamples);
}

TEST_F(ExamplesTest, ACrfGivesTheTagsOfItsBestSequence) {
  const Spec spec = SpecOf(Loss::Crf, true, 3, true);
  ExamplePicker picker(room_, spec, 1);
  picker.Offer(0, 71);
  const std::vector<float> alpha(18, 0.0f);
  picker.Rows(group_, 0, 6, alpha.data(), 3);
  EXPECT_TRUE(Kept().empty()) << "its outputs are no scores";
  picker.Decoded(group_, 1, 1, 2);
  picker.Decoded(group_, 0, 1, 2);
  const std::vector<Example> kept = Kept();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].input, 21);
  EXPECT_EQ(kept[0].target, 1);
  EXPECT_EQ(kept[0].likely[0], 2);
}

}  // namespace
}  // namespace plimsoll
