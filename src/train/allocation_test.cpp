// Counts what operator new is asked for, to hold a session to its promise: no allocation in a caller's loop.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "plimsoll/session.h"
#include "train/train_test_files.h"

namespace {
std::atomic<int64_t> allocations = 0;
}  // namespace

// Not inlined, or the compiler sees free() meet memory of operator new and warns.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

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
  const int64_t before = allocations;
  while (session.NextBatch()) {
    all_well = all_well && session.Gradients().ok() && session.ReadGradient(name, values).ok() &&
               session.WriteGradient(name, values).ok() && session.Apply(0.5).ok() && session.Evaluate().ok() &&
               session.ReadWeights(name, values).ok() && session.WriteWeights(name, values).ok();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(all_well);
  EXPECT_FALSE(session.ReadWeights("no such tensor", values).ok());
  EXPECT_GT(allocations - before, 0) << "negative control: the message of a failure is seen";
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
  const int64_t before = allocations;
  while (session.NextBatch())
    all_well = all_well && session.Gradients().ok() && session.Apply().ok() && session.Evaluate().ok();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(all_well);
  EXPECT_GT(session.updates(), 3 * 160 * 7 / 64 / 2);
}

}  // namespace
}  // namespace plimsoll
