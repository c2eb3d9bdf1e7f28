// batch: fills row groups from samples. The sequences of one update are sorted by length (longest first, then by sample
//   number) and cut into groups of the plan's rows, so rows of similar length run together; one group's values are in memory
//   at a time. Where two groups run side by side, rows are dealt out to both in turn, so that both have as much to do, and the
//   values of both are in memory.
//   Threads share the rows of a group, each through its own part of the row buffer: copying a group takes as long as a tenth of
//   a small model's step.
//   A model that reads each sequence from its end gets it so from here: inputs are turned round, targets stay.
//   A model whose State goes on from batch to batch finds here what the batch before left: row by row, in the order of the
//   sample numbers, which is that of the batch where all samples have one length.
//   never: drops, cuts or pads a sequence; allocates
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/threads.h"
#include "data/row_group.h"
#include "data/samples.h"

namespace plimsoll {

// Where the values of a row group lie: planned buffers of the sizes named here.
struct GroupBuffers {
  void* inputs = nullptr;             // row-steps of the worst group: int32 ids, or floats times width
  float* weights = nullptr;           // rows of the worst group, where samples have weights
  float* start = nullptr;             // the same, times shape().state_width, where samples have a State to begin with
  int32_t* target_lengths = nullptr;  // rows of the worst group, where targets are sequences of labels
  // Of each output: row-steps or rows of the worst group: int32, or floats times target width; or so many labels.
  std::array<void*, kMostOutputs> targets = {};
};

// Where a batch keeps what it reads.
struct BatchBuffers {
  int64_t* samples = nullptr;  // [batch size]
  int32_t* lengths = nullptr;  // [batch size]
  float* carried = nullptr;    // two tables of [batch size][carried_width]; null: State does not go on
  int64_t carried_width = 0;
  int64_t carried_rows = 0;  // batch size
  char* row = nullptr;       // kRowBufferBytes: a stretch of one sequence on its way, for each thread
  int abreast = 1;           // groups that share a stretch of rows
  std::array<GroupBuffers, kMostAbreast> groups =
      {};  // of them; may be the same place, where one is done before the other is read
};
inline constexpr int64_t kRowBufferBytes = 64 * 1024;

// Asks the system for the samples of the batch to come while this one runs: pages on their way in cannot be taken back, so that
// a batch is asked for up to this size, and no further.
inline constexpr int64_t kAheadBytes = 1024 * 1024;
template <typename NumberOf>
void ReadAhead(Samples& samples, int64_t count, const NumberOf& number_of) {
  int64_t left = kAheadBytes;
  for (int64_t i = 0; i < count && left > 0; ++i) left -= samples.Expect(number_of(i), left);
}

class Batch {
 public:
  // Where stretches of sequences lie on their way to the group.
  struct Way {
    char* buffer;
    int64_t bytes;
  };

  // reversed: the last step of each sequence comes first.
  Batch(Samples* samples, const BatchBuffers& buffers, int64_t group_rows, bool reversed, ThreadPool& pool)
      : samples_(samples), buffers_(buffers), group_rows_(group_rows), reversed_(reversed), pool_(&pool) {}

  // After the buffers have moved, with all that they hold: the next batch goes on behind the last.
  void Rebind(const BatchBuffers& buffers) { buffers_ = buffers; }

  // Takes the sequences of one update. numbers: their sample numbers; sorted in place of the buffer. step: which batch of its
  // epoch it is, from 1; the first one's State begins anew.
  void Start(const int64_t* numbers, int64_t count, int64_t step = 1);
  // The last batch that was taken, by its step, where another Batch took it: the State in the buffers is what it left.
  void ContinueAfter(int64_t step) { step_ = step; }
  // State goes on with zeros behind the batch that was taken.
  void ForgetState();
  int64_t groups() const;
  BatchItems items() const { return {.rows = count_, .row_steps = row_steps_}; }
  // Reads a group into its buffers; what was read there before is overwritten.
  Result<RowGroup> Read(int64_t group);
  // The same for those that run side by side, which follow each other: each is read by the threads that will run it.
  Status Read(int64_t first, std::span<RowGroup> groups);

 private:
  int64_t stretch_rows() const { return group_rows_ * buffers_.abreast; }
  void DealOut();
  const GroupBuffers& BuffersOf(int64_t group) const { return buffers_.groups[static_cast<size_t>(group % buffers_.abreast)]; }
  Result<RowGroup> ReadAllButInputs(int64_t number);
  Status ReadInputs(const RowGroup& group, const GroupBuffers& to, Way way, ThreadPool& threads);
  Status ReadInputRows(const RowGroup& group, const GroupBuffers& to, Share rows, Way way);
  Status ReadTargets(size_t output, const RowGroup& group, const GroupBuffers& to);
  Samples* samples_;
  BatchBuffers buffers_;
  int64_t group_rows_;
  bool reversed_;
  ThreadPool* pool_;
  int64_t count_ = 0;
  int64_t row_steps_ = 0;
  int64_t step_ = 1;
};

}  // namespace plimsoll
