#include "train/text_data.h"

#include <gtest/gtest.h>

#include <set>

#include "train/batches.h"
#include "train/setup.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

struct Told final : Observer {
  void Message(std::string_view text) override { messages += std::string(text) + "\n"; }
  void Reading(const ReadingReport& report) override {
    if (report.total_bytes != total) last = 0;  // another data set
    total = report.total_bytes;
    EXPECT_LE(report.bytes, report.total_bytes);
    EXPECT_GE(report.bytes, last);
    last = report.bytes;
  }
  std::string messages;
  int64_t last = 0;
  int64_t total = 0;
};

Job TextJob(const Folder& folder, const std::string& file) {
  Job job;
  job.data.train = folder / file;
  job.data.cache = folder / "cache";
  job.layers = {{.name = "", .kind = EmbeddingOptions{.output_dim = 8}},
                {.name = "", .kind = LSTMOptions{.units = 8}},
                {.name = "", .kind = DenseOptions{}}};
  job.train.threads = 1;
  job.memory.budget = "1GB";
  return job;
}

void Put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// The first ids of all samples, in the order of an epoch. Each says which line it was.
std::vector<int32_t> FirstIds(Job job, int64_t epoch, int64_t threads) {
  job.train.threads = threads;
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {});
  EXPECT_TRUE(setup.ok()) << setup.status().message();
  Result<std::unique_ptr<Engine>> engine = Open(**setup);
  EpochBatches batches(**setup, **engine, epoch);
  std::vector<int32_t> seen;
  while (batches.Next()) {
    int64_t numbers[16];
    const int64_t count = batches.Fill(numbers);
    for (int64_t i = 0; i < count; ++i) {
      int32_t ids[3];
      int32_t label = 0;
      EXPECT_TRUE((*setup)->samples->ReadInputs(numbers[i], 0, 3, ids).ok());
      EXPECT_TRUE((*setup)->samples->ReadTargets(numbers[i], 0, 1, &label).ok());
      EXPECT_EQ(label, ids[0] % 2) << "labels stay with their texts";
      seen.push_back(ids[0]);
    }
  }
  return seen;
}

TEST(TextData, EachLineComesOnceAnEpochInAnotherOrderEachEpochAndTheSameOneForASeed) {
  const Folder folder;
  std::string table = "text\tlabel\n";
  for (int i = 0; i < 700; ++i) table += fmt::format("{} {} 5\t{}\n", i, i % 9, i % 2 == 0 ? "even" : "odd");
  Put(folder / "a.tsv", table);
  Job job = TextJob(folder, "a.tsv");
  job.data.tokens = TokenKind::Ids;
  job.train.batch_size = 16;
  const std::vector<int32_t> first = FirstIds(job, 1, 1);
  EXPECT_EQ(first.size(), 700u);
  EXPECT_EQ(std::set<int32_t>(first.begin(), first.end()).size(), 700u);
  EXPECT_NE(first, FirstIds(job, 2, 1));
  EXPECT_EQ(first, FirstIds(job, 1, 3));
}

TEST(TextData, WhatWasReadIsToldAndALabelThatOnlyValidationHasIsAWarning) {
  const Folder folder;
  Put(folder / "a.tsv", "text\tlabel\ngood film\tpos\nbad film\tneg\nbad\n");
  Put(folder / "b.tsv", "text\tlabel\nfilm\tmeh\n");
  Job job = TextJob(folder, "a.tsv");
  job.data.valid_file = folder / "b.tsv";
  job.data.skip_bad = 1;
  job.data.max_length = 1;
  Told told;
  Result<TextData> data = OpenTextData(job, &told);
  ASSERT_TRUE(data.ok()) << data.status().message();
  for (const char* part : {"a.tsv: 2 samples", "2 labels", "2 samples were longer than data.max_length = 1",
                           "1 bad lines were passed over", "a.tsv:4:", "warning: 1 of the 3 labels"}) {
    EXPECT_NE(told.messages.find(part), std::string::npos) << part << "\n" << told.messages;
  }
  EXPECT_EQ(told.messages.find("read before"), std::string::npos);
  Told again;
  ASSERT_TRUE(OpenTextData(job, &again).ok());
  EXPECT_NE(again.messages.find("read before"), std::string::npos);
  EXPECT_NE(again.messages.find("a.tsv:4:"), std::string::npos) << "a second start tells of bad lines, too";
  ASSERT_TRUE(CopyDictionary(*data, folder / "cache").ok());
  EXPECT_EQ(Contents(folder / "cache/labels.txt"), "neg\npos\nmeh\n");
}

TEST(TextData, ALabelWhoseSamplesAreAllKeptForValidationIsAWarning) {
  const Folder folder;
  std::string table = "text\tlabel\n";
  for (int i = 0; i < 40; ++i) table += fmt::format("film\t{}\n", i);  // each label once
  Put(folder / "a.tsv", table);
  Job job = TextJob(folder, "a.tsv");
  job.data.valid_share = 0.5;
  Told told;
  ASSERT_TRUE(OpenTextData(job, &told).ok());
  EXPECT_NE(told.messages.find("of the 40 labels are seen only in validation"), std::string::npos) << told.messages;
  Put(folder / "b.tsv", table + table.substr(11) + "film\t0\n");
  job = TextJob(folder, "b.tsv");
  Told none;
  ASSERT_TRUE(OpenTextData(job, &none).ok());
  EXPECT_EQ(none.messages.find("warning"), std::string::npos) << none.messages;
}

TEST(TextData, StateThatGoesOnNeedsATextThatFillsItsRows) {
  const Folder folder;
  Put(folder / "a.txt", "abcdefghij");
  Job job = TextJob(folder, "a.txt");
  job.task = Task::Lm;
  job.data.window = 4;
  job.train.shuffle = false;
  std::get<LSTMOptions>(job.layers[1].kind).stateful = true;
  job.train.batch_size = 2;
  Told told;
  EXPECT_TRUE(OpenTextData(job, &told).ok());
  EXPECT_NE(told.messages.find("1 tokens at the end are left out"), std::string::npos) << told.messages;
  job.train.batch_size = 3;
  const Status short_text = OpenTextData(job, nullptr).status();
  EXPECT_EQ(short_text.kind(), StatusKind::Data);
  EXPECT_NE(short_text.message().find("too short"), std::string::npos) << short_text.message();
}

}  // namespace
}  // namespace plimsoll
