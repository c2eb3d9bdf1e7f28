#include "data/calendar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

double Turn(std::string_view text, CalendarPart part) { return TurnOf(ParseDate(text).value(), part); }

TEST(Calendar, IsoDatesAndDateTimesAreRead) {
  for (const char* text :
       {"2026-11", "2026-11-17", "2024-02-29", "2026-11-17T09:30", "2026-11-17 09:30:15", "2026-11-17T09:30Z",
        "2026-11-17T09:30:15.25+01:00", "2026-11-17T09:30:15-0130", "2026-11-17T23:59:60+01"})
    EXPECT_TRUE(ParseDate(text)) << text;
}

TEST(Calendar, WhatIsNoDateIsNone) {
  for (const char* text : {"",
                           "2026",
                           "2026-",
                           "2026-13",
                           "2026-00",
                           "26-11-17",
                           "2026-1-7",
                           "2023-02-29",
                           "1900-02-29",
                           "2026-11-31",
                           "2026-11-17T",
                           "2026-11-17T24:00",
                           "2026-11-17T09",
                           "2026-11-17T09:60",
                           "2026-11-17x",
                           "17.11.2026",
                           "2026/11/17",
                           "2026-11-17T09:30:15.",
                           "2026-11-17T09:30+24:00",
                           "2026-11-17T09:30 ",
                           "+2026-11-17",
                           "1e4-01-01"})
    EXPECT_FALSE(ParseDate(text)) << text;
}

TEST(Calendar, ADayIsItsPlaceInWeekAndYearAndATimeItsPlaceInTheDay) {
  EXPECT_DOUBLE_EQ(Turn("2026-11-17T06:00", CalendarPart::TimeOfDay), 0.25);
  EXPECT_DOUBLE_EQ(Turn("2026-11-17T06:00+05:00", CalendarPart::TimeOfDay), 0.25) << "the clock on the wall";
  EXPECT_DOUBLE_EQ(Turn("2026-11-17", CalendarPart::DayOfWeek), 1.0 / 7.0) << "a Tuesday";
  EXPECT_DOUBLE_EQ(Turn("1970-01-01", CalendarPart::DayOfWeek), 3.0 / 7.0) << "a Thursday";
  EXPECT_DOUBLE_EQ(Turn("2000-02-29", CalendarPart::DayOfWeek), 1.0 / 7.0) << "a Tuesday";
  EXPECT_DOUBLE_EQ(Turn("2026-01-01", CalendarPart::DayOfYear), 0.0);
  EXPECT_DOUBLE_EQ(Turn("2026-07-02T12:00", CalendarPart::DayOfYear), 182.0 / 365.0);
  EXPECT_DOUBLE_EQ(Turn("2024-12-31", CalendarPart::DayOfYear), 365.0 / 366.0);
  EXPECT_DOUBLE_EQ(Turn("2023-04", CalendarPart::DayOfYear), 90.0 / 365.0);
}

TEST(Calendar, EveryDayOfFourCenturiesIsTheNextOfItsWeek) {
  double before = Turn("1999-12-31", CalendarPart::DayOfWeek);
  for (int year = 2000; year < 2400; ++year) {
    for (int month = 1; month <= 12; ++month) {
      for (int day = 1; day <= 31; ++day) {
        const std::string text = fmt::format("{:04}-{:02}-{:02}", year, month, day);
        const std::optional<CalendarTime> time = ParseDate(text);
        if (!time) continue;
        const double turn = TurnOf(*time, CalendarPart::DayOfWeek);
        ASSERT_EQ(std::lround(turn * 7), (std::lround(before * 7) + 1) % 7) << text;
        before = turn;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
