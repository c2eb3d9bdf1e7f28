#include "layers/recurrent.h"

#include <fmt/format.h>

#include <cstring>

#include "layers/activation_names.h"

namespace plimsoll {
namespace {

enum Key {
  TransposedKey = kFirstOwnKey,
  StartBias,
  StateH,
  StateC,
  GradH,
  GradC,
  Gates,
  StartH,
  StartC,
  Reset,
  Cells,
  ReplayC,
  BlockReset,
  GradReset,
  Offsets
};
constexpr int64_t kFloat = sizeof(float);

void CopyRows(float* to, const float* from, int64_t rows, int64_t stride) {
  std::memcpy(to, from, static_cast<size_t>(rows * stride * kFloat));
}

const char* CellName(Cell cell) {
  switch (cell) {
    case Cell::Lstm:
      return "LSTM";
    case Cell::Gru:
    case Cell::GruBefore:
      return "GRU";
    case Cell::Rnn:
      return "SimpleRNN";
  }
  __builtin_unreachable();
}

int64_t GateCount(Cell cell) {
  if (cell == Cell::Rnn) return 1;
  return cell == Cell::Lstm ? 4 : 3;
}

// Of a buffer that only some cells have.
float* Optional(const OwnerMemory& memory, int key) { return memory.Has(key) ? memory.F32(key) : nullptr; }

}  // namespace

Recurrent::Recurrent(const Config& config)
    : shape_{.cell = config.cell,
             .inputs = config.inputs,
             .units = config.units,
             .input_stride = config.input_stride,
             .input_gradient = config.input_gradient,
             .activations = config.activations},
      use_bias_(config.use_bias),
      forget_one_(config.forget_one) {}

std::string Recurrent::Describe() const {
  const CellActivations &by = shape_.activations, usual;
  std::string text = fmt::format("{}(units={}", CellName(shape_.cell), shape_.units);
  if (by.outer != usual.outer) text += fmt::format(", activation={}", ActivationName(by.outer));
  if (by.gate != usual.gate) text += fmt::format(", recurrent_activation={}", ActivationName(by.gate));
  if (!use_bias_) text += ", use_bias=false";
  if (shape_.cell == Cell::GruBefore) text += ", reset_after=false";
  return text + ")";
}

LayerWork Recurrent::Work() const {
  constexpr double kForwardPointwise = 100.0, kBackwardPointwise = 175.0;  // a gate of a unit; measured against the products
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const auto gates = static_cast<double>(GateCount(shape_.cell));
  const double of_input = 2.0 * gates * units * inputs, of_state = 2.0 * gates * units * units;
  return {.forward = of_input + of_state + kForwardPointwise * gates * units,
          .backward = (shape_.input_gradient ? 2.0 : 1.0) * of_input + 2.0 * of_state + kBackwardPointwise * gates * units};
}

void Recurrent::Declare(NeedList& needs, bool training) const {
  const int64_t weights =
      shape_.input_weights() + shape_.state_weights() + shape_.reset_weights() + shape_.bias() + shape_.state_bias();
  const int64_t row = shape_.stride() * kFloat;
  needs.Param(kWeights, "weights", weights * kFloat);
  if (shape_.has_state_bias()) needs.Param(StartBias, "sum of biases", shape_.panels() * shape_.columns() * kFloat);
  needs.State(StateH, "h", row);
  if (shape_.has_c()) needs.State(StateC, "c", row);
  needs.Tape(Gates, "gates", NeedUnit::RowStep, shape_.panels() * shape_.columns() * kFloat);
  needs.Tape(StartH, "h at block starts", NeedUnit::BorderRow, row);
  if (shape_.has_c()) needs.Tape(StartC, "c at block starts", NeedUnit::BorderRow, row);
  if (shape_.has_reset()) needs.Scratch(Reset, "r h", NeedUnit::Row, row, StepMoment::Forward, StepMoment::Forward);
  if (!training) return;
  needs.Param(TransposedKey, "transposed weights",
              (shape_.transposed_state() + shape_.transposed_reset() + shape_.transposed_input()) * kFloat);
  needs.StateGradient(GradH, "gradient of h", row);
  if (shape_.has_c()) {
    needs.StateGradient(GradC, "gradient of c", row);
    needs.Scratch(ReplayC, "c of the replay", NeedUnit::Row, row, StepMoment::Replay, StepMoment::Replay);
    needs.Scratch(Cells, "c of the block", NeedUnit::BlockAndRow, row, StepMoment::Backward, StepMoment::Backward);
  }
  if (shape_.has_reset()) {
    needs.Scratch(BlockReset, "r h of the block", NeedUnit::RowStep, row, StepMoment::Backward, StepMoment::Backward);
    needs.Scratch(GradReset, "gradient of r h", NeedUnit::Row, row, StepMoment::Backward, StepMoment::Backward);
  }
  needs.Scratch(Offsets, "panel offsets", NeedUnit::Whole, 4 * shape_.panels() * static_cast<int64_t>(sizeof(uint64_t)),
                StepMoment::Backward, StepMoment::Backward);
}

// The canonical tensors. Where row block g of a canonical tensor lies in a panel follows from the cell's columns.
std::vector<WeightTensor> Recurrent::Weights() const {
  using Order = WeightTensor::Order;
  const int64_t units = shape_.units, gates = GateCount(shape_.cell), rows = gates * units;
  WeightTensor input{.name = "weight_ih",
                     .rows = rows,
                     .columns = shape_.inputs,
                     .order = Order::GatePanels,
                     .gates = gates,
                     .start = WeightStart::GlorotUniform};
  WeightTensor state{.name = "weight_hh",
                     .rows = rows,
                     .columns = units,
                     .order = Order::GatePanels,
                     .offset = shape_.input_weights(),
                     .gates = gates,
                     .start = WeightStart::Orthogonal};
  switch (shape_.cell) {
    case Cell::Lstm:
      input.panel = state.panel = {.units = 8, .columns = 32, .gate = {0, 8, 16, 24}};  // i f g o
      break;
    case Cell::Gru:  // rows z r n
      input.panel = {.units = 8, .columns = 24, .gate = {8, 16, 0}};
      state.panel = {.units = 8, .columns = 24, .gate = {0, 8, 16}};
      break;
    case Cell::GruBefore:  // n of the State lies behind all panels of z and r
      input.panel = {.units = 8, .columns = 24, .gate = {8, 16, 0}};
      state.panel = {.units = 8, .columns = 16, .gate = {0, 8}};
      state.last_gate_offset = shape_.state_weights();
      break;
    case Cell::Rnn:
      input.panel = state.panel = {.units = 32, .columns = 32, .gate = {0}};
      break;
  }
  std::vector<WeightTensor> tensors = {input, state};
  if (!use_bias_) return tensors;
  const bool forget = shape_.cell == Cell::Lstm && forget_one_;
  const auto bias = [&](const WeightTensor& like, const char* name, int64_t offset) {
    WeightTensor tensor = like;
    tensor.name = name;
    tensor.columns = 1;
    tensor.vector = true;
    tensor.offset = offset;
    tensor.start = forget ? WeightStart::ForgetOne : WeightStart::Zero;
    tensors.push_back(std::move(tensor));
  };
  const int64_t behind = shape_.input_weights() + shape_.state_weights() + shape_.reset_weights();
  bias(input, shape_.has_state_bias() ? "bias_ih" : "bias", behind);
  if (shape_.has_state_bias()) bias(state, "bias_hh", behind + shape_.bias());
  return tensors;
}

RecurrentWeights Recurrent::Split(float* weights) const {
  RecurrentWeights split{.input = weights};
  split.state = split.input + shape_.input_weights();
  float* behind = split.state + shape_.state_weights();
  if (shape_.has_reset()) split.reset = behind;
  split.bias = behind + shape_.reset_weights();
  if (shape_.has_state_bias()) split.state_bias = split.bias + shape_.bias();
  return split;
}

RecurrentTransposed Recurrent::Transposed(const OwnerMemory& memory) const {
  RecurrentTransposed split{.state = memory.F32(TransposedKey)};
  float* behind = split.state + shape_.transposed_state();
  if (shape_.has_reset()) split.reset = behind;
  if (shape_.input_gradient) split.input = behind + shape_.transposed_reset();
  return split;
}

void Recurrent::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  const RecurrentWeights weights = Split(memory.F32(kWeights));
  if (shape_.has_state_bias()) recurrent_sum_biases(memory.F32(StartBias), weights, shape_);
  if (memory.Has(TransposedKey)) recurrent_transpose(Transposed(memory), weights, shape_, pool);
}

void Recurrent::StartForward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {StateH, StateC}) {
    if (memory.Has(key)) std::memset(memory.F32(key), 0, static_cast<size_t>(rows * shape_.stride() * kFloat));
  }
}

void Recurrent::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {GradH, GradC}) {
    if (memory.Has(key)) std::memset(memory.F32(key), 0, static_cast<size_t>(rows * shape_.stride() * kFloat));
  }
}

void Recurrent::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.stride(), active = rows.rows[0], last = rows.steps - 1;
  float *h = memory.F32(StateH), *c = Optional(memory, StateC);
  CopyRows(memory.F32(StartH), h, active, stride);
  if (c != nullptr) CopyRows(memory.F32(StartC), c, active, stride);
  CopyRows(out.data - active * stride, h, active, stride);
  const RecurrentWeights weights = Split(memory.F32(kWeights));
  recurrent_block_forward({.gates = memory.F32(Gates),
                           .c = c,
                           .h = out.data,
                           .reset = Optional(memory, Reset),
                           .x = in.data,
                           .start = shape_.has_state_bias() ? memory.F32(StartBias) : weights.bias},
                          weights, rows, shape_, tiles_, *run.pool);
  CopyRows(h, out.data + rows.first[last] * stride, rows.rows[last], stride);
}

void Recurrent::Replay(const Slice&, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.stride(), active = rows.rows[0];
  CopyRows(out.data - active * stride, memory.F32(StartH), active, stride);
  recurrent_block_replay(out.data, Optional(memory, ReplayC), memory.F32(Gates), Optional(memory, StartC), rows, shape_,
                         *run.pool);
}

void Recurrent::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                         const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  float *delta = memory.F32(Gates), *reset = Optional(memory, BlockReset);
  recurrent_block_backward({.gates = delta,
                            .d_h = memory.F32(GradH),
                            .d_c = Optional(memory, GradC),
                            .d_x = d_in.data,
                            .d_x_stride = d_in.stride,
                            .d_out = d_out.data,
                            .h = out.data,
                            .c_start = Optional(memory, StartC),
                            .cells = Optional(memory, Cells),
                            .reset = reset,
                            .d_reset = Optional(memory, GradReset),
                            .offsets = memory.U64(Offsets)},
                           Transposed(memory), rows, shape_, tiles_, *run.pool);
  RecurrentWeights gradient = Split(memory.F32(kGradient));
  if (!use_bias_) gradient.bias = gradient.state_bias = nullptr;
  recurrent_block_gradient(gradient, delta, in.data, out.data, reset, rows, shape_, tiles_, *run.pool);
}

}  // namespace plimsoll
