#include "data/batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

// Sample i has i % 37 + 1 steps; each value tells its sample, step and place.
class NumberedSamples final : public Samples {
 public:
  NumberedSamples(int64_t count, int64_t width) : count_(count) {
    shape_.width = width;
    shape_.classes = 2;
    shape_.target_classes = true;
  }
  static float Value(int64_t sample, int64_t step, int64_t place) {
    return static_cast<float>(sample * 1000 + step) + static_cast<float>(place % 64) / 64.0f;
  }
  void FailAt(std::vector<int64_t> samples) { bad_ = std::move(samples); }
  void LetOneRead() { many_readers_ = false; }

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return count_; }
  int64_t length(int64_t sample) const override { return sample % 37 + 1; }
  bool many_readers() const override { return many_readers_; }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    EXPECT_TRUE(many_readers_ || std::this_thread::get_id() == maker_);
    if (std::find(bad_.begin(), bad_.end(), sample) != bad_.end()) return Status::Data(fmt::format("sample {}", sample));
    auto* values = static_cast<float*>(out);
    for (int64_t step = first; step < first + steps; ++step) {
      for (int64_t place = 0; place < shape_.width; ++place) *values++ = Value(sample, step, place);
    }
    return Status::Ok();
  }
  Status ReadTargets(int64_t sample, int64_t /*first*/, int64_t /*steps*/, void* out) override {
    *static_cast<int32_t*>(out) = static_cast<int32_t>(sample % 2);
    return Status::Ok();
  }
  int64_t Expect(int64_t sample, int64_t most) override {
    expected.push_back(sample);
    const int64_t asked = std::min(most, int64_t{300} * 1024);
    expected_bytes += asked;
    return asked;
  }
  std::vector<int64_t> expected;
  int64_t expected_bytes = 0;

 private:
  SampleShape shape_;
  int64_t count_;
  std::vector<int64_t> bad_;
  bool many_readers_ = true;
  std::thread::id maker_ = std::this_thread::get_id();
};

constexpr int64_t kRows = 40;

// The buffers of a batch of so many samples in one group.
struct Memory {
  explicit Memory(int64_t width, int64_t rows = kRows)
      : samples(rows), lengths(rows), inputs(rows * 37 * width), targets(rows), row(kRowBufferBytes) {
    buffers.samples = samples.data();
    buffers.lengths = lengths.data();
    buffers.groups[0].inputs = inputs.data();
    buffers.groups[0].targets[0] = targets.data();
    buffers.row = row.data();
  }
  std::vector<int64_t> samples;
  std::vector<int32_t> lengths;
  std::vector<float> inputs;
  std::vector<int32_t> targets;
  std::vector<char> row;
  BatchBuffers buffers;
};

std::vector<int64_t> Numbers() {
  std::vector<int64_t> numbers(kRows);
  for (int64_t i = 0; i < kRows; ++i) numbers[static_cast<size_t>(i)] = i * 7 % 100;
  return numbers;
}

// Values of the group that are not where the packed layout has them. row_steps: how many there are of each row's.
int64_t WrongValues(const RowGroup& group, int64_t width, bool reversed, int64_t& row_steps) {
  int64_t wrong = 0;
  row_steps = 0;
  for (int64_t step = 0; step < group.steps; ++step) {
    for (int64_t row = 0; row < group.rows && group.lengths[row] > step; ++row, ++row_steps) {
      const int64_t sample = group.samples[row], from = reversed ? group.lengths[row] - 1 - step : step;
      for (int64_t i = 0; i < width; ++i) {
        wrong += group.features[row_steps * width + i] != NumberedSamples::Value(sample, from, i);
      }
    }
  }
  return wrong;
}

// Every value of every row-step is where the packed layout has it, with any number of threads; also where the row buffer holds
// no step for each of them (20,000 bytes a step).
TEST(Batch, DealsEveryStepToItsPlaceWithAnyNumberOfThreads) {
  for (const int64_t width : {1, 3, 64, 5000}) {
    for (const int threads : {1, 2, 3, 8}) {
      for (const bool reversed : {false, true}) {
        NumberedSamples samples(100, width);
        Memory memory(width);
        ThreadPool pool(threads);
        Batch batch(&samples, memory.buffers, kRows, reversed, pool);
        batch.Start(Numbers().data(), kRows);
        const Result<RowGroup> read = batch.Read(0);
        ASSERT_TRUE(read.ok()) << read.status().message();
        int64_t row_steps = 0;
        EXPECT_EQ(WrongValues(read.value(), width, reversed, row_steps), 0)
            << width << " values a step, " << threads << " threads, reversed " << reversed;
        EXPECT_EQ(row_steps, batch.items().row_steps);
      }
    }
  }
}

TEST(Batch, NamesTheSameSampleWithAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    NumberedSamples samples(100, 2);
    samples.FailAt({7, 35, 70});  // the longest of these comes first
    Memory memory(2);
    ThreadPool pool(threads);
    Batch batch(&samples, memory.buffers, kRows, /*reversed=*/false, pool);
    batch.Start(Numbers().data(), kRows);
    const Result<RowGroup> group = batch.Read(0);
    ASSERT_FALSE(group.ok());
    EXPECT_EQ(group.status().message(), "sample 35") << threads << " threads";
  }
}

// Rows in turn, stretch by stretch: the groups that run side by side differ by at most a row, and row by row the first is the
// longer one. Sample 3 is left over.
TEST(Batch, GroupsSideBySideGetRowsInTurn) {
  NumberedSamples samples(100, 1);
  Memory memory(1), beside(1);
  memory.buffers.abreast = 2;
  memory.buffers.groups[1] = beside.buffers.groups[0];
  ThreadPool pool(2);
  Batch batch(&samples, memory.buffers, /*group_rows=*/4, /*reversed=*/false, pool);
  const std::vector<int64_t> numbers = {11, 3, 36, 35, 34, 33, 32, 31, 30};  // of 12, 4, 37, 36, ... 31 steps
  batch.Start(numbers.data(), static_cast<int64_t>(numbers.size()));
  ASSERT_EQ(batch.groups(), 3);
  const std::vector<std::vector<int64_t>> wanted = {{36, 34, 32, 30}, {35, 33, 31, 11}, {3}};
  for (int64_t number = 0; number < 3; ++number) {
    const RowGroup group = batch.Read(number).value();
    EXPECT_EQ(std::vector<int64_t>(group.samples, group.samples + group.rows), wanted[static_cast<size_t>(number)]);
    EXPECT_EQ(group.steps, group.samples[0] + 1);
    EXPECT_EQ(group.features, number == 1 ? beside.inputs.data() : memory.inputs.data());
    for (int64_t row = 0; row < group.rows; ++row) {
      EXPECT_EQ(group.lengths[row], group.samples[row] + 1);
      EXPECT_EQ(group.features[row], NumberedSamples::Value(group.samples[row], 0, 0));
    }
  }
  const int64_t two[] = {5, 6};
  batch.Start(two, 2);
  EXPECT_EQ(batch.groups(), 2);
  EXPECT_EQ(batch.Read(1)->rows, 1);
  batch.Start(two, 1);
  EXPECT_EQ(batch.groups(), 1);
}

// Two groups at once, each by its own threads where these make two teams; also where half of the row buffer holds no step
// (40,000 bytes a step), or the samples have one reader.
TEST(Batch, GroupsSideBySideAreReadTogether) {
  constexpr int64_t kCount = 12;
  const auto read_both = [](NumberedSamples& samples, int64_t width, int threads) {
    Memory memory(width, kCount), beside(width, kCount);
    memory.buffers.abreast = 2;
    memory.buffers.groups[1] = beside.buffers.groups[0];
    ThreadPool pool(threads);
    Batch batch(&samples, memory.buffers, kCount, /*reversed=*/false, pool);
    batch.Start(Numbers().data(), kCount);
    std::vector<RowGroup> groups(2);
    const Status read = batch.Read(0, groups);
    if (!read.ok()) return read.message();
    int64_t row_steps = 0, all = 0;
    for (const RowGroup& group : groups) {
      EXPECT_EQ(group.rows, kCount / 2);
      EXPECT_EQ(WrongValues(group, width, /*reversed=*/false, row_steps), 0);
      all += row_steps;
    }
    EXPECT_EQ(all, batch.items().row_steps);
    return std::string();
  };
  for (const int threads : {1, 2, 3, 4, 8}) {
    for (const int64_t width : {1, 64, 5000, 10000}) {
      NumberedSamples samples(100, width);
      EXPECT_EQ(read_both(samples, width, threads), "") << threads << " threads, " << width << " values a step";
      samples.LetOneRead();
      EXPECT_EQ(read_both(samples, width, threads), "") << threads << " threads, one reader";
    }
    NumberedSamples samples(100, 2);
    samples.FailAt({7, 35, 70});  // the longest goes to the first group, the next to the second
    EXPECT_EQ(read_both(samples, 2, threads), "sample 35") << threads << " threads";
  }
}

// A batch may be smaller than those before: its rows go on where the first rows of the whole one have ended.
TEST(Batch, RowsOfASmallerBatchGoOnWithTheirOwnState) {
  constexpr int64_t kWhole = 12, kStepOfLengths = 37;  // all samples that are so many apart have one length
  for (const int abreast : {1, 2}) {
    for (const int64_t count : {12, 11, 9, 5, 2, 1}) {
      NumberedSamples samples(2 * kWhole * kStepOfLengths, 1);
      Memory memory(1), beside(1);
      std::vector<float> carried(2 * kWhole);
      memory.buffers.abreast = abreast;
      memory.buffers.groups[1] = beside.buffers.groups[0];
      memory.buffers.carried = carried.data();
      memory.buffers.carried_width = 1;
      memory.buffers.carried_rows = kWhole;
      ThreadPool pool(1);
      Batch batch(&samples, memory.buffers, /*group_rows=*/4, /*reversed=*/false, pool);
      std::vector<int64_t> numbers(kWhole);
      for (int64_t i = 0; i < kWhole; ++i) numbers[static_cast<size_t>(i)] = i * kStepOfLengths;
      batch.Start(numbers.data(), kWhole, 1);
      for (int64_t number = 0; number < batch.groups(); ++number) {
        const RowGroup group = batch.Read(number).value();
        for (int64_t row = 0; row < group.rows; ++row) group.end[row] = static_cast<float>(group.samples[row]);
      }
      for (int64_t& number : numbers) number += kWhole * kStepOfLengths;
      batch.Start(numbers.data(), count, 2);
      int64_t rows = 0;
      for (int64_t number = 0; number < batch.groups(); ++number) {
        const RowGroup group = batch.Read(number).value();
        for (int64_t row = 0; row < group.rows; ++row, ++rows) {
          EXPECT_EQ(group.start[row], static_cast<float>(group.samples[row] - kWhole * kStepOfLengths))
              << abreast << " abreast, " << count << " rows";
        }
      }
      EXPECT_EQ(rows, count);
    }
  }
}

TEST(ReadAhead, AsksForSamplesInTheirOrderUpToItsBound) {
  NumberedSamples few(100, 1), many(100, 1);
  ReadAhead(few, 3, [](int64_t i) { return 10 * i; });
  EXPECT_EQ(few.expected, (std::vector<int64_t>{0, 10, 20}));
  ReadAhead(many, 50, [](int64_t i) { return i; });
  EXPECT_EQ(many.expected, (std::vector<int64_t>{0, 1, 2, 3})) << "300 KiB each";
  EXPECT_EQ(many.expected_bytes, kAheadBytes);
}

}  // namespace
}  // namespace plimsoll
