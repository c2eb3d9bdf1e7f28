#include "data/calendar.h"

#include <charconv>

namespace plimsoll {
namespace {

constexpr double kDaySeconds = 86400.0;
constexpr int kDaysBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

bool IsLeap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
int DaysBefore(int year, int month) { return kDaysBefore[month - 1] + (month > 2 && IsLeap(year) ? 1 : 0); }
int DaysIn(int year, int month) { return kDaysBefore[month] - kDaysBefore[month - 1] + (month == 2 && IsLeap(year) ? 1 : 0); }

// Takes `digits` digits off the text; false: they are none, or below `least` or above `most`.
bool Take(std::string_view& text, size_t digits, int least, int most, int& out) {
  if (text.size() < digits) return false;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return false;
  }
  std::from_chars(text.data(), text.data() + digits, out);
  text.remove_prefix(digits);
  return out >= least && out <= most;
}

bool TakeChar(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

// "Z", "+01", "+01:00" or "+0100"; nothing is one as well.
bool IsOffset(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return true;
  int hours = 0, minutes = 0;
  if (!TakeChar(text, '+') && !TakeChar(text, '-')) return false;
  if (!Take(text, 2, 0, 23, hours)) return false;
  if (text.empty()) return true;
  TakeChar(text, ':');
  return Take(text, 2, 0, 59, minutes) && text.empty();
}

// "09:30", "09:30:15", "09:30:15.25" with an offset behind it.
bool TakeTime(std::string_view text, double& second) {
  int hour = 0, minute = 0, whole = 0;
  if (!Take(text, 2, 0, 23, hour) || !TakeChar(text, ':') || !Take(text, 2, 0, 59, minute)) return false;
  if (TakeChar(text, ':')) {
    if (!Take(text, 2, 0, 60, whole)) return false;  // 60: a leap second
    if (TakeChar(text, '.') || TakeChar(text, ',')) {
      size_t digits = 0;
      while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
      if (digits == 0) return false;
      text.remove_prefix(digits);  // a part of a second is no place in a day
    }
  }
  second = hour * 3600.0 + minute * 60.0 + whole;
  return IsOffset(text);
}

}  // namespace

const char* CalendarPartName(CalendarPart part) {
  switch (part) {
    case CalendarPart::TimeOfDay:
      return "time_of_day";
    case CalendarPart::DayOfWeek:
      return "day_of_week";
    case CalendarPart::DayOfYear:
      return "day_of_year";
  }
  return "";
}

std::optional<CalendarTime> ParseDate(std::string_view text) {
  CalendarTime time;
  if (!Take(text, 4, 0, 9999, time.year) || !TakeChar(text, '-') || !Take(text, 2, 1, 12, time.month)) return std::nullopt;
  if (text.empty()) return time;
  if (!TakeChar(text, '-') || !Take(text, 2, 1, DaysIn(time.year, time.month), time.day)) return std::nullopt;
  if (text.empty()) return time;
  if (!TakeChar(text, 'T') && !TakeChar(text, 't') && !TakeChar(text, ' ')) return std::nullopt;
  if (!TakeTime(text, time.second)) return std::nullopt;
  return time;
}

double TurnOf(const CalendarTime& time, CalendarPart part) {
  const int day_of_year = DaysBefore(time.year, time.month) + (time.day > 0 ? time.day - 1 : 0);
  switch (part) {
    case CalendarPart::TimeOfDay:
      return time.second < kDaySeconds ? time.second / kDaySeconds : 0.0;  // a leap second is midnight
    case CalendarPart::DayOfWeek: {
      // 0001-01-01 was a Monday; year 0 is a leap year before it.
      const int before = time.year + 399;  // whole years since a Monday, 400 years having whole weeks
      const int days = 365 * before + before / 4 - before / 100 + before / 400 + day_of_year;
      return days % 7 / 7.0;
    }
    case CalendarPart::DayOfYear:
      return day_of_year / (IsLeap(time.year) ? 366.0 : 365.0);
  }
  return 0.0;
}

}  // namespace plimsoll
