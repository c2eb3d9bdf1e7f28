// Counts what operator new is asked for, to hold the readers to their promises: no allocation after opening, none by a number
// that a file merely claims, and no more than a bound where there is one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/allocation_test_count.h"
#include "base/file.h"
#include "data/bpe_trainer.h"
#include "data/npy_test_files.h"
#include "data/samples.h"
#include "data/text_test_files.h"

namespace plimsoll {
namespace {

int64_t AllocationsOfReading(Samples& samples) {
  std::vector<float> out(100000);
  const int64_t before = heap.allocations;
  for (int64_t sample = 0; sample < std::min<int64_t>(samples.count(), 100); ++sample) {
    const int64_t length = samples.length(sample);
    samples.Expect(sample, 1000);
    EXPECT_TRUE(samples.ReadInputs(sample, 0, length, out.data()).ok());
    EXPECT_TRUE(samples.ReadTargets(sample, 0, samples.shape().target_per_step ? length : 1, out.data()).ok());
  }
  return heap.allocations - before;
}

TEST(Allocation, TheCounterSeesAllocations) {
  const int64_t before = heap.allocations;
  const auto number = std::make_unique<int64_t>(before);
  EXPECT_EQ(heap.allocations - *number, 1);
}

TEST(Allocation, LearningPiecesOfWordsStaysInsideItsBound) {
  constexpr int64_t kBound = 4 << 20;
  const size_t before = heap.live;
  heap.peak = before;
  TokenCounter counter(kBound / 2);
  uint64_t number = 1;
  for (int i = 0; i < 300'000; ++i) {
    number = number * 6364136223846793005u + 1442695040888963407u;
    const uint64_t word = number >> (33 + (number >> 60));  // small numbers come often
    counter.Add(fmt::format(" {:x}", word * word));
  }
  EXPECT_GT(counter.drops(), 0);
  const LearntPieces learnt = LearnPieces(std::move(counter), 5000, kBound);
  EXPECT_EQ(learnt.pieces.size(), 5000);
  EXPECT_LT(learnt.words, learnt.all_words);
  EXPECT_LE(heap.peak - before, static_cast<size_t>(kBound));
  EXPECT_GT(heap.peak - before, static_cast<size_t>(kBound / 2)) << "negative control: what is held is seen";
}

TEST(Allocation, ReadingAStoreAllocatesNothing) {
  const TestFolder folder;
  const std::string table =
      folder.Put("a.csv", "text,label,n\ngood film,pos,1\nbad,neg,2\nso so so,pos,NA\na,neg,4\nb,neg,5\n");
  const std::string text = folder.Put("a.txt", "abc\nde\nabcabc\n");
  struct Case {
    Task task;
    std::string path;
    DataOptions data;
  };
  for (const Case& one : {Case{Task::Classify, table, {}}, Case{Task::Lm, text, {}}, Case{Task::Lm, text, {.window = 4}},
                          Case{Task::Forecast, table, {.label = {"n"}, .window = 1}}}) {
    Result<IngestedStore> store = Stored(folder, {one.path}, one.data, one.task);
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto samples = OpenStore(store->folder, {.window = one.data.window});
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    EXPECT_EQ(AllocationsOfReading(**samples), 0) << TaskName(one.task);
  }
}

TEST(Allocation, ReadingSamplesAllocatesNothing) {
  const TestFolder folder;
  const std::string lengths = Npy<int64_t>({2, 3}, "(2,)");
  const std::string packed = folder.Put("a.npz", Zip({{"x.npy", Npy<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "(5, 2)"), true},
                                                      {"y.npy", Npy<float>({1, 2, 3, 4, 5}, "(5,)")},
                                                      {"lengths.npy", lengths}}));
  const std::string ids = folder.Put("b.npz", Zip({{"x.npy", Npy<int64_t>({1, 2, 3, 4, 5, 6}, "(2, 3)")},
                                                   {"y.npy", Npy<uint8_t>({1, 2}, "(2,)")},
                                                   {"lengths.npy", lengths}}));
  for (const std::string& source : {packed, std::string("generate:adding?min_steps=5"), std::string("generate:sine")}) {
    auto samples = OpenSamples({.source = source, .targets = "", .lengths = "", .task = Task::Regress});
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    EXPECT_EQ(AllocationsOfReading(**samples), 0) << source;
  }
  for (const std::string& source : {ids, std::string("generate:copy"), std::string("generate:parity?min_steps=5")}) {
    auto samples = OpenSamples({.source = source, .targets = "", .lengths = "", .task = Task::Classify});
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    EXPECT_EQ(AllocationsOfReading(**samples), 0) << source;
  }
}

TEST(Allocation, WritingThroughAFileWriterAllocatesNothing) {
  const TestFolder folder;
  auto writer = FileWriter::Create(folder.Put("w", ""));
  ASSERT_TRUE(writer.ok());
  const std::string bytes(1000, 'x');
  const int64_t before = heap.allocations;
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(writer->Write(bytes).ok());
  EXPECT_EQ(heap.allocations - before, 0);
}

TEST(Allocation, AFileThatClaimsMuchIsRefusedBeforeMuchIsAllocated) {
  const TestFolder folder;
  const std::string y = Npy<int32_t>({1}, "(1,)");
  TestMember huge{"x.npy", Npy<int32_t>({1, 2}, "(1, 2)"), true};
  huge.claimed_bytes = uint64_t{1} << 40;
  TestMember stored{"x.npy", Npy<int32_t>({1, 2}, "(1, 2)")};
  stored.claimed_bytes = stored.claimed_packed = uint64_t{1} << 62;
  const std::vector<std::string> files = {
      Zip({huge, {"y.npy", y}}, {.zip64 = true}),
      Zip({stored, {"y.npy", y}}, {.zip64 = true}),
      Zip({{"x.npy", NpyWithHeader(NpyHeader("<i4", "(1099511627776, 1024)"), "")}, {"y.npy", y}}),
      Zip({{"x.npy", NpyWithHeader(NpyHeader("<i4", "(1099511627776, 0)"), "")}, {"y.npy", y}}),
      Zip({{"x.npy", std::string("\x93NUMPY\2", 7) + '\0' + LittleEndian(0xFFFFFFFF, 4)}, {"y.npy", y}}),
      Zip({{"x.npy", Npy<int32_t>({1, 2}, "(1, 2)")}, {"y.npy", y}}, {.zip64 = true, .extra_entries = 1 << 30}),
      Zip({{"x.npy", Npy<int32_t>({1, 2}, "(2,)")}, {"y.npy", y}, {"lengths.npy", Npy<uint64_t>({UINT64_MAX}, "(1,)")}})};
  for (const std::string& bytes : files) {
    const std::string path = folder.Put("d.npz", bytes);
    heap.largest = 0;
    const Status status = OpenSamples({.source = path, .targets = "", .lengths = ""}).status();
    EXPECT_EQ(status.exit_code(), 3);
    EXPECT_NE(status.message().find("d.npz"), std::string::npos) << status.message();
    EXPECT_LE(heap.largest, size_t{1} << 20) << status.message();
  }
}

}  // namespace
}  // namespace plimsoll
