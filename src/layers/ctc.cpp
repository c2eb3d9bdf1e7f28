#include "layers/ctc.h"

#include <fmt/format.h>

#include <cstring>

#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Alpha = kFirstOwnKey, AlphaStart, Sums, RowLoss, Places, Distances, LastClass };
constexpr int64_t kFloat = sizeof(float);

CtcRows RowsOf(const Block& block) {
  return {.rows = &block.rows,
          .first_step = block.first_step,
          .lengths = block.lengths,
          .labels = block.labels.labels,
          .label_counts = block.labels.lengths,
          .label_stride = block.labels.longest,
          .weights = block.labels.weights};
}

}  // namespace

std::string Ctc::Describe() const { return fmt::format("CTC(classes={}, labels={})", shape_.classes, shape_.longest); }

void Ctc::Declare(NeedList& needs, bool training) const {
  const int64_t row = shape_.width() * kFloat;
  needs.State(Alpha, "alpha", shape_.stride() * kFloat);
  needs.Running(RowLoss, "loss", sizeof(double));
  needs.Running(Distances, "edit distances", (shape_.longest + 1) * static_cast<int64_t>(sizeof(int32_t)));
  needs.Running(LastClass, "class before", sizeof(int32_t));
  needs.Scratch(Sums, "sums over places", NeedUnit::RowStep, row, StepMoment::Forward, StepMoment::Backward);
  if (!training) return;
  needs.Tape(AlphaStart, "alpha at block starts", NeedUnit::BorderRow, shape_.stride() * kFloat);
  needs.StateGradient(Places, "probabilities of places", row);
}

LayerWork Ctc::Work() const {
  constexpr double kExp = 40.0;  // operations
  const auto places = static_cast<double>(shape_.width()), classes = static_cast<double>(shape_.classes);
  return {.forward = kExp * (6.0 * places + classes), .backward = kExp * (9.0 * places + 2.0 * classes)};
}

void Ctc::StartForward(const OwnerMemory& memory, int64_t rows) const {
  std::memset(memory.F32(Alpha), 0, static_cast<size_t>(rows * shape_.stride() * kFloat));
}

void Ctc::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const Block& block = *out.block;
  const int64_t active = block.rows.rows[0], last = block.rows.steps - 1, stride = shape_.stride();
  float* alpha = memory.F32(Alpha);
  if (memory.Has(AlphaStart)) CopyRows(memory.F32(AlphaStart), alpha, active, stride);
  CopyRows(out.data - active * stride, alpha, active, stride);
  const CtcRows rows = RowsOf(block);
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    ctc_forward(out.data, memory.F32(Sums), memory.F64(RowLoss), in.data, rows, shape_, share);
    if (!run.training) ctc_distances(memory.I32(Distances), memory.I32(LastClass), in.data, rows, shape_, share);
  });
  CopyRows(alpha, out.data + block.rows.first[last] * stride, block.rows.rows[last], stride);
}

void Ctc::Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const Block& block = *out.block;
  const int64_t active = block.rows.rows[0], stride = shape_.stride();
  CopyRows(out.data - active * stride, memory.F32(AlphaStart), active, stride);
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    ctc_forward(out.data, memory.F32(Sums), memory.F64(RowLoss), in.data, RowsOf(block), shape_, share);
  });
}

void Ctc::Backward(const Slice& in, const Slice& out, const Slice&, const Slice& d_in, const OwnerMemory& memory,
                   const RunContext& run) const {
  const Block& block = *out.block;
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    ctc_backward(d_in.data, memory.F32(Places), out.data, memory.F32(Sums), in.data, run.scale, RowsOf(block), shape_, share);
  });
}

double Ctc::LossOf(const OwnerMemory& memory, int64_t row) const { return memory.F64(RowLoss)[row]; }

int64_t Ctc::ErrorsOf(const OwnerMemory& memory, int64_t row, int64_t labels) const {
  return memory.I32(Distances)[row * (shape_.longest + 1) + labels];
}

}  // namespace plimsoll
