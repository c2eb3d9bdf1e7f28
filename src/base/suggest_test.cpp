#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"steps", "samples", "min_steps", "learning_rate"};

TEST(Suggest, AMistypedNameIsAnsweredWithTheNearestOne) {
  EXPECT_EQ(DidYouMean("setps", kNames), "; did you mean 'steps'?");
  EXPECT_EQ(DidYouMean("smples", kNames), "; did you mean 'samples'?");
  EXPECT_EQ(DidYouMean("Min_Step", kNames), "; did you mean 'min_steps'?");
}

TEST(Suggest, TheBeginningOfANameIsEnough) { EXPECT_EQ(DidYouMean("learn", kNames), "; did you mean 'learning_rate'?"); }

TEST(Suggest, ANameThatIsFarFromAllGetsNoOffer) {
  EXPECT_EQ(DidYouMean("temperature", kNames), "");
  EXPECT_EQ(DidYouMean("", kNames), "");
  EXPECT_EQ(DidYouMean("xy", kNames), "");
  EXPECT_EQ(DidYouMean(std::string(1000, 'a'), kNames), "");
}

TEST(Suggest, AVeryShortNameIsNotTakenForAnyOther) {
  constexpr std::array<std::string_view, 2> kShort = {"lr", "ab"};
  EXPECT_EQ(DidYouMean("xy", kShort), "");
  EXPECT_EQ(DidYouMean("l", kShort), "; did you mean 'lr'?");
}

}  // namespace
}  // namespace plimsoll
