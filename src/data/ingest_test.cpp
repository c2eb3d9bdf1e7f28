#include "data/ingest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/order.h"
#include "data/scale.h"
#include "data/text_test_files.h"
#include "data/vocabulary.h"

namespace plimsoll {
namespace {

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int Folders(const TestFolder& folder) {
  int count = 0;
  std::error_code none;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path() + "/cache", none)) ++count;
  return count;
}

std::vector<int32_t> Ids(Samples& samples, int64_t sample) {
  std::vector<int32_t> ids(static_cast<size_t>(samples.length(sample)));
  EXPECT_TRUE(samples.ReadInputs(sample, 0, samples.length(sample), ids.data()).ok());
  return ids;
}

std::vector<int32_t> Classes(Samples& samples, int64_t sample) {
  const int64_t count = samples.shape().target_per_step ? samples.length(sample) : 1;
  std::vector<int32_t> classes(static_cast<size_t>(count));
  EXPECT_TRUE(samples.ReadTargets(sample, 0, count, classes.data()).ok());
  return classes;
}

std::vector<float> Values(Samples& samples, int64_t sample) {
  std::vector<float> values(static_cast<size_t>(samples.shape().target_width));
  EXPECT_TRUE(samples.ReadTargets(sample, 0, 1, values.data()).ok());
  return values;
}

using Numbers = std::vector<int32_t>;

constexpr const char* kReviews = "text,label\ngood good film,pos\nbad film,neg\n\"good, bad\",pos\n";

TEST(Ingest, ATableBecomesIdsAndClassesWithTheirNames) {
  const TestFolder folder;
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", kReviews)}, {}, Task::Classify);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(Contents(store->folder + "/vocabulary.txt"), "\\unknown\ngood\nbad\nfilm\n,\n");
  EXPECT_EQ(Contents(store->folder + "/labels.txt"), "neg\npos\n");
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ((*samples)->count(), 3);
  EXPECT_EQ(Ids(**samples, 0), (Numbers{1, 1, 3}));
  EXPECT_EQ(Ids(**samples, 1), (Numbers{2, 3}));
  EXPECT_EQ(Ids(**samples, 2), (Numbers{1, 4, 2}));
  EXPECT_EQ(Classes(**samples, 1), (Numbers{0}));
  EXPECT_EQ((*samples)->shape().classes, 2);
  EXPECT_EQ((*samples)->shape().vocabulary, 5);
}

TEST(Ingest, TheSameRecordsGiveTheSameSamplesInEveryFormat) {
  const TestFolder folder;
  const std::string tsv = "text\tlabel\ngood good film\tpos\nbad film\tneg\ngood, bad\tpos\n";
  const std::string json =
      "{\"text\": \"good good film\", \"label\": \"pos\"}\n{\"label\": \"neg\", \"text\": \"bad film\"}\n"
      "{\"text\": [\"good\", \",\", \"bad\"], \"label\": \"pos\"}\n";
  for (const std::string& path :
       {folder.Put("a.tsv", tsv), folder.Put("a.tsv.gz", Gzipped(tsv)), folder.Put("a.jsonl", json)}) {
    Result<IngestedStore> store = Stored(folder, {path}, {}, Task::Classify);
    ASSERT_TRUE(store.ok()) << store.status().message();
    Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
    ASSERT_TRUE(samples.ok());
    EXPECT_EQ(Ids(**samples, 2), (Numbers{1, 4, 2})) << path;
    EXPECT_EQ(Classes(**samples, 2), (Numbers{1})) << path;
  }
}

TEST(Ingest, SeveralFilesAreOneDataSet) {
  const TestFolder folder;
  Result<IngestedStore> store =
      Stored(folder, {folder.Put("a.csv", kReviews), folder.Put("b.csv", "label,text\nneg,film film\n")}, {}, Task::Classify);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store->facts.samples, 4);
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  EXPECT_EQ(Ids(**samples, 3).size(), 2u);
  EXPECT_EQ(Classes(**samples, 3), (Numbers{0}));
}

TEST(Ingest, AStoreIsUsedAgainWhileSourceAndSettingsAreTheSame) {
  const TestFolder folder;
  const std::string path = folder.Put("a.csv", kReviews);
  Result<IngestedStore> first = Stored(folder, {path}, {}, Task::Classify);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->reused);
  EXPECT_TRUE(Stored(folder, {path}, {}, Task::Classify)->reused);
  EXPECT_FALSE(Stored(folder, {path}, {.lower = true}, Task::Classify)->reused);
  // A file that was only touched has the same bytes.
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
  EXPECT_TRUE(Stored(folder, {path}, {}, Task::Classify)->reused);
  std::string other = kReviews;
  other.replace(other.find("bad film"), 8, "bad sofa");
  folder.Put("a.csv", other);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(9));
  Result<IngestedStore> changed = Stored(folder, {path}, {}, Task::Classify);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(changed->reused);
  EXPECT_EQ(changed->folder, first->folder) << "the new Store takes the place of the old one";
  EXPECT_NE(Contents(changed->folder + "/vocabulary.txt").find("sofa"), std::string::npos);
}

TEST(Ingest, WhatFailsLeavesNothingBehind) {
  const TestFolder folder;
  const std::string header = "text,label\n";
  for (const std::string& text :
       {header + "a,b\nx\xFF,y\n", header + "a,\"b\n", header + "a\n", header + ",b\n", header + "a,\n"}) {
    const Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", text)}, {}, Task::Classify);
    ASSERT_FALSE(store.ok()) << text;
    EXPECT_EQ(store.status().kind(), StatusKind::Data);
    EXPECT_NE(store.status().message().find("a.csv:"), std::string::npos) << store.status().message();
    EXPECT_EQ(Folders(folder), 0) << text;
  }
  const std::string cut = Gzipped(kReviews);
  EXPECT_FALSE(Stored(folder, {folder.Put("b.csv.gz", cut.substr(0, cut.size() - 9))}, {}, Task::Classify).ok());
  EXPECT_FALSE(Stored(folder, {folder.Put("c.csv", header)}, {}, Task::Classify).ok()) << "no samples";
  EXPECT_EQ(Folders(folder), 0);
}

TEST(Ingest, SomeBadLinesArePassedOverCountedAndListedAndOneMoreIsAnError) {
  const TestFolder folder;
  const std::string path = folder.Put("a.tsv", "text\tlabel\none\tx\nno label\n\xFF\tx\ntwo\ty\n");
  Result<IngestedStore> store = Stored(folder, {path}, {.skip_bad = 2}, Task::Classify);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store->facts.samples, 2);
  EXPECT_EQ(store->facts.bad, 2);
  ASSERT_EQ(store->facts.bad_lines.size(), 2u);
  EXPECT_NE(store->facts.bad_lines[0].find("a.tsv:3:"), std::string::npos);
  EXPECT_NE(store->facts.bad_lines[1].find("a.tsv:4:1:"), std::string::npos);
  const Result<IngestedStore> one = Stored(folder, {path}, {.skip_bad = 1}, Task::Classify);
  ASSERT_FALSE(one.ok());
  EXPECT_NE(one.status().message().find("a.tsv:4:"), std::string::npos) << one.status().message();
}

TEST(Ingest, LongSamplesAreCutOnlyWhereThatWasAskedForAndThenCounted) {
  const TestFolder folder;
  const std::string path = folder.Put("a.csv", kReviews);
  EXPECT_EQ(Stored(folder, {path}, {}, Task::Classify)->facts.cut, 0);
  Result<IngestedStore> store = Stored(folder, {path}, {.max_length = 2}, Task::Classify);
  EXPECT_EQ(store->facts.cut, 2);
  EXPECT_EQ(store->facts.longest, 2);
}

TEST(Ingest, MoreDifferentWordsThanThereIsRoomForAreOverBudget) {
  const TestFolder folder;
  std::string table = "text\tlabel\n";
  for (int i = 0; i < 5000; ++i) table += fmt::format("word{}\tx\n", i);
  const std::string path = folder.Put("a.tsv", table);
  Result<TextSettings> settings = SettingsOf({}, Task::Classify, path);
  IngestRequest request{.files = {path}, .settings = *settings, .cache = folder.path() + "/cache", .room_bytes = 100'000};
  EXPECT_EQ(Ingest(request).status().kind(), StatusKind::OverBudget);
  EXPECT_EQ(Folders(folder), 0);
  request.room_bytes = 10'000'000;
  EXPECT_TRUE(Ingest(request).ok());
}

TEST(Ingest, AnotherDataSetUsesTheDictionaryAndItsNewLabelsComeBehind) {
  const TestFolder folder;
  Result<IngestedStore> train = Stored(folder, {folder.Put("a.csv", kReviews)}, {}, Task::Classify);
  const std::string path = folder.Put("b.csv", "text,label\nfilm never,meh\ngood,pos\n");
  Result<IngestedStore> valid = Stored(folder, {path}, {}, Task::Classify, train->folder);
  ASSERT_TRUE(valid.ok()) << valid.status().message();
  EXPECT_EQ(valid->facts.new_labels, 1);
  EXPECT_EQ(Contents(valid->folder + "/labels.txt"), "neg\npos\nmeh\n");
  Result<std::unique_ptr<Samples>> samples = OpenStore(valid->folder, {});
  EXPECT_EQ(Ids(**samples, 0), (Numbers{3, 0})) << "unknown is 0";
  EXPECT_EQ(Classes(**samples, 0), (Numbers{2}));
  const Result<IngestedStore> strict = Stored(folder, {path}, {}, Task::Classify, train->folder, /*new_labels=*/false);
  ASSERT_FALSE(strict.ok());
  EXPECT_NE(strict.status().message().find("b.csv:2:"), std::string::npos) << strict.status().message();
}

TEST(Ingest, SeveralLabelsBecomeAValueForEach) {
  const TestFolder folder;
  Result<IngestedStore> store =
      Stored(folder, {folder.Put("a.tsv", "text\tlabel\na\tx;z\nb\ty\nc\t\n")}, {.label_separator = ";"}, Task::Classify);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ(Values(**samples, 0), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(Values(**samples, 1), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(Values(**samples, 2), (std::vector<float>{0, 0, 0}));
}

TEST(Ingest, TagsGoWithTokensOneForOne) {
  const TestFolder folder;
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.conll", "EU B-ORG\nsays O\n\nPeter B-PER\n")}, {}, Task::Tag);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  EXPECT_EQ(Contents(store->folder + "/labels.txt"), "B-ORG\nB-PER\nO\n");
  EXPECT_EQ(Classes(**samples, 0), (Numbers{0, 2}));
  EXPECT_EQ(Classes(**samples, 1), (Numbers{1}));
  const Result<IngestedStore> uneven =
      Stored(folder, {folder.Put("b.jsonl", "{\"text\": [\"a\", \"b\"], \"label\": [\"O\"]}\n")}, {}, Task::Tag);
  ASSERT_FALSE(uneven.ok());
  EXPECT_NE(uneven.status().message().find("2 tokens and 1 labels"), std::string::npos) << uneven.status().message();
}

constexpr const char* kChords = "{\"text\": [[60, 64], [], [\"64\"]]}\n{\"text\": [[62], [60]]}\n";

// Rows of `width` of a sample's inputs.
std::vector<float> Features(Samples& samples, int64_t sample) {
  std::vector<float> values(static_cast<size_t>(samples.length(sample) * samples.shape().width));
  EXPECT_TRUE(samples.ReadInputs(sample, 0, samples.length(sample), values.data()).ok());
  return values;
}
std::vector<float> StepTargets(Samples& samples, int64_t sample) {
  std::vector<float> values(static_cast<size_t>(samples.length(sample) * samples.shape().target_width));
  EXPECT_TRUE(samples.ReadTargets(sample, 0, samples.length(sample), values.data()).ok());
  return values;
}

TEST(Ingest, ASetOfLabelsAStepForetellsTheNextOne) {
  const TestFolder folder;
  const DataOptions data{.label_separator = ","};
  for (const auto& [name, text] : {std::pair<const char*, const char*>{"a.jsonl", kChords},
                                   {"b.txt", "60,64 , 64\n62 60\n"},
                                   {"c.jsonl", "{\"text\": [\"60,64\", \"\", \"64\"]}\n{\"text\": \"62 60\"}\n"}}) {
    Result<IngestedStore> store = Stored(folder, {folder.Put(name, text)}, data, Task::Lm);
    ASSERT_TRUE(store.ok()) << name << ": " << store.status().message();
    EXPECT_EQ(Contents(store->folder + "/labels.txt"), "60\n62\n64\n");
    Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
    ASSERT_TRUE(samples.ok()) << name << ": " << samples.status().message();
    ASSERT_EQ((*samples)->length(0), 2);
    EXPECT_EQ(Features(**samples, 0), (std::vector<float>{1, 0, 1, 0, 0, 0})) << name;
    EXPECT_EQ(StepTargets(**samples, 0), (std::vector<float>{0, 0, 0, 0, 0, 1})) << name;
    EXPECT_EQ(Features(**samples, 1), (std::vector<float>{0, 1, 0})) << name;
    EXPECT_EQ(StepTargets(**samples, 1), (std::vector<float>{1, 0, 0})) << name;
  }
  Result<IngestedStore> cut =
      Stored(folder, {folder.Put("d.jsonl", kChords)}, {.label_separator = ",", .max_length = 1}, Task::Lm);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_EQ(cut->facts.cut, 1);
  EXPECT_EQ(cut->facts.row_steps, 2);
}

TEST(Ingest, ATokenMayHaveASetOfLabels) {
  const TestFolder folder;
  const DataOptions data{.label_separator = "|"};
  for (const auto& [name, text] :
       {std::pair<const char*, const char*>{"a.jsonl", "{\"text\": [\"a\", \"b\"], \"label\": [[\"x\", \"y\"], []]}\n"},
        {"b.conll", "a x|y\nb |\n"},
        {"c.tsv", "text\tlabel\na b\tx|y |\n"}}) {
    Result<IngestedStore> store = Stored(folder, {folder.Put(name, text)}, data, Task::Tag);
    ASSERT_TRUE(store.ok()) << name << ": " << store.status().message();
    Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
    ASSERT_TRUE(samples.ok()) << name << ": " << samples.status().message();
    EXPECT_EQ(StepTargets(**samples, 0), (std::vector<float>{1, 1, 0, 0})) << name;
  }
}

TEST(Ingest, ALabelOfAStepThatTrainingDoesNotHaveIsLeftOutAndTold) {
  const TestFolder folder;
  const DataOptions data{.label_separator = ","};
  Result<IngestedStore> train = Stored(folder, {folder.Put("a.jsonl", kChords)}, data, Task::Lm);
  ASSERT_TRUE(train.ok()) << train.status().message();
  const std::string other = folder.Put("b.jsonl", "{\"text\": [[60], [61, 62]]}\n");
  Result<IngestedStore> valid = Stored(folder, {other}, data, Task::Lm, train->folder);
  ASSERT_TRUE(valid.ok()) << valid.status().message();
  ASSERT_EQ(valid->facts.notes.size(), 1u);
  EXPECT_NE(valid->facts.notes[0].find("b.jsonl:1: \"61\""), std::string::npos) << valid->facts.notes[0];
  Result<std::unique_ptr<Samples>> samples = OpenStore(valid->folder, {});
  EXPECT_EQ(StepTargets(**samples, 0), (std::vector<float>{0, 1, 0}));
  EXPECT_FALSE(Stored(folder, {other}, data, Task::Lm, train->folder, /*new_labels=*/false).ok()) << "negative control";
}

TEST(Ingest, BadSetsOfLabelsAreRefusedWithTheirLine) {
  const TestFolder folder;
  struct Case {
    const char* line;
    const char* says;
  };
  for (const Case& one :
       {Case{"{\"text\": [[60]]}", "has 1 steps; wanted two or more"}, Case{"{\"text\": [[60], 61]}", "wanted '['"},
        Case{"{\"text\": [[60], [[61]]]}", "wanted a value"}, Case{"{\"text\": [[\"\"], [61]]}", "wanted a label"},
        Case{"{\"notes\": [[1], [2]]}", "has no key \"text\"; it has notes"}}) {
    const std::string path = folder.Put("a.jsonl", std::string(kChords) + one.line + "\n");
    const Status status = Stored(folder, {path}, {.label_separator = ","}, Task::Lm).status();
    EXPECT_EQ(status.exit_code(), 3) << one.line;
    EXPECT_NE(status.message().find("a.jsonl:3:"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(one.says), std::string::npos) << status.message();
  }
  EXPECT_EQ(Folders(folder), 0);
  const std::string empty = folder.Put("e.jsonl", "{\"text\": [[], []]}\n");
  EXPECT_NE(Stored(folder, {empty}, {.label_separator = ","}, Task::Lm).status().message().find("not one label"),
            std::string::npos);
  const std::string uneven = folder.Put("u.jsonl", "{\"text\": [\"a\"], \"label\": [[\"x\"], []]}\n");
  EXPECT_NE(
      Stored(folder, {uneven}, {.label_separator = ","}, Task::Tag).status().message().find("1 tokens and 2 lists of labels"),
      std::string::npos);
}

TEST(Ingest, ATextIsItsOwnTargetOneStepAhead) {
  const TestFolder folder;
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.txt", "ab\n\nba\n")}, {}, Task::Lm);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ(Contents(store->folder + "/vocabulary.txt"), "\\unknown\n\\begin\n\\end\na\nb\n");
  EXPECT_EQ((*samples)->count(), 2);
  EXPECT_EQ(Ids(**samples, 1), (Numbers{1, 4, 3}));
  EXPECT_EQ(Classes(**samples, 1), (Numbers{4, 3, 2}));
  const std::string null = folder.Put("null.jsonl", "{\"text\": \"ab\"}\n{\"text\": null}\n");
  EXPECT_NE(Stored(folder, {null}, {}, Task::Lm).status().message().find("null.jsonl:2: the text is missing"),
            std::string::npos);
}

TEST(Ingest, PiecesOfALongTextCoverAllOfItAndWithCarriedStateGoOnRowByRow) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 103; ++i) text += static_cast<char>('a' + i % 20);
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.txt", text)}, {.window = 10}, Task::Lm);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> pieces = OpenStore(store->folder, {.window = 10});
  ASSERT_TRUE(pieces.ok()) << pieces.status().message();
  EXPECT_EQ((*pieces)->count(), 11);
  EXPECT_EQ((*pieces)->length(10), 2) << "the last piece is what is left";
  int64_t steps = 0;
  for (int64_t i = 0; i < 11; ++i) steps += (*pieces)->length(i);
  EXPECT_EQ(steps, 102);
  EXPECT_EQ(Classes(**pieces, 0)[9], Ids(**pieces, 1)[0]);
  Result<std::unique_ptr<Samples>> carried = OpenStore(store->folder, {.window = 10, .carried_by = 2});
  EXPECT_EQ((*carried)->count(), 10);
  for (int64_t i = 0; i + 2 < 10; ++i) EXPECT_EQ(Classes(**carried, i)[9], Ids(**carried, i + 2)[0]) << i;
}

TEST(Ingest, NumbersAreReadAsTheyAreAndOthersAreRefused) {
  const TestFolder folder;
  Result<IngestedStore> store = Stored(folder,
                                       {folder.Put("a.jsonl",
                                                   "{\"x\": [[1, -2.5], [3e2, 0]], \"y\": [1, 2]}\n"
                                                   "{\"x\": [[7, 8]], \"y\": [3, 4]}\n")},
                                       {.label = {"y"}, .inputs = {"x"}}, Task::Regress);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  std::vector<float> x(4);
  ASSERT_TRUE((*samples)->ReadInputs(0, 0, 2, x.data()).ok());
  EXPECT_EQ(x, (std::vector<float>{1, -2.5, 300, 0}));
  EXPECT_EQ(Values(**samples, 1), (std::vector<float>{3, 4}));
  for (const char* bad : {"1e999", "nan", "", "x", "1,5", "0x1"}) {
    const Result<IngestedStore> refused = Stored(folder, {folder.Put("b.tsv", fmt::format("a\ty\n1\t2\n{}\t2\n", bad))},
                                                 {.label = {"y"}, .inputs = {"a"}}, Task::Regress);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(refused.status().message().find("b.tsv:3:"), std::string::npos) << refused.status().message();
  }
}

TEST(Ingest, WindowsOfSeriesAreScaledByTheTrainingPartAndNeverReachAcrossSeries) {
  const TestFolder folder;
  std::string table = "name,a,b\n";
  for (int i = 0; i < 20; ++i) table += fmt::format("s,{},{}\n", i, i == 3 ? "NA" : "1");
  for (int i = 0; i < 7; ++i) table += fmt::format("t,{},1\n", 100 + i);
  const DataOptions data{
      .valid_share = 0.25, .label = {"a"}, .inputs = {"a", "b"}, .series = "name", .window = 4, .horizon = 2};
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", table)}, data, Task::Forecast);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::vector<ColumnScale>> scale = ReadScale(store->folder);
  ASSERT_TRUE(scale.ok());
  ASSERT_EQ(scale->size(), 3u);
  EXPECT_NEAR((*scale)[0].mean, (14.0 * 15.0 / 2.0 + 5 * 100 + 10) / 20.0, 1e-9) << "15 rows of s and 5 of t are for training";
  EXPECT_TRUE((*scale)[1].missing);
  StoreView view{.window = 4, .horizon = 2, .part = StoreView::Part::Train, .valid_share = 0.25};
  Result<std::unique_ptr<Samples>> train = OpenStore(store->folder, view);
  ASSERT_TRUE(train.ok()) << train.status().message();
  EXPECT_EQ((*train)->count(), 10) << "15 - 4 - 2 + 1 of s, none of t";
  EXPECT_EQ((*train)->shape().width, 3) << "a, b, and whether b is known";
  std::vector<float> x(12);
  ASSERT_TRUE((*train)->ReadInputs(1, 0, 4, x.data()).ok());
  const auto back = [&](float value) { return std::lround(value * (*scale)[0].deviation + (*scale)[0].mean); };
  EXPECT_EQ(back(x[0]), 1);
  EXPECT_EQ(back(x[9]), 4);
  EXPECT_EQ(x[2], 1.0f);
  EXPECT_EQ(x[8], 0.0f) << "b of row 3 is missing";
  EXPECT_EQ(x[7], 0.0f);
  EXPECT_EQ(back(Values(**train, 1)[0]), 5);
  EXPECT_EQ(back(Values(**train, 1)[1]), 6);
  view.part = StoreView::Part::Valid;
  Result<std::unique_ptr<Samples>> valid = OpenStore(store->folder, view);
  ASSERT_TRUE(valid.ok());
  EXPECT_EQ((*valid)->count(), 4 + 1) << "targets from row 15 on, and from row 5 on";
  EXPECT_EQ(back(Values(**valid, 0)[0]), 15);
  EXPECT_EQ(back(Values(**valid, 4)[1]), 106);
}

TEST(Ingest, NoWindowHasAMissingTarget) {
  const TestFolder folder;
  std::string table = "a\n";
  for (int i = 0; i < 30; ++i) table += i == 10 ? "NA\n" : fmt::format("{}\n", i);
  const DataOptions data{.label = {"a"}, .window = 3};
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", table)}, data, Task::Forecast);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {.window = 3});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ((*samples)->count(), 30 - 3 - 1);
}

// Six days, of which the last two are for validation. "east" is there alone.
constexpr const char* kShops =
    "day,shop,v\n2026-11-16,north,1\n2026-11-17,south,2\n2026-11-18,north,3\n2026-11-19,,4\n2026-11-20,east,5\n"
    "2026-11-21,south,6\n";

std::vector<float> Inputs(Samples& samples, int64_t sample) {
  std::vector<float> x(static_cast<size_t>(samples.length(sample) * samples.shape().width));
  EXPECT_TRUE(samples.ReadInputs(sample, 0, samples.length(sample), x.data()).ok());
  return x;
}

TEST(Ingest, CategoriesAndDatesOfASeriesAreFeaturesLearntFromTheTrainingPart) {
  const TestFolder folder;
  const DataOptions data{
      .valid_share = 2.0 / 6.0, .label = {"v"}, .categories = {"shop"}, .dates = {"day"}, .window = 2, .horizon = 1};
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", kShops)}, data, Task::Forecast);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(Contents(store->folder + "/features.txt"),
            "kind\tcolumn\tvalue\ncategory\tshop\tnorth\ncategory\tshop\tsouth\ndate\tday\tday_of_week\n"
            "date\tday\tday_of_year\n")
      << "no time of day moves, and east is seen in validation alone";
  EXPECT_EQ(store->facts.unseen, 1);
  ASSERT_EQ(store->facts.notes.size(), 1u);
  EXPECT_NE(store->facts.notes[0].find("a.csv:6: 'shop' is \"east\""), std::string::npos) << store->facts.notes[0];
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {.window = 2});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  ASSERT_EQ((*samples)->shape().width, 1 + 2 + 4);
  const std::vector<float> x = Inputs(**samples, 0), late = Inputs(**samples, 3);
  EXPECT_EQ(std::vector<float>(x.begin() + 1, x.begin() + 5), (std::vector<float>{1, 0, 0, 1})) << "north, on a Monday";
  EXPECT_EQ(std::vector<float>(x.begin() + 8, x.begin() + 10), (std::vector<float>{0, 1})) << "south";
  EXPECT_NEAR(x[10], std::sin(2 * 3.14159265 / 7), 1e-6) << "a Tuesday";
  EXPECT_NEAR(x[6], std::cos(2 * 3.14159265 * 319 / 365), 1e-6) << "319 days before it in the year";
  EXPECT_EQ(std::vector<float>(late.begin() + 1, late.begin() + 3), (std::vector<float>{0, 0})) << "missing";
  EXPECT_EQ(std::vector<float>(late.begin() + 8, late.begin() + 10), (std::vector<float>{0, 0})) << "unknown";
  Result<std::vector<ColumnScale>> scale = ReadScale(store->folder);
  ASSERT_TRUE(scale.ok());
  ASSERT_EQ(scale->size(), 2u);
  EXPECT_DOUBLE_EQ((*scale)[0].mean, 2.5);
  EXPECT_DOUBLE_EQ((*scale)[1].mean, 2.5) << "targets stand behind the categories and dates in a row";
  EXPECT_NEAR(Values(**samples, 0)[0], 0.5 / (*scale)[1].deviation, 1e-6);
}

TEST(Ingest, CategoriesAndDatesOfARowAreFeaturesOfEachOfItsSteps) {
  const TestFolder folder;
  const std::string path = folder.Put("a.jsonl",
                                      "{\"x\": [1, 2], \"c\": 10, \"t\": \"2026-11-17T06:00\", \"label\": \"a\"}\n"
                                      "{\"x\": [3], \"c\": 9, \"t\": \"2026-11-17 18:00\", \"label\": \"b\"}\n");
  const DataOptions data{.inputs = {"x"}, .categories = {"c"}, .dates = {"t"}};
  Result<IngestedStore> store = Stored(folder, {path}, data, Task::Classify);
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  const std::vector<float> first = Inputs(**samples, 0), second = Inputs(**samples, 1);
  ASSERT_EQ(first.size(), 10u) << "a value, two categories, place in the day";
  for (const size_t step : {0u, 1u}) {
    EXPECT_EQ(first[step * 5], static_cast<float>(step + 1));
    EXPECT_EQ(first[step * 5 + 1], 0.0f) << "9 comes before 10";
    EXPECT_EQ(first[step * 5 + 2], 1.0f);
    EXPECT_NEAR(first[step * 5 + 3], 1.0f, 1e-6);
  }
  EXPECT_EQ(std::vector<float>(second.begin(), second.begin() + 3), (std::vector<float>{3, 1, 0}));
  EXPECT_NEAR(second[3], -1.0f, 1e-6);
  const DataOptions alone{.categories = {"c"}};
  Result<IngestedStore> no_values = Stored(folder, {path}, alone, Task::Classify);
  ASSERT_TRUE(no_values.ok()) << no_values.status().message();
  Result<std::unique_ptr<Samples>> single = OpenStore(no_values->folder, {});
  ASSERT_TRUE(single.ok()) << single.status().message();
  EXPECT_EQ(Inputs(**single, 0), (std::vector<float>{0, 1})) << "one step";
}

TEST(Ingest, AnotherFileHasTheCategoriesOfTheDictionaryAlone) {
  const TestFolder folder;
  const DataOptions data{.label = {"y"}, .inputs = {"a"}, .categories = {"c"}};
  Result<IngestedStore> train = Stored(folder, {folder.Put("a.csv", "a,c,y\n1,p,1\n2,q,2\n")}, data, Task::Regress);
  ASSERT_TRUE(train.ok()) << train.status().message();
  Result<IngestedStore> valid =
      Stored(folder, {folder.Put("b.csv", "a,c,y\n1,r,1\n2,q,2\n3,NA,3\n")}, data, Task::Regress, train->folder);
  ASSERT_TRUE(valid.ok()) << valid.status().message();
  EXPECT_EQ(valid->facts.unseen, 1) << "a missing value is none that training lacks";
  Result<std::unique_ptr<Samples>> samples = OpenStore(valid->folder, {});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  EXPECT_EQ(Inputs(**samples, 0), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(Inputs(**samples, 1), (std::vector<float>{2, 0, 1}));
  EXPECT_EQ(Inputs(**samples, 2), (std::vector<float>{3, 0, 0}));
  const DataOptions other{.label = {"y"}, .inputs = {"a"}, .categories = {"a"}};
  EXPECT_FALSE(Stored(folder, {folder.path() + "/b.csv"}, other, Task::Regress, train->folder).ok()) << "of other columns";
}

TEST(Ingest, AValueThatOnlySamplesKeptForValidationHaveIsAllZeros) {
  const TestFolder folder;
  std::string table = "c,y\n";
  for (int i = 0; i < 40; ++i) table += fmt::format("c{},1\n", i);
  const std::string path = folder.Put("a.csv", table);
  Result<TextSettings> settings = SettingsOf({.valid_share = 0.5, .label = {"y"}, .categories = {"c"}}, Task::Regress, path);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  settings->split_seed = 7;
  Result<IngestedStore> store = Ingest({.files = {path}, .settings = *settings, .cache = folder.path() + "/cache"});
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  ASSERT_TRUE(samples.ok()) << samples.status().message();
  int64_t kept = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const std::vector<float> x = Inputs(**samples, i);
    const bool valid = InValidation(i, 0.5, 7);
    kept += valid;
    EXPECT_EQ(std::count(x.begin(), x.end(), 1.0f), valid ? 0 : 1) << i;
  }
  EXPECT_EQ(store->facts.unseen, kept);
  EXPECT_EQ((*samples)->shape().width, 40 - kept);
}

TEST(Ingest, BadDatesAndTooManyCategoriesAreRefusedWithTheirLine) {
  const TestFolder folder;
  const DataOptions data{.label = {"v"}, .dates = {"day"}, .window = 1};
  for (const char* bad : {"2026-02-29", "", "17.11.2026", "NA"}) {
    const Result<IngestedStore> store = Stored(
        folder, {folder.Put("a.csv", fmt::format("day,v\n2026-11-16,1\n{},2\n2026-11-18,3\n", bad))}, data, Task::Forecast);
    ASSERT_FALSE(store.ok()) << bad;
    EXPECT_NE(store.status().message().find("a.csv:3: 'day' is"), std::string::npos) << store.status().message();
  }
  std::string many = "c,v\n";
  for (int i = 0; i < 5000; ++i) many += fmt::format("c{},1\n", i);
  const Result<IngestedStore> store =
      Stored(folder, {folder.Put("b.csv", many)}, {.label = {"v"}, .categories = {"c"}, .window = 1}, Task::Forecast);
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.status().message().find("b.csv:4098: more than 4096"), std::string::npos) << store.status().message();
}

TEST(Ingest, OtherCategoriesOrDatesAreAnotherStore) {
  const TestFolder folder;
  const std::string path = folder.Put("a.csv", kShops);
  DataOptions data{.label = {"v"}, .categories = {"shop"}, .window = 2};
  const std::string first = Stored(folder, {path}, data, Task::Forecast)->folder;
  EXPECT_TRUE(Stored(folder, {path}, data, Task::Forecast)->reused);
  data.dates = {"day"};
  const std::string second = Stored(folder, {path}, data, Task::Forecast)->folder;
  data.categories.clear();
  const std::string third = Stored(folder, {path}, data, Task::Forecast)->folder;
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
}

TEST(Ingest, ASeriesThatComesAgainIsRefused) {
  const TestFolder folder;
  const Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", "s,v\nx,1\ny,2\nx,3\n")},
                                             {.label = {"v"}, .series = "s", .window = 1}, Task::Forecast);
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.status().message().find("a.csv:4:"), std::string::npos) << store.status().message();
}

TEST(Ingest, IdsOfEveryWidthComeBackAsTheyWere) {
  const TestFolder folder;
  for (const int64_t vocabulary : {200, 60'000, 100'000}) {
    std::string text = "text\tlabel\n";
    Numbers wanted;
    for (int i = 0; i < 300; ++i) {
      wanted.push_back(static_cast<int32_t>((int64_t{i} * 7919) % vocabulary));
      text += fmt::format("{}{}", i == 0 ? "" : " ", wanted.back());
    }
    Result<IngestedStore> store = Stored(folder, {folder.Put("a.tsv", text + "\tx\n")},
                                         {.vocabulary = vocabulary, .tokens = TokenKind::Ids}, Task::Classify);
    ASSERT_TRUE(store.ok()) << store.status().message();
    Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
    EXPECT_EQ(Ids(**samples, 0), wanted);
    EXPECT_EQ((*samples)->shape().vocabulary, vocabulary);
  }
}

TEST(Store, FilesThatDoNotFitEachOtherAreRefused) {
  const TestFolder folder;
  Result<IngestedStore> store = Stored(folder, {folder.Put("a.csv", kReviews)}, {}, Task::Classify);
  ASSERT_TRUE(store.ok());
  for (const char* name : {"/inputs.bin", "/targets.bin", "/lengths.bin", "/store.json"}) {
    const std::string path = store->folder + name, whole = Contents(path);
    std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() / 2);
    EXPECT_FALSE(OpenStore(store->folder, {}).ok()) << name;
    std::ofstream(path, std::ios::binary) << whole;
    EXPECT_TRUE(OpenStore(store->folder, {}).ok()) << name;
  }
  std::ofstream(store->folder + "/inputs.bin", std::ios::binary) << "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f";
  Result<std::unique_ptr<Samples>> samples = OpenStore(store->folder, {});
  ASSERT_TRUE(samples.ok());
  int32_t id = 0;
  EXPECT_EQ((*samples)->ReadInputs(0, 0, 1, &id).kind(), StatusKind::Data) << "ids beyond the vocabulary reach no table";
}

}  // namespace
}  // namespace plimsoll
