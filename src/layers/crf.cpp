#include "layers/crf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Alpha = kFirstOwnKey, AlphaStart, Sums, RowLoss, Marginal, Marginals, RowHits, Best, Before };
constexpr int64_t kFloat = sizeof(float);

}  // namespace

std::string Crf::Describe() const { return fmt::format("CRF(tags={})", shape_.tags); }

void Crf::Declare(NeedList& needs, bool training) const {
  const int64_t row = shape_.width() * kFloat;
  needs.Param(kWeights, "weights", shape_.floats() * kFloat);
  needs.State(Alpha, "alpha", shape_.stride() * kFloat);
  needs.Running(RowLoss, "loss", sizeof(double));
  needs.Running(Best, "best sequence so far", row);
  needs.Data(Before, "tags before", NeedUnit::RowStep, shape_.width());
  needs.Scratch(Sums, "sums over tags", NeedUnit::RowStep, row, StepMoment::Forward, StepMoment::Backward);
  if (!training) return;
  needs.Tape(AlphaStart, "alpha at block starts", NeedUnit::BorderRow, shape_.stride() * kFloat);
  needs.StateGradient(Marginal, "marginals", row);
  needs.StateGradient(RowHits, "hits", sizeof(int32_t));
  needs.Scratch(Marginals, "marginals of the block", NeedUnit::RowStep, row, StepMoment::Backward, StepMoment::Backward);
}

LayerWork Crf::Work() const {
  constexpr double kExp = 40.0;  // operations
  const auto pairs = static_cast<double>(shape_.tags * shape_.width());
  return {.forward = kExp * pairs, .backward = 3.0 * kExp * pairs};
}

std::vector<WeightTensor> Crf::Weights() const {
  return {{.name = "transitions",
           .rows = shape_.tags,
           .columns = shape_.tags,
           .stride = shape_.width(),
           .rule = {.start = Initializer::GlorotUniform},
           .rows_are_inputs = true},
          {.name = "start", .rows = shape_.tags, .columns = 1, .vector = true, .offset = shape_.start(), .stride = 1},
          {.name = "end", .rows = shape_.tags, .columns = 1, .vector = true, .offset = shape_.end(), .stride = 1}};
}

void Crf::StartForward(const OwnerMemory& memory, int64_t rows) const {
  std::memset(memory.F32(Alpha), 0, static_cast<size_t>(rows * shape_.stride() * kFloat));
}

void Crf::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  std::memset(memory.I32(RowHits), 0, static_cast<size_t>(rows) * sizeof(int32_t));
}

CrfRows Crf::RowsOf(const Block& block) const {
  return {.rows = &block.rows,
          .first_step = block.first_step,
          .lengths = block.lengths,
          .tags = block.classes,
          .rows_before = block.rows_before};
}

void Crf::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const Block& block = *out.block;
  const int64_t active = block.rows.rows[0], last = block.rows.steps - 1, stride = shape_.stride();
  float* alpha = memory.F32(Alpha);
  if (memory.Has(AlphaStart)) CopyRows(memory.F32(AlphaStart), alpha, active, stride);
  CopyRows(out.data - active * stride, alpha, active, stride);
  const CrfRows rows = RowsOf(block);
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    crf_forward(out.data, memory.F32(Sums), memory.F64(RowLoss), in.data, memory.F32(kWeights), rows, shape_, share);
    if (run.training) return;
    crf_viterbi(memory.F32(Best), BeforeAt(memory, block.row_steps_before), in.data, memory.F32(kWeights), rows, shape_, share);
  });
  CopyRows(alpha, out.data + block.rows.first[last] * stride, block.rows.rows[last], stride);
}

void Crf::Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const Block& block = *out.block;
  const int64_t active = block.rows.rows[0], stride = shape_.stride();
  CopyRows(out.data - active * stride, memory.F32(AlphaStart), active, stride);
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    crf_forward(out.data, memory.F32(Sums), memory.F64(RowLoss), in.data, memory.F32(kWeights), RowsOf(block), shape_, share);
  });
}

void Crf::Backward(const Slice&, const Slice& out, const Slice&, const Slice& d_in, const OwnerMemory& memory,
                   const RunContext& run) const {
  const Block& block = *out.block;
  const CrfRows rows = RowsOf(block);
  const float *weights = memory.F32(kWeights), *sums = memory.F32(Sums);
  float* marginals = memory.F32(Marginals);
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    crf_backward(d_in.data, memory.F32(Marginal), marginals, memory.I32(RowHits), out.data, sums, weights, run.scale, rows,
                 shape_, share);
  });
  if (!learns_) return;
  // Threads own columns, so that rows are added in one fixed order.
  run.pool->Run([&](int part) {
    const Share columns = ShareOf(shape_.width(), part, run.pool->size(), 8);
    crf_gradient(memory.F32(kGradient), marginals, out.data, sums, weights, run.scale, rows, shape_, columns.begin,
                 columns.end);
  });
}

double Crf::LossOf(const OwnerMemory& memory, int64_t row) const { return memory.F64(RowLoss)[row]; }
int64_t Crf::HitsOf(const OwnerMemory& memory, int64_t row) const { return memory.I32(RowHits)[row]; }

uint8_t* Crf::BeforeAt(const OwnerMemory& memory, int64_t place) const {
  return reinterpret_cast<uint8_t*>(memory.Bytes(Before)) + place * shape_.width();
}

int64_t Crf::LastTag(const OwnerMemory& memory, int64_t row) const {
  const float* best = memory.F32(Best) + row * shape_.width();
  return std::max_element(best, best + shape_.tags) - best;
}

}  // namespace plimsoll
