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

}  // namespace
}  // namespace plimsoll
