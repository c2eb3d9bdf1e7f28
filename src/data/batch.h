// batch: fills row groups from samples. The sequences of one update are sorted by length (longest first, then by sample
//   number) and cut into groups of the plan's rows, so rows of similar length run together; one group's values are in memory
//   at a time.
//   A model that reads each sequence from its end gets it so from here: inputs are turned round, targets stay.
//   never: drops, cuts or pads a sequence; allocates
#pragma once

#include <cstdint>

#include "data/row_group.h"
#include "data/samples.h"

namespace plimsoll {

// Where a batch keeps what it reads: planned buffers of the sizes named here.
struct BatchBuffers {
  int64_t* samples = nullptr;  // [batch size]
  int32_t* lengths = nullptr;  // [batch size]
  void* inputs = nullptr;      // row-steps of the worst group: int32 ids, or floats times width
  void* targets = nullptr;     // row-steps or rows of the worst group: int32, or floats times target width
  float* weights = nullptr;    // rows of the worst group, where samples have weights
  char* row = nullptr;         // kRowBufferBytes: one stretch of one sequence on its way
};
inline constexpr int64_t kRowBufferBytes = 64 * 1024;

class Batch {
 public:
  // reversed: the last step of each sequence comes first.
  Batch(Samples* samples, const BatchBuffers& buffers, int64_t group_rows, bool reversed)
      : samples_(samples), buffers_(buffers), group_rows_(group_rows), reversed_(reversed) {}

  // Takes the sequences of one update. numbers: their sample numbers; sorted in place of the buffer.
  void Start(const int64_t* numbers, int64_t count);
  int64_t groups() const { return (count_ + group_rows_ - 1) / group_rows_; }
  // Targets of the whole batch: sequences, or steps with one target a step.
  int64_t items() const { return items_; }
  int64_t row_steps() const { return row_steps_; }
  // Reads a group into the buffers; the last one read is overwritten.
  Result<RowGroup> Read(int64_t group);

 private:
  Status ReadInputs(const RowGroup& group);
  Status ReadTargets(const RowGroup& group);
  Samples* samples_;
  BatchBuffers buffers_;
  int64_t group_rows_;
  bool reversed_;
  int64_t count_ = 0;
  int64_t items_ = 0;
  int64_t row_steps_ = 0;
};

}  // namespace plimsoll
