#include "data/side_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "data/record_reader.h"
#include "data/vocabulary.h"

namespace plimsoll {
namespace {

constexpr std::string_view kCategoryKind = "category";
constexpr std::string_view kDateKind = "date";

}  // namespace

SideNames SideColumns::names() const {
  SideNames names;
  for (const Category& category : categories_) names.categories.push_back(category.name);
  for (const Date& date : dates_) names.dates.push_back(date.name);
  return names;
}

void SideColumns::CountTurns() {
  turns_ = 0;
  for (const Date& date : dates_) turns_ += 2 * static_cast<int64_t>(date.parts.size());
}

int64_t SideColumns::stored() const {
  int64_t stored = turns_;
  for (const Category& category : categories_) stored += category.values.size() > 0 ? 1 : 0;
  return stored;
}

int64_t SideColumns::width() const {
  int64_t width = turns_;
  for (const Category& category : categories_) width += category.values.size();
  return width;
}

int64_t SideColumns::Encode(std::span<const std::string_view> categories, std::span<const CalendarTime> dates,
                            std::vector<double>& out) const {
  int64_t unknown = -1;
  for (size_t i = 0; i < categories_.size(); ++i) {
    const int64_t number = categories[i].empty() ? TokenTable::kNone : categories_[i].values.Find(categories[i]);
    if (number < 0 && !categories[i].empty() && unknown < 0) unknown = static_cast<int64_t>(i);
    if (categories_[i].values.size() > 0) out.push_back(static_cast<double>(number));
  }
  for (size_t i = 0; i < dates_.size(); ++i) {
    for (const CalendarPart part : dates_[i].parts) {
      const double angle = 2.0 * std::numbers::pi * TurnOf(dates[i], part);
      out.push_back(std::sin(angle));
      out.push_back(std::cos(angle));
    }
  }
  return unknown;
}

// A column without features has a line all the same, with nothing as value: names() is complete.
std::string SideColumns::AsText() const {
  std::string text = "kind\tcolumn\tvalue\n";
  const auto line = [&](std::string_view kind, std::string_view name, std::string_view value) {
    text += fmt::format("{}\t{}\t{}\n", kind, EscapedToken(name), EscapedToken(value));
  };
  for (const Category& category : categories_) {
    if (category.values.size() == 0) line(kCategoryKind, category.name, "");
    for (int64_t i = 0; i < category.values.size(); ++i) line(kCategoryKind, category.name, category.values[i]);
  }
  for (const Date& date : dates_) {
    if (date.parts.empty()) line(kDateKind, date.name, "");
    for (const CalendarPart part : date.parts) line(kDateKind, date.name, CalendarPartName(part));
  }
  return text;
}

Result<SideColumns> SideColumns::Read(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kFeaturesFile);
  Result<std::unique_ptr<RecordReader>> reader =
      RecordReader::Open(path, {.columns = {"kind", "column", "value"}, .format = DataFormat::Tsv, .header = true});
  if (!reader.ok()) return reader.status();
  SideColumns read;
  Record record;
  std::string name, value;
  while (true) {
    const Result<bool> next = (*reader)->Next(record);
    if (!next.ok()) return next.status();
    if (!next.value()) break;
    if (!record.problem.empty()) return Status::Data(fmt::format("{}:{}", path, record.problem));
    const auto refuse = [&](std::string_view what) {
      return Status::Data(fmt::format("{}:{}: {}", path, record.line, what), "docs/formats.md has the form of such a file");
    };
    if (!UnescapeToken(record.fields[1].text, name) || !UnescapeToken(record.fields[2].text, value))
      return refuse("an escape that is none; wanted \\\\ or \\xHH");
    if (record.fields[0].text == kCategoryKind) {
      if (read.categories_.empty() || read.categories_.back().name != name) read.categories_.push_back({name, {}});
      TokenTable& values = read.categories_.back().values;
      if (!value.empty() && values.Find(value) >= 0) return refuse("stands there twice");
      if (!value.empty()) values.Add(value);
    } else if (record.fields[0].text == kDateKind) {
      if (read.dates_.empty() || read.dates_.back().name != name) read.dates_.push_back({name, {}});
      std::vector<CalendarPart>& parts = read.dates_.back().parts;
      const size_t before = parts.size();
      for (const CalendarPart part : kCalendarParts) {
        if (value != CalendarPartName(part)) continue;
        if (std::find(parts.begin(), parts.end(), part) != parts.end()) return refuse("stands there twice");
        parts.push_back(part);
      }
      if (parts.size() == before && !value.empty()) return refuse("wanted time_of_day, day_of_week or day_of_year");
    } else {
      return refuse("wanted category or date as kind");
    }
    if (read.width() > kMostCategories) return refuse("more features than a model can have");
  }
  read.CountTurns();
  return read;
}

SideCounter::SideCounter(const SideNames& names) {
  for (const std::string& name : names.categories) categories_.push_back({.name = name});
  for (const std::string& name : names.dates) dates_.push_back({.name = name});
}

void SideCounter::Add(std::span<const std::string_view> categories, std::span<const CalendarTime> dates, int64_t place) {
  for (size_t i = 0; i < categories_.size(); ++i) {
    if (categories[i].empty()) continue;
    Category& own = categories_[i];
    const int64_t number = own.values.Add(categories[i]);
    own.place.resize(static_cast<size_t>(own.values.size()), -1);
    own.trains.resize(static_cast<size_t>(own.values.size()), false);
    if (own.place[static_cast<size_t>(number)] >= 0) continue;
    own.place[static_cast<size_t>(number)] = place;
    own.touched.push_back(number);
  }
  for (size_t i = 0; i < dates_.size(); ++i) {
    Date& own = dates_[i];
    if (!own.seen) own.first = dates[i];
    own.seen = true;
    own.days = own.days && dates[i].day > 0;
    for (size_t part = 0; part < std::size(kCalendarParts); ++part)
      own.moves[part] = own.moves[part] || TurnOf(dates[i], kCalendarParts[part]) != TurnOf(own.first, kCalendarParts[part]);
  }
}

void SideCounter::EndGroup(int64_t border) {
  for (Category& own : categories_) {
    for (const int64_t number : own.touched) {
      int64_t& place = own.place[static_cast<size_t>(number)];
      if (place < border) own.trains[static_cast<size_t>(number)] = true;
      place = -1;
    }
    own.touched.clear();
  }
}

int64_t SideCounter::values() const {
  int64_t values = 0;
  for (const Category& own : categories_) values += own.values.size();
  return values;
}

SideColumns SideCounter::Columns() const {
  SideColumns columns;
  for (const Category& own : categories_) {
    TokenTable trained;
    for (int64_t i = 0; i < own.values.size(); ++i) {
      if (own.trains[static_cast<size_t>(i)]) trained.Add(own.values[i]);
    }
    columns.categories_.push_back({own.name, SortedNames(trained)});
  }
  for (const Date& own : dates_) {
    columns.dates_.push_back({own.name, {}});
    for (size_t part = 0; part < std::size(kCalendarParts); ++part) {
      // The first of a month falls on any day of the week.
      const bool known = own.days || kCalendarParts[part] != CalendarPart::DayOfWeek;
      if (own.moves[part] && known) columns.dates_.back().parts.push_back(kCalendarParts[part]);
    }
  }
  columns.CountTurns();
  return columns;
}

}  // namespace plimsoll
