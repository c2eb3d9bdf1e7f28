// Counts what operator new is asked for, to hold a session to its promise: no allocation in a caller's loop.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>

#include "base/allocation_test_count.h"
#include "plimsoll/session.h"
#include "plimsoll/trainer.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

TEST(Allocation, ALoopOfASessionAllocatesNothing) {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=40&samples=100&min_steps=2";
  job.data.valid_share = 0.2;
  job.layers = {{"", LSTMOptions{.units = 8}},
                {"", DropoutOptions{.rate = 0.2}},
                {"", LSTMOptions{.units = 9, .layer_normalization = true}},
                {"", DenseOptions{}}};
  job.train.epochs = 3;
  job.train.threads = 2;
  job.train.use_ema = true;
  job.memory.budget = "1GB";
  Result<std::unique_ptr<Session>> opened = Session::Open(job);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Session& session = **opened;
  std::vector<float> values(static_cast<size_t>(session.tensors().front().elements));
  const std::string& name = session.tensors().front().name;
  bool all_well = true;
  const int64_t before = heap.allocations;
  while (session.NextBatch()) {
    all_well = all_well && session.Gradients().ok() && session.ReadGradient(name, values).ok() &&
               session.WriteGradient(name, values).ok() && session.Apply(0.5).ok() && session.Evaluate().ok() &&
               session.ReadWeights(name, values).ok() && session.WriteWeights(name, values).ok();
  }
  EXPECT_EQ(heap.allocations - before, 0);
  EXPECT_TRUE(all_well);
  EXPECT_FALSE(session.ReadWeights("no such tensor", values).ok());
  EXPECT_GT(heap.allocations - before, 0) << "negative control: the message of a failure is seen";
}

// Notes what was allocated from the end of the first epoch to the end of the last one.
class EpochAllocations final : public Observer {
 public:
  void Epoch(const EpochReport& report) override {
    if (report.epoch == 1) first = heap.allocations;
    last = heap.allocations;
  }
  void Saved(const SaveReport&) override { ++saves; }
  int64_t first = 0, last = 0, saves = 0;
};

TEST(Allocation, ARunThatSavesAllTheTimeAllocatesNothing) {
  std::string out = testing::TempDir() + "plimsoll_XXXXXX";
  ASSERT_NE(mkdtemp(out.data()), nullptr);
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=20&samples=60&min_steps=2";
  job.data.valid_share = 0.2;
  job.layers = {{"", LSTMOptions{.units = 8}}, {"", DenseOptions{}}};
  job.train.epochs = 4;
  job.train.threads = 2;
  job.train.use_ema = true;
  job.train.patience = 100;  // the best epoch is saved, too
  job.train.save_every = "1";
  job.memory.budget = "1GB";
  EpochAllocations seen;
  const Result<RunResult> run = Train(job, {.out = out + "/run", .observer = &seen});
  std::filesystem::remove_all(out);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_GE(seen.saves, 8);
  EXPECT_EQ(seen.last - seen.first, 0);
}

TEST(Allocation, AnEpochOverTextInBatchesOfStepsAllocatesNothing) {
  const Folder folder;
  std::string table = "text\tlabel\n";
  for (int i = 0; i < 200; ++i) table += std::string(static_cast<size_t>(1 + i % 13), 'x') + (i % 2 == 0 ? "\ta\n" : "\tb\n");
  std::ofstream(folder / "a.tsv") << table;
  Job job;
  job.data.train = folder / "a.tsv";
  job.data.cache = folder / "cache";
  job.data.tokens = TokenKind::Char;
  job.data.valid_share = 0.2;
  job.layers = {{"", EmbeddingOptions{.output_dim = 4}}, {"", LSTMOptions{.units = 8}}, {"", DenseOptions{}}};
  job.train.epochs = 3;
  job.train.batch_tokens = 64;
  job.train.length_window = 50;
  job.memory.budget = "1GB";
  Result<std::unique_ptr<Session>> opened = Session::Open(job);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Session& session = **opened;
  bool all_well = true;
  const int64_t before = heap.allocations;
  while (session.NextBatch())
    all_well = all_well && session.Gradients().ok() && session.Apply().ok() && session.Evaluate().ok();
  EXPECT_EQ(heap.allocations - before, 0);
  EXPECT_TRUE(all_well);
  EXPECT_GT(session.updates(), 3 * 160 * 7 / 64 / 2);
}

}  // namespace
}  // namespace plimsoll
