#include <gtest/gtest.h>

#include "plimsoll/text.h"

namespace plimsoll {
namespace {

TEST(Duration, NumbersWithAndWithoutUnits) {
  EXPECT_EQ(ReadDuration("90s").value(), 90.0);
  EXPECT_EQ(ReadDuration("10m").value(), 600.0);
  EXPECT_EQ(ReadDuration("1.5h").value(), 5400.0);
  EXPECT_EQ(ReadDuration("2d").value(), 172800.0);
  EXPECT_EQ(ReadDuration("7").value(), 7.0);
}

TEST(Duration, WhatIsNoneIsRefused) {
  for (const char* text : {"", "m", "-1s", "nan", "inf", "10 m", "10minutes", "1e99d"}) {
    EXPECT_FALSE(ReadDuration(text).ok()) << text;
  }
}

}  // namespace
}  // namespace plimsoll
