#include "data/npy_samples.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "data/npy_test_files.h"

namespace plimsoll {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The arrays of a data set as .npy bytes; `lengths` may stay empty.
struct Set {
  std::string x, y, lengths;
};

class NpySamplesTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Samples>> Open(const Set& set, Task task, bool deflated = false) const {
    std::vector<TestMember> members{{"x.npy", set.x, deflated}, {"y.npy", set.y, deflated}};
    if (!set.lengths.empty()) members.emplace_back("lengths.npy", set.lengths, deflated);
    return OpenSamples({.source = folder_.Put("d.npz", Zip(members)), .targets = "", .lengths = "", .task = task});
  }
  std::unique_ptr<Samples> Must(const Set& set, Task task, bool deflated = false) const {
    auto samples = Open(set, task, deflated);
    EXPECT_TRUE(samples.ok()) << samples.status().message();
    return samples.ok() ? std::move(*samples) : nullptr;
  }
  void ExpectRefused(const Set& set, Task task, std::string_view because) const {
    const auto samples = Open(set, task);
    ASSERT_FALSE(samples.ok()) << because;
    EXPECT_EQ(samples.status().exit_code(), 3);
    EXPECT_NE(samples.status().message().find("d.npz"), std::string::npos) << samples.status().message();
    EXPECT_NE((samples.status().message() + samples.status().hint()).find(because), std::string::npos)
        << samples.status().message() << " | " << samples.status().hint();
  }
  TestFolder folder_;
};

template <typename T>
std::vector<T> Inputs(Samples& samples, int64_t sample, int64_t first, int64_t steps) {
  std::vector<T> out(static_cast<size_t>(steps * samples.shape().width));
  EXPECT_TRUE(samples.ReadInputs(sample, first, steps, out.data()).ok());
  return out;
}
template <typename T>
std::vector<T> Targets(Samples& samples, int64_t sample, int64_t first = 0, int64_t steps = 1) {
  std::vector<T> out(static_cast<size_t>(steps * samples.shape().target_width));
  EXPECT_TRUE(samples.ReadTargets(sample, first, steps, out.data()).ok());
  return out;
}
using Ids = std::vector<int32_t>;
using Values = std::vector<float>;

const Set kIds{Npy<int64_t>({1, 2, 3, 4, 5, 9}, "(2, 3)"), Npy<int64_t>({0, 3}, "(2,)"), ""};
const Set kFeatures{Npy<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "(2, 3, 2)"), Npy<float>({0.5, 1.5}, "(2,)"), ""};

TEST_F(NpySamplesTest, PaddedIdsWithOneClassASample) {
  for (const bool deflated : {false, true}) {
    const auto samples = Must(kIds, Task::Classify, deflated);
    ASSERT_NE(samples, nullptr);
    const SampleShape& shape = samples->shape();
    EXPECT_TRUE(shape.ids && shape.target_classes && !shape.target_per_step);
    EXPECT_EQ(shape.vocabulary, 10);
    EXPECT_EQ(shape.classes, 4);
    EXPECT_EQ(samples->count(), 2);
    EXPECT_EQ(samples->length(1), 3);
    EXPECT_EQ(Inputs<int32_t>(*samples, 1, 1, 2), (Ids{5, 9}));
    EXPECT_EQ(Targets<int32_t>(*samples, 1), (Ids{3}));
  }
}

// Sequences of labels, for loss ctc; `target_lengths` may stay empty.
class LabelsTest : public NpySamplesTest {
 protected:
  Result<std::unique_ptr<Samples>> Open(const std::string& y, const std::string& target_lengths,
                                        const std::string& lengths = "") const {
    std::vector<TestMember> members{{"x.npy", Npy<float>(std::vector<float>(15, 0.5f), "(3, 5)")}, {"y.npy", y}};
    if (!target_lengths.empty()) members.emplace_back("target_lengths.npy", target_lengths);
    if (!lengths.empty()) members.emplace_back("lengths.npy", lengths);
    return OpenSamples({.source = folder_.Put("d.npz", Zip(members)), .task = Task::Classify, .unaligned = true});
  }
  void ExpectRefused(const std::string& y, const std::string& target_lengths, std::string_view because,
                     const std::string& lengths = "") const {
    const auto samples = Open(y, target_lengths, lengths);
    ASSERT_FALSE(samples.ok()) << because;
    EXPECT_EQ(samples.status().exit_code(), 3);
    EXPECT_NE((samples.status().message() + samples.status().hint()).find(because), std::string::npos)
        << samples.status().message() << " | " << samples.status().hint();
  }
};

TEST_F(LabelsTest, ArePaddedPackedOrOfOneLength) {
  const std::string lengths = Npy<int64_t>({2, 1, 4}, "(3,)");
  for (const std::string& y :
       {Npy<int32_t>({3, 1, 0, -1, 2, 0, 0, 0, 1, 2, 5, 1}, "(3, 4)"), Npy<int64_t>({3, 1, 2, 1, 2, 5, 1}, "(7,)")}) {
    auto samples = Open(y, lengths);
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    const SampleShape& shape = (*samples)->shape();
    EXPECT_TRUE(shape.target_classes && !shape.target_per_step);
    EXPECT_EQ(shape.longest_target, 4);
    EXPECT_EQ(shape.classes, 6);
    EXPECT_EQ((*samples)->length(1), 5);
    EXPECT_EQ((*samples)->target_length(1), 1);
    EXPECT_EQ(Targets<int32_t>(**samples, 0, 0, 2), (Ids{3, 1}));
    EXPECT_EQ(Targets<int32_t>(**samples, 1, 0, 1), (Ids{2}));
    EXPECT_EQ(Targets<int32_t>(**samples, 2, 1, 3), (Ids{2, 5, 1}));
  }
  auto same = Open(Npy<int32_t>({1, 2, 3, 4, 5, 6}, "(3, 2)"), "");
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ((*same)->target_length(2), 2);
  EXPECT_EQ(Targets<int32_t>(**same, 1, 0, 2), (Ids{3, 4}));
}

TEST_F(LabelsTest, WhatNoRowCanSpellIsRefusedWithItsSample) {
  const std::string lengths = Npy<int64_t>({2, 1, 4}, "(3,)");
  const auto padded = [](std::vector<int32_t> last) {
    std::vector<int32_t> y = {3, 1, 0, 0, 2, 0, 0, 0};
    y.insert(y.end(), last.begin(), last.end());
    return Npy<int32_t>(y, "(3, 4)");
  };
  EXPECT_TRUE(Open(padded({1, 1, 2, 3}), lengths).ok()) << "five steps for four labels and a blank: the control";
  ExpectRefused(padded({1, 1, 2, 2}), lengths, "sample 2: 4 labels, 2 of them equal to the one before, need 6 steps; it has 5");
  ExpectRefused(padded({1, 2, 3, 4}), lengths, "sample 2: 4 labels, 0 of them equal to the one before, need 4 steps; it has 3",
                Npy<int64_t>({5, 5, 3}, "(3,)"));
  ExpectRefused(padded({1, 0, 2, 3}), lengths, "sample 2, label 1: label is 0; wanted a whole number from 1 on");
  ExpectRefused(padded({1, 0, 2, 3}), lengths, "0 is the blank");
  ExpectRefused(padded({1, 2, -1, 3}), lengths, "sample 2, label 2: label is -1");
  ExpectRefused(padded({1, 2, 3, 4}), Npy<int64_t>({2, 0, 4}, "(3,)"), "sample 1: length is 0");
  ExpectRefused(padded({1, 2, 3, 4}), Npy<int64_t>({2, 1}, "(2,)"), "has 2 numbers; wanted 3");
  ExpectRefused(padded({1, 2, 3, 4}), Npy<int64_t>({2, 1, 5}, "(3,)"), "goes up to 5 and sums to 8");
  ExpectRefused(Npy<int32_t>({1, 2, 3}, "(3,)"), "", "target_lengths");
}

TEST_F(LabelsTest, NeedAClassifierAndLossCtc) {
  const std::string source = folder_.Put("d.npz", Zip({{"x.npy", kIds.x}, {"y.npy", kIds.y}}));
  EXPECT_EQ(OpenSamples({.source = source, .task = Task::Regress, .unaligned = true}).status().exit_code(), 2);
  EXPECT_EQ(OpenSamples({.source = source, .target_lengths = "l.npy", .task = Task::Classify}).status().exit_code(), 2);
  EXPECT_EQ(OpenSamples({.source = "generate:parity", .task = Task::Classify, .unaligned = true}).status().exit_code(), 2);
  EXPECT_TRUE(OpenSamples({.source = "generate:spell", .task = Task::Classify, .unaligned = true}).ok());
  auto files = OpenSamples({.source = folder_.Put("x.npy", Npy<float>({1, 2, 3, 4}, "(2, 2)")),
                            .targets = folder_.Put("y.npy", Npy<int8_t>({1, 2, 1}, "(3,)")),
                            .target_lengths = folder_.Put("l.npy", Npy<int8_t>({2, 1}, "(2,)")),
                            .task = Task::Classify,
                            .unaligned = true});
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ((*files)->target_length(0), 2);
}

TEST_F(NpySamplesTest, PaddedFeaturesWithOneValueASample) {
  const auto samples = Must(kFeatures, Task::Regress);
  ASSERT_NE(samples, nullptr);
  EXPECT_FALSE(samples->shape().ids);
  EXPECT_EQ(samples->shape().width, 2);
  EXPECT_EQ(samples->shape().classes, 0);
  EXPECT_EQ(Inputs<float>(*samples, 1, 1, 2), (Values{9, 10, 11, 12}));
  EXPECT_EQ(Targets<float>(*samples, 1), (Values{1.5f}));
}

TEST_F(NpySamplesTest, TwoDimensionsOfFloatsAreOneFeature) {
  const auto samples = Must({Npy<double>({1, 2, 3, 4}, "(2, 2)"), Npy<int8_t>({1, 0}, "(2,)"), ""}, Task::Classify);
  ASSERT_NE(samples, nullptr);
  EXPECT_FALSE(samples->shape().ids);
  EXPECT_EQ(samples->shape().width, 1);
  EXPECT_EQ(Inputs<float>(*samples, 1, 0, 2), (Values{3, 4}));
}

TEST_F(NpySamplesTest, ThreeDimensionsOfWholeNumbersAreFeatures) {
  const auto samples = Must({Npy<uint8_t>({1, 2, 3, 255}, "(1, 2, 2)"), Npy<int8_t>({1}, "(1,)"), ""}, Task::Classify);
  ASSERT_NE(samples, nullptr);
  EXPECT_EQ(Inputs<float>(*samples, 0, 1, 1), (Values{3, 255}));
}

TEST_F(NpySamplesTest, PaddingBehindALengthIsNeverLookedAt) {
  const auto ids = Must({Npy<int32_t>({1, -7, -7, 2, 3, 4}, "(2, 3)"), Npy<int32_t>({0, -1, -1, 1, 0, 1}, "(2, 3)"),
                         Npy<int16_t>({1, 3}, "(2,)")},
                        Task::Classify);
  ASSERT_NE(ids, nullptr);
  EXPECT_EQ(ids->length(0), 1);
  EXPECT_EQ(ids->length(1), 3);
  EXPECT_EQ(ids->shape().vocabulary, 5);
  EXPECT_EQ(Targets<int32_t>(*ids, 1, 1, 2), (Ids{0, 1}));
  const auto floats = Must({Npy<float>({1, 2, kNaN, 4, 5, kNaN}, "(2, 3)"), Npy<float>({1, 2, kNaN, 4, 5, kNaN}, "(2, 3)"),
                            Npy<int16_t>({2, 2}, "(2,)")},
                           Task::Regress);
  ASSERT_NE(floats, nullptr);
  EXPECT_EQ(Inputs<float>(*floats, 1, 0, 2), (Values{4, 5}));
  ExpectRefused({Npy<float>({1, kNaN, 3, 4, 5, 6}, "(2, 3)"), Npy<float>({1, 2}, "(2,)"), Npy<int16_t>({2, 2}, "(2,)")},
                Task::Regress, "sample 0, step 1");
}

TEST_F(NpySamplesTest, PackedRowsOfEveryKind) {
  const std::string lengths = Npy<int64_t>({2, 1, 3}, "(3,)");
  const auto features = Must(
      {Npy<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "(6, 2)"), Npy<float>({1, 2, 3}, "(3,)"), lengths}, Task::Regress);
  ASSERT_NE(features, nullptr);
  EXPECT_EQ(features->count(), 3);
  EXPECT_EQ(features->shape().width, 2);
  EXPECT_EQ(Inputs<float>(*features, 2, 1, 2), (Values{9, 10, 11, 12}));

  const auto ids =
      Must({Npy<int32_t>({1, 2, 3, 4, 5, 6}, "(6,)"), Npy<int32_t>({0, 1, 2, 3, 4, 5}, "(6,)"), lengths}, Task::Classify);
  ASSERT_NE(ids, nullptr);
  EXPECT_TRUE(ids->shape().ids && ids->shape().target_per_step);
  EXPECT_EQ(Inputs<int32_t>(*ids, 2, 0, 3), (Ids{4, 5, 6}));
  EXPECT_EQ(Targets<int32_t>(*ids, 2, 2, 1), (Ids{5}));

  const auto one = Must({Npy<float>({1, 2, 3, 4, 5, 6}, "(6,)"), Npy<float>({1, 2, 3}, "(3, 1)"), lengths}, Task::Regress);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->shape().width, 1);
  EXPECT_EQ(Inputs<float>(*one, 1, 0, 1), (Values{3}));
}

TEST_F(NpySamplesTest, PackedRowsOfManySamplesAreFoundAnywhere) {
  std::vector<int32_t> lengths, x;
  for (int32_t sample = 0; sample < 300; ++sample) {
    lengths.push_back(1 + sample * 7 % 11);
    for (int32_t step = 0; step < lengths.back(); ++step) x.push_back(sample * 100 + step);
  }
  const auto samples =
      Must({Npy(x, fmt::format("({},)", x.size())), Npy(std::vector<int32_t>(300, 1), "(300,)"), Npy(lengths, "(300,)")},
           Task::Classify);
  ASSERT_NE(samples, nullptr);
  for (int32_t sample = 299; sample >= 0; --sample) {
    const int64_t last = samples->length(sample) - 1;
    EXPECT_EQ(Inputs<int32_t>(*samples, sample, last, 1)[0], sample * 100 + static_cast<int32_t>(last));
  }
  x[1234] = -1;
  const auto damaged =
      Open({Npy(x, fmt::format("({},)", x.size())), Npy(std::vector<int32_t>(300, 1), "(300,)"), Npy(lengths, "(300,)")},
           Task::Classify);
  int64_t row = 1234, sample = 0;
  while (row >= lengths[static_cast<size_t>(sample)]) row -= lengths[static_cast<size_t>(sample++)];
  EXPECT_NE(damaged.status().message().find(fmt::format("sample {}, step {}: id is -1", sample, row)), std::string::npos)
      << damaged.status().message();
}

TEST_F(NpySamplesTest, TargetsOfOneAStep) {
  const std::string x = Npy<float>({1, 2, 3, 4, 5, 6}, "(2, 3)");
  const auto steps = Must({x, Npy<float>({1, 2, 3, 4, 5, 6}, "(2, 3)"), ""}, Task::Regress);
  ASSERT_NE(steps, nullptr);
  EXPECT_TRUE(steps->shape().target_per_step);
  EXPECT_EQ(steps->shape().target_width, 1);
  EXPECT_EQ(Targets<float>(*steps, 1, 1, 2), (Values{5, 6}));

  const auto packed = Must({x, Npy<float>({1, 2, 3, 4, 5, 6}, "(6,)"), ""}, Task::Regress);
  ASSERT_NE(packed, nullptr);
  EXPECT_TRUE(packed->shape().target_per_step);
  EXPECT_EQ(Targets<float>(*packed, 1, 0, 1), (Values{4}));

  const auto cut = Must({x, Npy<float>({1, 2, 3, 4}, "(4,)"), Npy<int32_t>({3, 1}, "(2,)")}, Task::Regress);
  ASSERT_NE(cut, nullptr) << "packed targets beside padded inputs";
  EXPECT_EQ(Targets<float>(*cut, 1, 0, 1), (Values{4}));
}

TEST_F(NpySamplesTest, TargetsOfSeveralValues) {
  const std::string x = Npy<float>({1, 2, 3, 4, 5, 6}, "(2, 3)");
  const auto sample = Must({x, Npy<float>({1, 2, 3, 4}, "(2, 2)"), ""}, Task::Regress);
  ASSERT_NE(sample, nullptr);
  EXPECT_FALSE(sample->shape().target_per_step);
  EXPECT_EQ(sample->shape().target_width, 2);
  EXPECT_EQ(Targets<float>(*sample, 1), (Values{3, 4}));

  const auto as_long_as_steps = Must({x, Npy<float>({1, 2, 3, 4, 5, 6}, "(2, 1, 3)"), ""}, Task::Regress);
  ASSERT_NE(as_long_as_steps, nullptr);
  EXPECT_FALSE(as_long_as_steps->shape().target_per_step);
  EXPECT_EQ(as_long_as_steps->shape().target_width, 3);

  const auto step = Must({x, Npy<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "(2, 3, 2)"), ""}, Task::Regress);
  ASSERT_NE(step, nullptr);
  EXPECT_TRUE(step->shape().target_per_step);
  EXPECT_EQ(Targets<float>(*step, 1, 2, 1), (Values{11, 12}));

  const auto packed = Must({x, Npy<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "(6, 2)"), ""}, Task::Regress);
  ASSERT_NE(packed, nullptr);
  EXPECT_TRUE(packed->shape().target_per_step);
  EXPECT_EQ(Targets<float>(*packed, 1, 0, 1), (Values{7, 8}));
}

TEST_F(NpySamplesTest, WhenEveryLengthIsOneFloatsArePackedRowsAndWholeNumbersArePadded) {
  const std::string ones = Npy<int32_t>({1, 1}, "(2,)");
  const auto floats = Must({Npy<float>({1, 2, 3, 4, 5, 6}, "(2, 3)"), Npy<int32_t>({0, 1}, "(2,)"), ones}, Task::Classify);
  ASSERT_NE(floats, nullptr);
  EXPECT_EQ(floats->shape().width, 3);
  EXPECT_EQ(floats->length(0), 1);
  const auto ids = Must({Npy<int32_t>({1, 2, 3, 4, 5, 6}, "(2, 3)"), Npy<int32_t>({0, 1}, "(2,)"), ones}, Task::Classify);
  ASSERT_NE(ids, nullptr);
  EXPECT_TRUE(ids->shape().ids);
  EXPECT_EQ(ids->shape().vocabulary, 5) << "ids behind the length do not count";
}

TEST_F(NpySamplesTest, ClassNumbersMayBeFloatsIfTheyAreWhole) {
  EXPECT_EQ(Must({kIds.x, Npy<float>({0, 7}, "(2, 1)"), ""}, Task::Classify)->shape().classes, 8);
  ExpectRefused({kIds.x, Npy<float>({0, 0.5}, "(2,)"), ""}, Task::Classify, "array 'y', sample 1: class number is 0.5");
}

TEST_F(NpySamplesTest, ANpyPairAndItsLengthsAreRead) {
  const SamplesRequest request{.source = folder_.Put("x.npy", Npy<int32_t>({1, 2, 3, 4}, "(2, 2)")),
                               .targets = folder_.Put("y.npy", Npy<int32_t>({1, 0}, "(2,)")),
                               .lengths = folder_.Put("l.npy", Npy<int32_t>({2, 1}, "(2,)")),
                               .task = Task::Classify};
  auto samples = OpenSamples(request);
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ((*samples)->length(1), 1);
  EXPECT_EQ((*samples)->shape().vocabulary, 4);
  SamplesRequest alone = request;
  alone.targets = "";
  EXPECT_EQ(OpenSamples(alone).status().exit_code(), 2);
  alone.targets = "/missing/y.npy";
  EXPECT_EQ(OpenSamples(alone).status().exit_code(), 3);
}

TEST_F(NpySamplesTest, ValuesThatAreNotFiniteAreRefusedWithTheirPlace) {
  ASSERT_NE(Must(kFeatures, Task::Regress), nullptr);
  ExpectRefused({Npy<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, kNaN, 12}, "(2, 3, 2)"), kFeatures.y, ""}, Task::Regress,
                "array 'x', sample 1, step 2, feature 0: feature is nan");
  ExpectRefused({Npy<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1e300}, "(2, 3, 2)"), kFeatures.y, ""}, Task::Regress,
                "sample 1, step 2, feature 1: feature is 1e+300");
  ExpectRefused({kFeatures.x, Npy<float>({1, std::numeric_limits<float>::infinity()}, "(2,)"), ""}, Task::Regress,
                "array 'y', sample 1: target is inf");
}

TEST_F(NpySamplesTest, IdsAndClassesOutOfRangeAreRefused) {
  ExpectRefused({Npy<int64_t>({1, 2, 3, 4, -5, 6}, "(2, 3)"), kIds.y, ""}, Task::Classify, "sample 1, step 1: id is -5");
  ExpectRefused({Npy<int64_t>({1, 2, 3, 4, 5, int64_t{1} << 31}, "(2, 3)"), kIds.y, ""}, Task::Classify, "id is 2147483648");
  ExpectRefused({Npy<uint64_t>({1, 2, 3, 4, 5, UINT64_MAX}, "(2, 3)"), kIds.y, ""}, Task::Classify,
                "id is 18446744073709551615");
  ExpectRefused({kIds.x, Npy<int64_t>({-1, 0}, "(2,)"), ""}, Task::Classify, "sample 0: class number is -1");
  const auto largest = Must({Npy<int64_t>({1, 2, 3, 4, 5, INT32_MAX}, "(2, 3)"), kIds.y, ""}, Task::Classify);
  ASSERT_NE(largest, nullptr);
  EXPECT_EQ(largest->shape().vocabulary, int64_t{1} << 31);
}

TEST_F(NpySamplesTest, HostileLengthsAreRefused) {
  EXPECT_NE(Must({kIds.x, kIds.y, Npy<int64_t>({3, 1}, "(2,)")}, Task::Classify), nullptr);
  ExpectRefused({kIds.x, kIds.y, Npy<int64_t>({3, 0}, "(2,)")}, Task::Classify, "array 'lengths', sample 1: length is 0");
  ExpectRefused({kIds.x, kIds.y, Npy<int64_t>({3, 4}, "(2,)")}, Task::Classify, "sample 1: length is 4");
  ExpectRefused({kIds.x, kIds.y, Npy<int64_t>({3, int64_t{1} << 31}, "(2,)")}, Task::Classify, "length is 2147483648");
  ExpectRefused({kIds.x, kIds.y, Npy<int64_t>({3, INT64_MIN}, "(2,)")}, Task::Classify, "length is -9223372036854775808");
  ExpectRefused({kIds.x, kIds.y, Npy<uint64_t>({3, uint64_t{1} << 63}, "(2,)")}, Task::Classify,
                "length is 9223372036854775808");
  ExpectRefused({kIds.x, kIds.y, Npy<uint64_t>({3, UINT64_MAX}, "(2,)")}, Task::Classify, "length is 18446744073709551615");
  ExpectRefused({kIds.x, kIds.y, Npy<float>({3, 1}, "(2,)")}, Task::Classify, "whole number");
  ExpectRefused({kIds.x, kIds.y, Npy<int32_t>({3, 1, 1}, "(3,)")}, Task::Classify, "sum to 5");
  ExpectRefused({kIds.x, kIds.y, Npy<int32_t>({}, "(0,)")}, Task::Classify, "at least one sample");
}

TEST_F(NpySamplesTest, ShapesWithoutAMeaningAreRefused) {
  const std::string none = Npy<float>({}, "(0, 3)");
  ExpectRefused({none, Npy<float>({}, "(0,)"), ""}, Task::Regress, "no samples");
  ExpectRefused({Npy<float>({}, "(2, 0)"), kFeatures.y, ""}, Task::Regress, "no steps");
  ExpectRefused({Npy<float>({}, "(2, 3, 0)"), kFeatures.y, ""}, Task::Regress, "no features");
  ExpectRefused({Npy<float>({1, 2}, "(2,)"), kFeatures.y, ""}, Task::Regress, "need an array `lengths`");
  ExpectRefused({Npy<float>({1, 2}, "(1, 1, 1, 2)"), kFeatures.y, ""}, Task::Regress, "wanted (samples, steps)");
  ExpectRefused({kIds.x, Npy<int32_t>({1, 2, 3}, "(3,)"), ""}, Task::Classify, "wanted (2,)");
  ExpectRefused({kIds.x, Npy<float>({1, 0, 0, 1}, "(2, 2)"), ""}, Task::Classify, "np.argmax");
  ExpectRefused({kIds.x, Npy<int32_t>({1}, "()"), ""}, Task::Classify, "wanted (2,)");
}

TEST_F(NpySamplesTest, AMissingArrayIsNamedBesideThoseThatExist) {
  const std::string path = folder_.Put("d.npz", Zip({{"inputs.npy", kIds.x}, {"y.npy", kIds.y}}));
  const Status status = OpenSamples({.source = path, .targets = "", .lengths = ""}).status();
  EXPECT_EQ(status.exit_code(), 3);
  EXPECT_NE(status.message().find("no array 'x'; it holds inputs, y"), std::string::npos) << status.message();
  folder_.Put("d.npz", Zip({{"x.npy", kIds.x}}));
  EXPECT_NE(OpenSamples({.source = path, .targets = "", .lengths = ""}).status().message().find("no array 'y'; it holds x"),
            std::string::npos);
  folder_.Put("d.npz", Zip({}));
  EXPECT_NE(OpenSamples({.source = path, .targets = "", .lengths = ""}).status().message().find("holds nothing"),
            std::string::npos);
}

TEST_F(NpySamplesTest, AnArchiveCutAtAnyByteIsRefusedWithItsName) {
  for (const bool deflated : {false, true}) {
    const std::string whole = Zip({{"x.npy", kIds.x, deflated}, {"y.npy", kIds.y, deflated}});
    for (size_t bytes = 0; bytes < whole.size(); bytes += 3) {
      const Status status =
          OpenSamples({.source = folder_.Put("d.npz", whole.substr(0, bytes)), .targets = "", .lengths = ""}).status();
      ASSERT_EQ(status.exit_code(), 3) << bytes;
      ASSERT_NE(status.message().find("d.npz"), std::string::npos);
    }
  }
}

TEST_F(NpySamplesTest, TargetsOfABinaryCrossentropyLieBetweenZeroAndOne) {
  SamplesRequest request{.source = folder_.Put("x.npy", kIds.x),
                         .targets = folder_.Put("y.npy", Npy<float>({0.25f, 1.5f}, "(2,)")),
                         .lengths = "",
                         .task = Task::Regress,
                         .targets_within_one = true};
  const Status status = OpenSamples(request).status();
  EXPECT_EQ(status.exit_code(), 3);
  EXPECT_NE(status.message().find("sample 1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("from 0 to 1"), std::string::npos) << status.message();
  request.targets = folder_.Put("y.npy", Npy<float>({0.0f, 1.0f}, "(2,)"));
  EXPECT_TRUE(OpenSamples(request).ok());
  request.source = "generate:adding?steps=5&samples=3";
  request.targets = "";
  EXPECT_EQ(OpenSamples(request).status().exit_code(), 2);
}

TEST_F(NpySamplesTest, OneHotRowsBecomeClassNumbers) {
  const auto open = [&](const std::string& y) {
    return OpenSamples({.source = folder_.Put("x.npy", kIds.x), .targets = folder_.Put("y.npy", y), .one_hot = true});
  };
  auto per_sample = open(Npy<float>({0, 0, 1, 0, 1, 0, 0, 0}, "(2, 4)"));
  ASSERT_TRUE(per_sample.ok()) << per_sample.status().message();
  EXPECT_FALSE((*per_sample)->shape().target_per_step);
  EXPECT_EQ((*per_sample)->shape().classes, 4) << "also those that no sample has";
  EXPECT_EQ((*per_sample)->shape().target_width, 1);
  EXPECT_EQ(Targets<int32_t>(**per_sample, 0), (Ids{2}));
  EXPECT_EQ(Targets<int32_t>(**per_sample, 1), (Ids{0}));
  auto per_step = open(Npy<int64_t>({1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0}, "(2, 3, 2)"));
  ASSERT_TRUE(per_step.ok()) << per_step.status().message();
  EXPECT_TRUE((*per_step)->shape().target_per_step);
  EXPECT_EQ(Targets<int32_t>(**per_step, 0, 0, 3), (Ids{0, 1, 1}));
  EXPECT_EQ(Targets<int32_t>(**per_step, 1, 1, 2), (Ids{0, 0}));
  for (const std::string& y :
       {Npy<float>({0, 0.5f, 0.5f, 0, 1, 0, 0, 0}, "(2, 4)"), Npy<float>({0, 0, 0, 0, 1, 0, 0, 0}, "(2, 4)"),
        Npy<float>({0, 1, 1, 0, 1, 0, 0, 0}, "(2, 4)"), Npy<float>({0, 1}, "(2,)")}) {
    EXPECT_EQ(open(y).status().exit_code(), 3);
  }
  std::vector<float> wide(6 * 6000);  // two rows a read
  for (const size_t one : {17, 6000 + 5999, 12000, 18000 + 1, 24000 + 2, 30000 + 3}) wide[one] = 1.0f;
  auto many = open(Npy(wide, "(2, 3, 6000)"));
  ASSERT_TRUE(many.ok()) << many.status().message();
  EXPECT_EQ(Targets<int32_t>(**many, 0, 0, 3), (Ids{17, 5999, 0}));
  EXPECT_EQ(Targets<int32_t>(**many, 1, 0, 3), (Ids{1, 2, 3}));
  wide[30000 + 4] = 1.0f;
  EXPECT_EQ(open(Npy(wide, "(2, 3, 6000)")).status().exit_code(), 3) << "in the last row";
}

TEST_F(NpySamplesTest, PaddingBeforeAndBehindARowEndsUpInTheLengths) {
  const auto open = [&](const std::string& x, const std::string& y) {
    return OpenSamples({.source = folder_.Put("x.npy", x), .targets = folder_.Put("y.npy", y), .padding = 0.0f});
  };
  auto ids = open(Npy<int64_t>({0, 0, 3, 4, 5, 0, 7, 8, 9, 1, 2, 3}, "(3, 4)"),
                  Npy<int64_t>({9, 9, 1, 2, 1, 9, 0, 0, 0, 1, 2, 1}, "(3, 4)"));
  EXPECT_EQ(ids.status().exit_code(), 3) << "padding in the middle of sample 1";
  ids = open(Npy<int64_t>({0, 0, 3, 4, 5, 6, 7, 0, 9, 1, 2, 3}, "(3, 4)"),
             Npy<int64_t>({9, 9, 1, 2, 1, 2, 0, 9, 0, 1, 2, 1}, "(3, 4)"));
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ((*ids)->length(0), 2);
  EXPECT_EQ((*ids)->length(1), 3);
  EXPECT_EQ((*ids)->length(2), 4);
  EXPECT_EQ(Inputs<int32_t>(**ids, 0, 0, 2), (Ids{3, 4}));
  EXPECT_EQ(Targets<int32_t>(**ids, 0, 0, 2), (Ids{1, 2}));
  EXPECT_EQ(Inputs<int32_t>(**ids, 1, 1, 2), (Ids{6, 7}));
  EXPECT_EQ((*ids)->shape().classes, 3) << "targets of padding are not looked at";
  auto features = open(Npy<float>({0, 0, 0, 1, 2, 0, 0, 0}, "(2, 2, 2)"), Npy<int64_t>({0, 1}, "(2,)"));
  ASSERT_TRUE(features.ok()) << features.status().message();
  EXPECT_EQ(Inputs<float>(**features, 0, 0, 1), (Values{0, 1}));
  EXPECT_EQ(Inputs<float>(**features, 1, 0, 1), (Values{2, 0}));
  EXPECT_EQ(open(Npy<int64_t>({0, 0, 1, 2}, "(2, 2)"), Npy<int64_t>({0, 1}, "(2,)")).status().exit_code(), 3) << "nothing left";
  std::vector<float> wide(2 * 5 * 6000);  // two steps a read
  for (const size_t step : {1, 2, 3, 5, 6, 7, 8, 9}) wide[step * 6000 + 7 * step] = static_cast<float>(step);
  auto many = open(Npy(wide, "(2, 5, 6000)"), Npy<int64_t>({0, 1}, "(2,)"));
  ASSERT_TRUE(many.ok()) << many.status().message();
  EXPECT_EQ((*many)->length(0), 3);
  EXPECT_EQ((*many)->length(1), 5);
  EXPECT_EQ(Inputs<float>(**many, 0, 2, 1)[21], 3.0f);
  wide[7 * 6000 + 49] = 0.0f;
  EXPECT_EQ(open(Npy(wide, "(2, 5, 6000)"), Npy<int64_t>({0, 1}, "(2,)")).status().exit_code(), 3) << "a hole in sample 1";
}

TEST_F(NpySamplesTest, SamplesMayHaveWeights) {
  const auto open = [&](const std::string& weights) {
    return OpenSamples(
        {.source =
             folder_.Put("d.npz", Zip({{"x.npy", kIds.x, false}, {"y.npy", kIds.y, false}, {"weights.npy", weights, false}}))});
  };
  auto samples = open(Npy<double>({0.5, 0.0}, "(2,)"));
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_TRUE((*samples)->shape().weighted);
  float weight = 1.0f;
  ASSERT_TRUE((*samples)->ReadWeight(0, &weight).ok());
  EXPECT_EQ(weight, 0.5f);
  EXPECT_EQ(open(Npy<float>({1.0f, -1.0f}, "(2,)")).status().exit_code(), 3);
  EXPECT_EQ(open(Npy<float>({1.0f, kNaN}, "(2,)")).status().exit_code(), 3);
  EXPECT_EQ(open(Npy<float>({1.0f}, "(1,)")).status().exit_code(), 3);
  EXPECT_FALSE(Must(kIds, Task::Classify)->shape().weighted) << "the control";
}

TEST_F(NpySamplesTest, AFileThatChangesAfterOpeningCannotBringForeignNumbersIn) {
  const SamplesRequest request{
      .source = folder_.Put("x.npy", kIds.x), .targets = folder_.Put("y.npy", kIds.y), .lengths = "", .task = Task::Classify};
  auto samples = OpenSamples(request);
  ASSERT_TRUE(samples.ok());
  int32_t out[3];
  EXPECT_TRUE((*samples)->ReadInputs(1, 0, 3, out).ok());
  folder_.Overwrite("x.npy", Npy<int64_t>({1, 2, 3, 4, 5, 10}, "(2, 3)"));
  const Status status = (*samples)->ReadInputs(1, 0, 3, out);
  EXPECT_EQ(status.exit_code(), 3);
  EXPECT_NE(status.message().find("sample 1, step 2: id is 10"), std::string::npos) << status.message();
  folder_.Overwrite("x.npy", "short");
  EXPECT_EQ((*samples)->ReadInputs(1, 0, 3, out).exit_code(), 3);
}

TEST_F(NpySamplesTest, ATemporaryFolderThatTakesNoBytesIsExitSeven) {
  ::setenv("TMPDIR", "/proc/missing", 1);
  EXPECT_EQ(Open(kIds, Task::Classify, /*deflated=*/true).status().exit_code(), 7);
  ::unsetenv("TMPDIR");

  // A limit on file sizes stands for a full disk: the write fails half way.
  const Set large{Npy(std::vector<int32_t>(50000, 1), "(2, 25000)"), kIds.y, ""};
  ASSERT_NE(Must(large, Task::Classify, /*deflated=*/true), nullptr);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 40000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = Open(large, Task::Classify, /*deflated=*/true).status();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.exit_code(), 7) << status.message();
  EXPECT_NE(status.hint().find("TMPDIR"), std::string::npos);
}

TEST_F(NpySamplesTest, MoreThanOneScanBufferIsLookedAt) {
  std::vector<float> x(40000, 1.0f);
  const std::string y = Npy<float>(std::vector<float>(4, 0.0f), "(4,)");
  EXPECT_NE(Must({Npy(x, "(4, 10000)"), y, ""}, Task::Regress), nullptr);
  x[39999] = kNaN;
  ExpectRefused({Npy(x, "(4, 10000)"), y, ""}, Task::Regress, "sample 3, step 9999: feature is nan");
}

TEST_F(NpySamplesTest, SeveralOutputsHaveTheirOwnTargets) {
  const std::vector<TestMember> members{
      {"x.npy", Npy<int32_t>({1, 2, 0, 3, 4, 5}, "(2, 3)")},       {"lengths.npy", Npy<int32_t>({2, 3}, "(2,)")},
      {"y_tags.npy", Npy<int32_t>({1, 6, -1, 2, 3, 0}, "(2, 3)")}, {"y_mood.npy", Npy<float>({0.5, 1.5, 2.5, 3.5}, "(2, 2)")},
      {"kinds.npy", Npy<float>({0, 1, 0, 1, 0, 0}, "(2, 3)")},     {"whole.npy", Npy<int32_t>({7, 9}, "(2,)")}};
  const std::string path = folder_.Put("d.npz", Zip(members));
  SamplesRequest request{.source = path};
  request.outputs = {{.key = "y_tags"},
                     {.key = "y_mood"},
                     {.key = "kinds", .task = Task::Classify, .one_hot = true},
                     {.key = "whole", .task = Task::Regress}};
  auto opened = OpenSamples(request);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Samples& samples = **opened;
  const SampleShape& shape = samples.shape();
  ASSERT_EQ(shape.outputs(), 4U);
  EXPECT_EQ(shape.Target(0), (TargetShape{.per_step = true, .are_classes = true, .width = 1, .classes = 7}));
  EXPECT_EQ(shape.Target(1), (TargetShape{.per_step = false, .are_classes = false, .width = 2, .classes = 0}));
  EXPECT_EQ(shape.Target(2), (TargetShape{.per_step = false, .are_classes = true, .width = 1, .classes = 3}));
  EXPECT_EQ(shape.Target(3), (TargetShape{.per_step = false, .are_classes = false, .width = 1, .classes = 0}));
  int32_t tags[3] = {}, kind = 0;
  float mood[2] = {}, whole = 0.0f;
  ASSERT_TRUE(samples.ReadTargetsOf(0, 1, 0, 3, tags).ok());
  ASSERT_TRUE(samples.ReadTargetsOf(1, 1, 0, 1, mood).ok());
  ASSERT_TRUE(samples.ReadTargetsOf(2, 0, 0, 1, &kind).ok());
  ASSERT_TRUE(samples.ReadTargetsOf(3, 1, 0, 1, &whole).ok());
  EXPECT_EQ(tags[0], 2);
  EXPECT_EQ(tags[2], 0);
  EXPECT_EQ(mood[1], 3.5f);
  EXPECT_EQ(kind, 1);
  EXPECT_EQ(whole, 9.0f);

  request.outputs.push_back({.key = "y_more"});
  const Status missing = OpenSamples(request).status();
  EXPECT_EQ(missing.exit_code(), 3);
  EXPECT_NE(missing.message().find("has no array 'y_more'; it holds x, lengths, y_tags"), std::string::npos)
      << missing.message();
  request.source = "generate:parity";
  EXPECT_EQ(OpenSamples(request).status().exit_code(), 2);
  request.source = folder_.Put("x.npy", Npy<int32_t>({1, 2}, "(1, 2)"));
  request.targets = request.source;
  EXPECT_EQ(OpenSamples(request).status().exit_code(), 2);
}

}  // namespace
}  // namespace plimsoll
