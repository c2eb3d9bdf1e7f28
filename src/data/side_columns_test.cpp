#include "data/side_columns.h"

#include <gtest/gtest.h>

#include "data/npy_test_files.h"

namespace plimsoll {
namespace {

using Texts = std::vector<std::string_view>;
using Times = std::vector<CalendarTime>;

TEST(SideColumns, ComeBackFromTheirFileWithOddNamesAndColumnsOfNoFeatures) {
  SideCounter counter({.categories = {"odd \"\tname", "none"}, .dates = {"day", "still"}});
  counter.Add(Texts{"a\tb\\", ""}, Times{*ParseDate("2026-11-16"), *ParseDate("2026-11-16")}, 0);
  counter.Add(Texts{" x ", ""}, Times{*ParseDate("2026-11-17"), *ParseDate("2026-11-16")}, 1);
  counter.EndGroup(2);
  const SideColumns columns = counter.Columns();
  EXPECT_EQ(columns.width(), 2 + 4);
  EXPECT_EQ(columns.stored(), 1 + 4) << "a column without values has no number";
  const TestFolder folder;
  folder.Put("features.txt", columns.AsText());
  Result<SideColumns> read = SideColumns::Read(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->names(), columns.names());
  EXPECT_EQ(read->AsText(), columns.AsText());
  std::vector<double> numbers;
  EXPECT_EQ(read->Encode(Texts{"a\tb\\", "new"}, Times{*ParseDate("2026-11-16"), {}}, numbers), 1) << "of no values at all";
  ASSERT_EQ(numbers.size(), 5u);
  std::vector<float> features(6, 9.0f);
  read->Expand(numbers.data(), features.data());
  EXPECT_EQ(features[0] + features[1], 1.0f);
}

TEST(SideColumns, AMonthHasNoDayOfTheWeek) {
  SideCounter counter({.categories = {}, .dates = {"month"}});
  for (const char* month : {"1949-01", "1949-02", "1949-03"}) counter.Add({}, Times{*ParseDate(month)}, 0);
  EXPECT_EQ(counter.Columns().AsText(), "kind\tcolumn\tvalue\ndate\tmonth\tday_of_year\n");
}

TEST(SideColumns, ValuesBehindTheBorderOfEveryGroupAreNotLearnt) {
  SideCounter counter({.categories = {"c"}, .dates = {}});
  for (const int64_t border : {2, 1}) {
    counter.Add(Texts{"a"}, {}, 0);
    counter.Add(Texts{"b"}, {}, 1);
    counter.Add(Texts{"c"}, {}, 2);
    counter.EndGroup(border);
  }
  EXPECT_EQ(counter.values(), 3);
  EXPECT_EQ(counter.Columns().width(), 2) << "c is behind both borders, b behind one alone";
}

TEST(SideColumns, AStoredNumberThatIsNoneOfTheValuesSetsNothing) {
  SideCounter counter({.categories = {"c"}, .dates = {}});
  counter.Add(Texts{"a"}, {}, 0);
  counter.EndGroup(1);
  const SideColumns columns = counter.Columns();
  for (const double number : {-1.0, 1.0, 1e300, std::nan("")}) {
    float features[2] = {5.0f, 5.0f};
    columns.Expand(&number, features);
    EXPECT_EQ(features[0], 0.0f) << number;
    EXPECT_EQ(features[1], 5.0f) << number;
  }
}

TEST(SideColumns, FilesOfAnotherFormAreRefused) {
  const TestFolder folder;
  const std::string head = "kind\tcolumn\tvalue\n";
  for (const std::string& text : {std::string(), head + "colour\ta\tb\n", head + "date\ta\thour\n", head + "category\ta\t\\q\n",
                                  head + "category\ta\tb\ncategory\ta\tb\n",
                                  head + "date\ta\tday_of_week\ndate\ta\tday_of_week\n", head + "category\ta\n"}) {
    folder.Put("features.txt", text);
    EXPECT_FALSE(SideColumns::Read(folder.path()).ok()) << text;
  }
}

}  // namespace
}  // namespace plimsoll
