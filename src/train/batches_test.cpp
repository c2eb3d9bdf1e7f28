#include "train/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace plimsoll {
namespace {

Job RaggedJob() {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=60&min_steps=4&samples=500";
  job.layers = {{.name = "", .kind = LSTMOptions{.units = 8}}, {.name = "", .kind = DenseOptions{}}};
  job.train.batch_size = 32;
  job.train.threads = 1;
  job.memory.budget = "1GB";
  return job;
}

struct Opened {
  std::unique_ptr<Setup> setup;
  std::unique_ptr<Engine> engine;
};

Opened Ready(const Job& job) {
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {});
  EXPECT_TRUE(setup.ok()) << setup.status().message();
  Result<std::unique_ptr<Engine>> engine = Open(**setup);
  EXPECT_TRUE(engine.ok());
  return {std::move(setup).value(), std::move(engine).value()};
}

std::vector<std::vector<int64_t>> Batches(const Opened& opened, int64_t epoch) {
  EpochBatches batches(*opened.setup, *opened.engine, epoch);
  std::vector<std::vector<int64_t>> all;
  while (batches.Next()) {
    std::vector<int64_t> numbers(500);
    numbers.resize(static_cast<size_t>(batches.Fill(numbers.data())));
    all.push_back(std::move(numbers));
  }
  EXPECT_EQ(static_cast<int64_t>(all.size()), batches.count());
  return all;
}

int64_t StepsOf(const Opened& opened, const std::vector<int64_t>& batch) {
  int64_t steps = 0;
  for (const int64_t sample : batch) steps += opened.setup->samples->length(sample);
  return steps;
}

// Longest over shortest of each batch, summed: how much lengths differ inside batches.
int64_t Spread(const Opened& opened, const std::vector<std::vector<int64_t>>& batches) {
  int64_t spread = 0;
  for (const std::vector<int64_t>& batch : batches) {
    int64_t shortest = 1 << 30, longest = 0;
    for (const int64_t sample : batch) {
      shortest = std::min(shortest, opened.setup->samples->length(sample));
      longest = std::max(longest, opened.setup->samples->length(sample));
    }
    spread += longest - shortest;
  }
  return spread;
}

TEST(Batches, EachSampleComesOnceAnEpochInAnotherOrderEachEpochHoweverBatchesAreCut) {
  for (const int64_t tokens : {0, 400}) {
    for (const int64_t window : {0, 100, 100'000}) {
      Job job = RaggedJob();
      job.train.batch_tokens = tokens;
      job.train.length_window = window;
      const Opened opened = Ready(job);
      const auto first = Batches(opened, 1);
      EXPECT_EQ(first, Batches(opened, 1)) << "the same epoch again";
      EXPECT_NE(first, Batches(opened, 2));
      std::set<int64_t> seen;
      size_t count = 0;
      for (const auto& batch : first) {
        seen.insert(batch.begin(), batch.end());
        count += batch.size();
        EXPECT_TRUE(tokens == 0 ? batch.size() <= 32 : StepsOf(opened, batch) <= tokens);
      }
      EXPECT_EQ(count, 500u);
      EXPECT_EQ(seen.size(), 500u);
    }
  }
}

TEST(Batches, ASampleLongerThanTheTokensOfABatchIsABatchOfItsOwn) {
  Job job = RaggedJob();
  job.train.batch_tokens = 20;
  const Opened opened = Ready(job);
  for (const auto& batch : Batches(opened, 1)) EXPECT_TRUE(batch.size() == 1 || StepsOf(opened, batch) <= 20);
}

TEST(Batches, SimilarLengthsComeTogetherInsideAWindow) {
  Job job = RaggedJob();
  const Opened mixed = Ready(job);
  job.train.length_window = 250;
  const Opened sorted = Ready(job);
  EXPECT_LT(2 * Spread(sorted, Batches(sorted, 1)), Spread(mixed, Batches(mixed, 1)));
}

TEST(Batches, LookingAtTheNextBatchChangesNoneAndSaysWhatItWillBe) {
  for (const int64_t window : {0, 100}) {
    Job job = RaggedJob();
    job.train.length_window = window;
    job.train.batch_tokens = 900;
    const Opened opened = Ready(job);
    const std::vector<std::vector<int64_t>> alone = Batches(opened, 2);
    EpochBatches batches(*opened.setup, *opened.engine, 2);
    for (size_t i = 0; i < alone.size(); ++i) {
      ASSERT_TRUE(batches.Next());
      std::vector<int64_t> numbers(500);
      numbers.resize(static_cast<size_t>(batches.Fill(numbers.data())));
      EXPECT_EQ(numbers, alone[i]);
      EpochBatches next = batches;
      ASSERT_EQ(next.Next(), i + 1 < alone.size());
      if (i + 1 == alone.size()) break;
      ASSERT_EQ(next.size(), static_cast<int64_t>(alone[i + 1].size()));
      for (int64_t k = 0; k < next.size(); ++k) EXPECT_EQ(next[k], alone[i + 1][static_cast<size_t>(k)]);
    }
  }
}

TEST(Batches, UpdatesOfARunFollowFromEpochsBatchesAndTheLimit) {
  Job job = RaggedJob();
  job.train.epochs = 3;
  const Opened opened = Ready(job);
  EXPECT_EQ(TotalUpdates(*opened.setup, *opened.engine), 3 * 16);
  opened.setup->job.train.max_steps = 8;
  EXPECT_EQ(TotalUpdates(*opened.setup, *opened.engine), 8);
}

TEST(Batches, CarriedStateNeedsBatchesThatFollowEachOtherRowByRow) {
  Job job = RaggedJob();
  job.train.shuffle = false;
  job.data.train = "generate:adding?steps=60&samples=64";
  std::get<LSTMOptions>(job.layers[0].kind).stateful = true;
  EXPECT_TRUE(plimsoll::SetUp(job, {}).ok());
  job.train.length_window = 64;
  EXPECT_EQ(plimsoll::SetUp(job, {}).status().kind(), StatusKind::Usage);
}

}  // namespace
}  // namespace plimsoll
