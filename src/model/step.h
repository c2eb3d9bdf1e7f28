// step: what happens in a training step. Read this file's .cpp first; everything else serves it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/row_group.h"
#include "model/network.h"
#include "model/slots.h"
#include "plan/schedule.h"
#include "plimsoll/observer.h"

namespace plimsoll {

// Sums over the items of one or more row groups.
struct OutputSums {
  double loss = 0.0;
  double hits = 0.0;  // classes: items whose largest output is the class
  int64_t items = 0;
  int64_t labels = 0;        // loss ctc, evaluation: of all targets, and
  int64_t label_errors = 0;  // how far what was spelt is from them
};
struct StepSums {
  std::array<OutputSums, kMostOutputs> outputs = {};
  double penalties = 0.0;  // those on weights, for every item of the first output; in no output's own loss

  void Add(const StepSums& more);
  double MeanLoss(const Spec& spec) const;  // the sum of the outputs' means, each times its weight
};

// Receives what an output gives for a slice before its loss is computed: rows [first, first + count) of its items, packed.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void Rows(size_t output, const RowGroup& group, int64_t first, int64_t count, const float* outputs,
                    int64_t stride) = 0;
  // With a CRF, behind all rows of a group: the tag of each step in the likeliest sequence, row by row from its first step on.
  virtual void Decoded(const RowGroup& /*group*/, int64_t /*row*/, int64_t /*step*/, int64_t /*item*/, int32_t /*tag*/) {}
};

class Step {
 public:
  Step(const Network& network, NetworkMemory& memory, ThreadPool& pool, uint64_t dropout_seed);

  void SetUpdate(uint64_t update) { run_.update = update; }  // for dropout masks
  // Before the first group of an update, and behind its last. threads: which do it, best those that will write them.
  void ZeroGradients(ThreadPool& threads);
  void FinishGradients();
  // Those of the groups that ran beside this step's.
  void AddGradients(const NetworkMemory& beside);
  // Gradients of the group are added, each output's divided by its items of the whole batch.
  // The schedule has been started on the group's blocks. threads: which do it.
  // Fails only where slots lie in a file and the disk does.
  Status TrainGroup(const RowGroup& group, Schedule& schedule, const BatchItems& items, StepSums& sums, ThreadPool& threads);
  // Forward only, no dropout.
  void EvaluateGroup(const RowGroup& group, StepSums& sums);
  // Forward only, for sequences that are made step by step: at most kBlockSteps steps, as many of every row, behind those of
  // the calls before, whose State is where they left it; `begins`: with zeros. Returns what the first output, whose targets are
  // steps, gives for the last step: a row each, ActivationStride of its width apart.
  const float* Advance(const RowGroup& group, bool begins);
  // After the weights have changed.
  void PrepareWeights();

  Slots& slots() { return slots_; }
  void SetTimeline(Timeline* timeline) { run_.timeline = timeline; }  // null: nothing is measured
  Timeline* timeline() const { return run_.timeline; }
  void SetOutputSink(OutputSink* sink) { sink_ = sink; }
  // Row-steps that training groups have run forward, those that ran again not counted: nothing is padded where they are as many
  // as the samples have.
  int64_t trained_row_steps() const { return trained_row_steps_; }

 private:
  enum class Tape { None, Keep };

  Status RunSchedule(const RowGroup& group, Schedule& schedule);
  void StartForward(const RowGroup& group);
  void StartReverse(const RowGroup& group);
  int64_t Forward(const RowGroup& group, int64_t first_block, int64_t blocks, Tape tape);  // how many row-steps it ran
  void Reverse(const RowGroup& group, int64_t first_block, int64_t blocks);
  Status RestoreState(const RowGroup& group, int64_t slot, int64_t next_block);
  // Rows of a block, or of the pooled rows, that a layer sees: all of them in the body, a slice in the head.
  struct Part {
    const RowGroup* group;
    const Block* block;
    int64_t begin;
    int64_t count;
  };
  void Head(const Part& all, bool per_step);
  void LossOf(size_t number, const Part& slice, int64_t first_item);
  const float* FillWeights(const Part& slice, int64_t first_item) const;
  void OwnLoss(float* y, double* losses, float* gradient, const float* targets, int64_t rows) const;
  void SumSequenceLosses(const RowGroup& group);
  void Backward(int layer, const Part& part);

  Block BlockAt(const RowGroup& group, int64_t number) const;
  Block PooledBlock(const RowGroup& group) const;
  static Part WholeOf(const RowGroup& group, const Block& block);
  std::span<const Slice> InputsOf(int layer, const Part& part);
  Slice DataOf(const Part& part) const;
  Slice OutputOf(int layer, const Part& part) const;
  Slice GradientOf(int layer, const Part& part) const;
  float* SpareOf(int reader, const Route& route) const;
  Slice SliceOf(float* data, int layer, const Part& part) const;
  void SetPosition(const RowGroup& group, int64_t block);

  const Network& network_;
  NetworkMemory& memory_;
  Slots slots_;
  ThreadPool& pool_;
  RunContext run_;
  std::vector<Slice> ins_, d_ins_;  // of the layer that runs; as many as any layer has
  OutputSink* sink_ = nullptr;
  int64_t segment_start_ = 0;  // first block of the recorded segment
  int64_t trained_row_steps_ = 0;
  std::array<float, kMostOutputs> scales_ = {};  // of each output's loss: its weight over its items of the batch
  StepSums* sums_ = nullptr;
};

}  // namespace plimsoll
