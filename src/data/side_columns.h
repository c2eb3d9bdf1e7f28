// side_columns: columns of a table that are no numbers, as features of every step: categories and dates.
//   in:    texts of categories, times of dates
//   out:   what the Store holds of a step (a category's number, sines and cosines); the features that training sees
//   never: grows while rows are stored: a value that training does not have is all zeros, and counted
// A category is one feature for each of its values, 1 where it has that value. A date is a sine and a cosine for each circle
// (calendar.h) on which its rows lie at different places. features.txt: kind, column, value of each, a line each
// (docs/formats.md).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/calendar.h"
#include "data/token_table.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr std::string_view kFeaturesFile = "features.txt";
inline constexpr int64_t kMostCategories = 4096;  // values of all columns together: each is a feature of every step

struct SideNames {
  std::vector<std::string> categories;
  std::vector<std::string> dates;
  bool empty() const { return categories.empty() && dates.empty(); }
  bool operator==(const SideNames&) const = default;
};

class SideColumns {
 public:
  // What a file says of a model or a Store.
  static Result<SideColumns> Read(const std::string& folder);
  std::string AsText() const;
  SideNames names() const;

  int64_t stored() const;  // numbers of a step in the Store; never more than features
  int64_t width() const;   // features of a step
  // Appends the numbers of a step. An empty category is a missing one. Returns the first category whose value is unknown, or
  // -1.
  int64_t Encode(std::span<const std::string_view> categories, std::span<const CalendarTime> dates,
                 std::vector<double>& out) const;
  template <typename Number>
  void Expand(const Number* stored, float* features) const {
    for (const Category& category : categories_) {
      if (category.values.size() == 0) continue;
      for (int64_t i = 0; i < category.values.size(); ++i) features[i] = 0.0f;
      // Compared as numbers: a Store that was changed writes nowhere else.
      if (*stored >= 0 && *stored < static_cast<Number>(category.values.size())) features[static_cast<int64_t>(*stored)] = 1.0f;
      ++stored;
      features += category.values.size();
    }
    for (int64_t i = 0; i < turns_; ++i) *features++ = static_cast<float>(*stored++);
  }

 private:
  friend class SideCounter;
  struct Category {
    std::string name;
    TokenTable values;
  };
  struct Date {
    std::string name;
    std::vector<CalendarPart> parts;
  };
  void CountTurns();
  std::vector<Category> categories_;
  std::vector<Date> dates_;
  int64_t turns_ = 0;  // sines and cosines of all dates
};

// What a first pass over the rows learns: the values of categories in the part that trains, the circles on which dates move.
class SideCounter {
 public:
  explicit SideCounter(const SideNames& names);
  // A row, by its place in a group: a series, or a sample by itself.
  void Add(std::span<const std::string_view> categories, std::span<const CalendarTime> dates, int64_t place);
  // Rows of the group below this place train.
  void EndGroup(int64_t border);
  int64_t values() const;  // different ones so far
  SideColumns Columns() const;

 private:
  struct Category {
    std::string name;
    TokenTable values;
    std::vector<int64_t> place;    // of each value: its first one in this group; -1: none
    std::vector<int64_t> touched;  // values that this group has
    std::vector<bool> trains;
  };
  struct Date {
    std::string name;
    CalendarTime first;
    bool seen = false;
    bool days = true;  // every row names a day, and not a month alone
    bool moves[std::size(kCalendarParts)] = {};
  };
  std::vector<Category> categories_;
  std::vector<Date> dates_;
};

}  // namespace plimsoll
