// layer: the interface of everything that turns rows into rows. A layer states its needs once (Declare) and afterwards only
//   borrows (OwnerMemory); it sees one Block of packed rows at a time, or a slice of one.
// To add a layer, copy dropout.h and dropout.cpp: the smallest whole one without weights; dense is the smallest with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/threads.h"
#include "base/timeline.h"
#include "kernels/block_rows.h"
#include "kernels/product.h"
#include "layers/owner_memory.h"
#include "layers/weight_layout.h"
#include "plan/needs.h"

namespace plimsoll {

// Targets that are sequences of labels without steps, a row each.
struct RowLabels {
  const int32_t* labels = nullptr;   // [row][longest]
  const int32_t* lengths = nullptr;  // [row] labels
  int64_t longest = 0;
  const float* weights = nullptr;  // [row] what it counts; null: 1
};

// A Block of a row group: kBlockSteps time steps (fewer at the end) of all rows active in them.
// Behind pooling there are no steps: one row a sample, described as a block of one step.
struct Block {
  BlockRows rows;
  int64_t first_step = 0;            // in the sequence
  const int64_t* samples = nullptr;  // number of each row
  const int32_t* lengths = nullptr;  // of each row
  int64_t row_steps_before = 0;      // of the row group, before the block
  int64_t rows_before = 0;           // of the step before the block
  const int32_t* classes = nullptr;  // packed targets of the block, those of the steps before in front; null: not classes
  RowLabels labels = {};             // of the rows, where a target is a sequence of labels
};

// Rows [begin, begin + count) of a block, packed. `data` is the first of them.
struct Slice {
  const Block* block = nullptr;
  int64_t begin = 0;
  int64_t count = 0;
  float* data = nullptr;
  int64_t stride = 0;            // floats between rows
  const int32_t* ids = nullptr;  // the model's input where it is ids; data is null then
};

// What all layers share while a step runs.
struct RunContext {
  ThreadPool* pool = nullptr;
  const OwnerMemory* layers = nullptr;  // the memory of every layer, by number, for one that reads another's State
  bool training = false;                // dropout acts
  uint64_t dropout_seed = 0;            // SeedFor(seed, RandomUse::Dropout)
  uint64_t update = 0;                  // number of the update
  float scale = 0.0f;                   // of the first output's loss: its weight over its items; for layers that are a loss
  Timeline* timeline = nullptr;         // null: nothing is measured
};

// Keys that mean the same in every layer; a layer's own begin at kFirstOwnKey.
inline constexpr int kWeights = 0;   // what training changes: Life::Param
inline constexpr int kGradient = 1;  // the same size, Life::Grad; declared by the model for every layer that learns
inline constexpr int kTouched = 2;   // a bit for each row of a table that the batch has looked up; with lazy_adam alone
inline constexpr int kTiedWeights =
    3;  // those of the layer that this one is tied to, and their gradient: its, not declared here
inline constexpr int kTiedGradient = 4;
inline constexpr int kSums = 5;  // of the update, Life::Grad: what FinishGradients makes gradients of; zeroed with kGradient
inline constexpr int kFirstOwnKey = 6;

// What a recurrent layer carries from step to step, a row a sample: final from the row's end on, its gradient until the last
// block is run backward. width 0: it has none.
struct StatePart {
  int64_t width = 0;
  int64_t stride = 0;  // floats between rows
  int state = 0;       // keys
  int gradient = 0;
};
struct StateParts {
  StatePart h, c;
};

// Operations that a row takes, counted as products: a multiplication or an addition is one, and pointwise work stands for
// as many products as take its time.
struct LayerWork {
  double forward = 0.0;
  double backward = 0.0;  // Replay included
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string Describe() const = 0;  // "LSTM(units=128)"
  virtual int64_t width() const = 0;         // of the output

  // While the model is built.
  virtual void AddTiles(ProductSet&) {}
  virtual void Declare(NeedList& needs, bool training) const = 0;  // without training: what forward needs
  virtual LayerWork Work() const = 0;
  virtual std::vector<WeightTensor> Weights() const { return {}; }
  virtual bool carries_rows() const { return false; }  // its output needs the rows before the block in front of it
  virtual StateParts state() const { return {}; }
  // A reader of every row's last step alone may leave its gradient in that of state().h; d_out.data of Backward is null where
  // nobody reads the other steps.
  virtual bool hears_through_state() const { return false; }

  // While it runs. Prepare follows every change of the weights.
  virtual void Prepare(const OwnerMemory&, ThreadPool&) const {}
  // At the start of a row group: State to zero; gradients of State to zero.
  virtual void StartForward(const OwnerMemory&, int64_t /*rows*/) const {}
  virtual void StartBackward(const OwnerMemory&, int64_t /*rows*/) const {}
  virtual void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const = 0;
  // `out` once more, bit for bit, from the Tape of this block (or by computing it again).
  virtual void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
    Forward(in, out, memory, run);
  }
  // d_out may be changed. d_in.data is null where nobody wants it. Gradients of weights are added, where the layer learns:
  // one that does not has no kGradient.
  virtual void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                        const RunContext& run) const = 0;
  // Behind the last Backward of an update, of layers that have kSums.
  virtual void FinishGradients(const OwnerMemory&, ThreadPool&) const {}

  // The same of all inputs: what the step calls. Only a layer with several inputs has its own.
  virtual void ForwardAll(std::span<const Slice> ins, const Slice& out, const OwnerMemory& memory,
                          const RunContext& run) const {
    Forward(ins[0], out, memory, run);
  }
  virtual void ReplayAll(std::span<const Slice> ins, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
    Replay(ins[0], out, memory, run);
  }
  virtual void BackwardAll(std::span<const Slice> ins, const Slice& out, const Slice& d_out, std::span<const Slice> d_ins,
                           const OwnerMemory& memory, const RunContext& run) const {
    Backward(ins[0], out, d_out, d_ins[0], memory, run);
  }
};

}  // namespace plimsoll
