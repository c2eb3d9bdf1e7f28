#include "layers/lstm.h"

#include <fmt/format.h>

#include <cstring>

namespace plimsoll {
namespace {

enum Key { TransposedKey = kFirstOwnKey, StateH, StateC, GradH, GradC, Gates, StartH, StartC, Cells, ReplayC, Offsets };
constexpr int64_t kFloat = sizeof(float);

void CopyRows(float* to, const float* from, int64_t rows, int64_t stride) {
  std::memcpy(to, from, static_cast<size_t>(rows * stride * kFloat));
}

}  // namespace

Lstm::Lstm(const Config& config)
    : shape_{.inputs = config.inputs,
             .units = config.units,
             .input_stride = config.input_stride,
             .input_gradient = config.input_gradient} {}

std::string Lstm::Describe() const { return fmt::format("LSTM(units={})", shape_.units); }

LayerWork Lstm::Work() const {
  constexpr double kForwardPointwise = 400.0, kBackwardPointwise = 700.0;  // a unit; measured against the products
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const double of_input = 8.0 * units * inputs, of_state = 8.0 * units * units;
  return {.forward = of_input + of_state + kForwardPointwise * units,
          .backward = (shape_.input_gradient ? 2.0 : 1.0) * of_input + 2.0 * of_state + kBackwardPointwise * units};
}

void Lstm::Declare(NeedList& needs, bool training) const {
  const int64_t weights = shape_.input_weights() + shape_.recurrent_weights() + shape_.bias_weights();
  const int64_t row = shape_.stride() * kFloat;
  needs.Param(kWeights, "weights", weights * kFloat);
  needs.State(StateH, "h", row);
  needs.State(StateC, "c", row);
  needs.Tape(Gates, "gates", NeedUnit::RowStep, shape_.panels() * kPanelColumns * kFloat);
  needs.Tape(StartH, "h at block starts", NeedUnit::BorderRow, row);
  needs.Tape(StartC, "c at block starts", NeedUnit::BorderRow, row);
  if (!training) return;
  needs.Param(TransposedKey, "transposed weights", (shape_.transposed_recurrent() + shape_.transposed_input()) * kFloat);
  needs.StateGradient(GradH, "gradient of h", row);
  needs.StateGradient(GradC, "gradient of c", row);
  needs.Scratch(ReplayC, "c of the replay", NeedUnit::Row, row, StepMoment::Replay, StepMoment::Replay);
  needs.Scratch(Cells, "c of the block", NeedUnit::BlockAndRow, row, StepMoment::Backward, StepMoment::Backward);
  needs.Scratch(Offsets, "panel offsets", NeedUnit::Whole, 2 * shape_.panels() * static_cast<int64_t>(sizeof(uint64_t)),
                StepMoment::Backward, StepMoment::Backward);
}

std::vector<WeightTensor> Lstm::Weights() const {
  const int64_t gates = 4 * shape_.units, recurrent = shape_.input_weights();
  return {{.name = "weight_ih",
           .rows = gates,
           .columns = shape_.inputs,
           .order = WeightTensor::Order::LstmPanels,
           .start = WeightStart::GlorotUniform},
          {.name = "weight_hh",
           .rows = gates,
           .columns = shape_.units,
           .order = WeightTensor::Order::LstmPanels,
           .offset = recurrent,
           .start = WeightStart::Orthogonal},
          {.name = "bias",
           .rows = gates,
           .columns = 1,
           .vector = true,
           .order = WeightTensor::Order::LstmPanels,
           .offset = recurrent + shape_.recurrent_weights(),
           .start = WeightStart::ForgetOne}};
}

LstmWeights Lstm::Split(float* weights) const {
  float* recurrent = weights + shape_.input_weights();
  return {.input = weights, .recurrent = recurrent, .bias = recurrent + shape_.recurrent_weights()};
}

LstmTransposed Lstm::Transposed(const OwnerMemory& memory) const {
  float* recurrent = memory.F32(TransposedKey);
  return {.recurrent = recurrent, .input = shape_.input_gradient ? recurrent + shape_.transposed_recurrent() : nullptr};
}

void Lstm::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  if (!memory.Has(TransposedKey)) return;
  lstm_transpose(Transposed(memory), Split(memory.F32(kWeights)), shape_, pool);
}

void Lstm::StartForward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {StateH, StateC}) std::memset(memory.F32(key), 0, static_cast<size_t>(rows * shape_.stride() * kFloat));
}

void Lstm::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {GradH, GradC}) std::memset(memory.F32(key), 0, static_cast<size_t>(rows * shape_.stride() * kFloat));
}

void Lstm::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.stride(), active = rows.rows[0], last = rows.steps - 1;
  float *h = memory.F32(StateH), *c = memory.F32(StateC);
  CopyRows(memory.F32(StartH), h, active, stride);
  CopyRows(memory.F32(StartC), c, active, stride);
  CopyRows(out.data - active * stride, h, active, stride);
  lstm_block_forward(memory.F32(Gates), c, out.data, in.data, Split(memory.F32(kWeights)), rows, shape_, tiles_, *run.pool);
  CopyRows(h, out.data + rows.first[last] * stride, rows.rows[last], stride);
}

void Lstm::Replay(const Slice&, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.stride(), active = rows.rows[0];
  CopyRows(out.data - active * stride, memory.F32(StartH), active, stride);
  lstm_block_replay(out.data, memory.F32(ReplayC), memory.F32(Gates), memory.F32(StartC), rows, shape_, *run.pool);
}

void Lstm::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                    const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  float* delta = memory.F32(Gates);
  lstm_block_backward(delta, memory.F32(GradH), memory.F32(GradC), d_in.data, d_in.stride, d_out.data, memory.F32(Cells),
                      memory.U64(Offsets), memory.F32(StartC), Transposed(memory), rows, shape_, tiles_, *run.pool);
  lstm_block_gradient(Split(memory.F32(kGradient)), delta, in.data, out.data - rows.rows[0] * shape_.stride(), rows, shape_,
                      tiles_, *run.pool);
}

}  // namespace plimsoll
