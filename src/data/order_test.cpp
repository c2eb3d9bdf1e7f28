#include "data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace plimsoll {
namespace {

std::vector<int64_t> All(const EpochOrder& order, int64_t count) {
  std::vector<int64_t> samples;
  for (int64_t place = 0; place < count; ++place) samples.push_back(order[place]);
  return samples;
}

// The judge of the tests below.
bool EachExactlyOnce(std::vector<int64_t> samples) {
  std::sort(samples.begin(), samples.end());
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

TEST(EpochOrder, TheJudgeItselfCatchesARepeatedSample) {
  EXPECT_TRUE(EachExactlyOnce({2, 0, 1}));
  EXPECT_FALSE(EachExactlyOnce({2, 0, 2}));
  EXPECT_FALSE(EachExactlyOnce({3, 0, 1}));
}

TEST(EpochOrder, EachSampleComesExactlyOnceForEverySmallCount) {
  for (int64_t count = 1; count <= 2000; ++count) {
    ASSERT_TRUE(EachExactlyOnce(All(EpochOrder(count, 7, count % 5, true), count))) << count;
  }
}

TEST(EpochOrder, EachSampleComesExactlyOnceForLargeCounts) {
  for (const int64_t count : {65535, 65536, 65537, 300007}) {
    EXPECT_TRUE(EachExactlyOnce(All(EpochOrder(count, 1, 3, true), count))) << count;
  }
}

TEST(EpochOrder, CountsBeyondFourBytesStayInsideAndDoNotRepeat) {
  for (const int64_t count : {(int64_t{1} << 32) + 1, (int64_t{1} << 40) - 3, int64_t{1} << 62}) {
    const EpochOrder order(count, 1, 0, true);
    std::set<int64_t> seen;
    for (int64_t place = count - 2000; place < count; ++place) {
      const int64_t sample = order[place];
      ASSERT_TRUE(sample >= 0 && sample < count);
      EXPECT_TRUE(seen.insert(sample).second) << count;
    }
  }
}

TEST(EpochOrder, EpochsAndSeedsDifferAndTheSameOnesAgree) {
  const auto order = All(EpochOrder(1000, 1, 0, true), 1000);
  EXPECT_EQ(order, All(EpochOrder(1000, 1, 0, true), 1000));
  EXPECT_NE(order, All(EpochOrder(1000, 1, 1, true), 1000));
  EXPECT_NE(order, All(EpochOrder(1000, 2, 0, true), 1000));
}

TEST(EpochOrder, WithoutShufflingSamplesComeAsTheyLie) {
  std::vector<int64_t> wanted(100);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(All(EpochOrder(100, 1, 4, false), 100), wanted);
}

TEST(EpochOrder, AnyPlaceMayGetAnySample) {
  // Mean of |sample - place| / count is 1/3 for a random permutation; an order that stays near its place is below.
  constexpr int64_t kCount = 5000;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    const EpochOrder order(kCount, 3, epoch, true);
    double distance = 0.0;
    for (int64_t place = 0; place < kCount; ++place) distance += std::abs(static_cast<double>(order[place] - place));
    EXPECT_NEAR(distance / kCount / kCount, 1.0 / 3.0, 0.02);
  }
  std::set<std::vector<int64_t>> orders;  // of three samples there are six
  for (int64_t epoch = 0; epoch < 200; ++epoch) orders.insert(All(EpochOrder(3, 3, epoch, true), 3));
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Split, TheTwoSidesAreTheWholeInOrder) {
  for (const int64_t count : {1, 2, 63, 64, 65, 511, 512, 513, 5000}) {
    for (const double share : {0.0, 0.001, 0.1, 0.5, 0.999}) {
      const Split split(count, share, 11);
      EXPECT_EQ(split.train_count() + split.valid_count(), count);
      int64_t train = 0, valid = 0;
      for (int64_t sample = 0; sample < count; ++sample) {
        if (InValidation(sample, share, 11)) {
          ASSERT_EQ(split.valid(valid++), sample);
        } else {
          ASSERT_EQ(split.train(train++), sample);
        }
      }
      EXPECT_EQ(valid, split.valid_count());
    }
  }
}

TEST(Split, TheShareIsKeptAndASampleStaysOnItsSideWhenDataGrow) {
  const Split small(10000, 0.1, 5), large(20000, 0.1, 5);
  EXPECT_NEAR(static_cast<double>(small.valid_count()), 1000.0, 120.0);
  for (int64_t i = 0; i < small.valid_count(); ++i) EXPECT_EQ(small.valid(i), large.valid(i));
}

TEST(Split, AnotherSeedSplitsOtherwise) {
  int64_t different = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) different += InValidation(sample, 0.5, 1) != InValidation(sample, 0.5, 2);
  EXPECT_NEAR(static_cast<double>(different), 500.0, 80.0);
}

}  // namespace
}  // namespace plimsoll
