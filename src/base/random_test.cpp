#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

TEST(Philox, GivesThePublishedValues) {  // known answers of the Random123 distribution
  const RandomWords zeros = Philox(0, {0, 0, 0, 0});
  EXPECT_EQ(zeros, (RandomWords{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const RandomWords ones = Philox(~uint64_t{0}, {~0u, ~0u, ~0u, ~0u});
  EXPECT_EQ(ones, (RandomWords{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

TEST(RandomSequence, NormalNumbersHaveMeanZeroAndVarianceOne) {
  RandomSequence random(3, 4);
  double sum = 0.0, squares = 0.0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = static_cast<double>(random.Normal());
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

TEST(DropoutWords, EveryArgumentChangesTheMask) {
  const RandomWords base = DropoutWords(1, 2, 3, 4, 5, 6);
  EXPECT_NE(base, DropoutWords(9, 2, 3, 4, 5, 6));
  EXPECT_NE(base, DropoutWords(1, 9, 3, 4, 5, 6));
  EXPECT_NE(base, DropoutWords(1, 2, 9, 4, 5, 6));
  EXPECT_NE(base, DropoutWords(1, 2, 3, 9, 5, 6));
  EXPECT_NE(base, DropoutWords(1, 2, 3, 4, 9, 6));
  EXPECT_NE(base, DropoutWords(1, 2, 3, 4, 5, 9));
  EXPECT_EQ(base, DropoutWords(1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace plimsoll
