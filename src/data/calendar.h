// calendar: dates and date-times as places on circles: in the day, in the week, in the year.
//   in:    ISO 8601 text: 2026-11, 2026-11-17, 2026-11-17T09:30, 2026-11-17 09:30:15.25+01:00
//   out:   the turn of each circle, from 0 to below 1
//   never: goes to another time zone: what the clock on the wall shows is what comes again, so that an offset is checked alone
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

enum class CalendarPart { TimeOfDay, DayOfWeek, DayOfYear };
inline constexpr CalendarPart kCalendarParts[] = {CalendarPart::TimeOfDay, CalendarPart::DayOfWeek, CalendarPart::DayOfYear};
const char* CalendarPartName(CalendarPart part);

struct CalendarTime {
  int year = 1970;
  int month = 1;        // from 1 on
  int day = 0;          // from 1 on; 0: the text names a month alone
  double second = 0.0;  // of the day
};
std::optional<CalendarTime> ParseDate(std::string_view text);

// A whole day more is a seventh of a turn in the week; a week begins on Monday, a year on its first day.
double TurnOf(const CalendarTime& time, CalendarPart part);

}  // namespace plimsoll
