#include "layers/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "layers/activation_names.h"
#include "layers/dropout_mask.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key {
  TransposedKey = kFirstOwnKey,
  StartBias,
  Products,
  StateH,
  StateC,
  GradH,
  GradC,
  Gates,
  StartH,
  StartC,
  Reset,
  Cells,
  BlockReset,
  GradReset,
  Offsets,
  Shown,
  KeptH,
  GradShown,
  InputMask,
  MaskedInputs,
  StateMask,
  MaskedH,
  BlockMaskedH,
  GradMaskedH
};
constexpr int64_t kFloat = sizeof(float);

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

// The masks of the block's rows, as factors: [row][stride], zeros beyond the width.
void FillMasks(float* masks, const DropoutMask& mask, const Block& block, int64_t time, int64_t width, int64_t stride,
               ThreadPool& pool) {
  ForRows(pool, block.rows.rows[0], [&](int64_t first, int64_t count) {
    for (int64_t row = first; row < first + count; ++row) {
      float* factors = masks + row * stride;
      std::fill(factors, factors + width, 1.0f);
      std::fill(factors + width, factors + stride, 0.0f);
      mask.Apply(factors, factors, width, block.samples[row], time);
    }
  });
}

// to = from, each row-step times its row's mask; to may be from. Strides in floats.
void MaskSteps(float* to, const float* from, int64_t stride, const float* masks, int64_t mask_stride, int64_t width,
               const BlockRows& rows, ThreadPool& pool) {
  pool.Run([&](int part) {
    const Share share = RowShare(rows, part, pool.size());
    for (int step = 0; step < rows.steps; ++step) {
      for (int64_t row = share.begin; row < share.begin + ActiveIn(rows, step, share); ++row) {
        const int64_t at = (rows.first[step] + row) * stride;
        for (int64_t unit = 0; unit < width; ++unit) to[at + unit] = from[at + unit] * masks[row * mask_stride + unit];
      }
    }
  });
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
             .activations = config.activations,
             .projected = config.projected,
             .lanes = config.lanes,
             .table_ids = config.table_ids},
      learns_(config.learns),
      use_bias_(config.use_bias),
      forget_one_(config.forget_one),
      dropout_(config.dropout),
      recurrent_dropout_(config.recurrent_dropout),
      number_(config.number),
      truncate_(config.truncate),
      kernel_(config.kernel),
      recurrent_(config.recurrent),
      bias_(config.bias) {}

std::string Recurrent::Describe() const {
  const CellActivations &by = shape_.activations, usual;
  std::string text = fmt::format("{}(units={}", CellName(shape_.cell), shape_.units);
  if (by.outer != usual.outer) text += fmt::format(", activation={}", ActivationName(by.outer));
  if (by.gate != usual.gate) text += fmt::format(", recurrent_activation={}", ActivationName(by.gate));
  if (!use_bias_) text += ", use_bias=false";
  if (shape_.cell == Cell::GruBefore) text += ", reset_after=false";
  if (shape_.has_projection()) text += fmt::format(", proj_size={}", shape_.projected);
  if (dropout_ > 0.0) text += fmt::format(", dropout={}", dropout_);
  if (recurrent_dropout_ > 0.0) text += fmt::format(", recurrent_dropout={}", recurrent_dropout_);
  return text + ")";
}

LayerWork Recurrent::Work() const {
  constexpr double kForwardPointwise = 100.0, kBackwardPointwise = 175.0;  // a gate of a unit; measured against the products
  constexpr double kMask = 20.0;                                           // an element
  constexpr double kLookUp = 10.0;                                         // a gate of a unit
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const auto gates = static_cast<double>(GateCount(shape_.cell));
  const double of_input = gates * units * (looks_up() ? kLookUp : 2.0 * inputs);
  const double of_state = 2.0 * gates * units * static_cast<double>(shape_.width());
  const double projection = 2.0 * units * static_cast<double>(shape_.projected);
  const double masks = kMask * ((dropout_ > 0.0 ? inputs : 0.0) + (recurrent_dropout_ > 0.0 ? units : 0.0));
  double backward = kBackwardPointwise * gates * units + 2.0 * masks;
  if (has_backward()) backward += of_state + projection;
  if (shape_.input_gradient) backward += of_input;
  if (learns_) backward += of_input + of_state + projection;
  return {.forward = of_input + of_state + projection + masks + kForwardPointwise * gates * units, .backward = backward};
}

void Recurrent::Declare(NeedList& needs, bool training) const {
  const int64_t weights = shape_.input_weights() + shape_.state_weights() + shape_.reset_weights() +
                          shape_.projection_weights() + shape_.bias() + shape_.state_bias();
  const int64_t row = shape_.stride() * kFloat, h_row = shape_.h_stride() * kFloat;
  needs.Param(kWeights, "weights", weights * kFloat);
  if (shape_.has_state_bias()) needs.Param(StartBias, "sum of biases", shape_.panels() * shape_.columns() * kFloat);
  if (looks_up()) needs.Param(Products, "products of the table", shape_.table_products() * kFloat);
  needs.State(StateH, "h", h_row);
  if (shape_.has_c()) needs.State(StateC, "c", row);
  needs.Tape(Gates, "gates", NeedUnit::RowStep, shape_.panels() * shape_.columns() * kFloat);
  needs.Tape(StartH, "h at block starts", NeedUnit::BorderRow, h_row);
  if (shape_.has_c()) needs.Tape(StartC, "c at block starts", NeedUnit::BorderRow, row);
  if (shape_.has_reset()) needs.Scratch(Reset, "r h", NeedUnit::Row, row, StepMoment::Forward, StepMoment::Forward);
  if (shape_.has_projection()) {
    needs.Scratch(Shown, "o act(c)", NeedUnit::Row, row, StepMoment::Forward, StepMoment::Forward);
    if (training) needs.Tape(KeptH, "h", NeedUnit::RowStep, h_row);
  }
  if (training && shape_.has_c()) {
    const StepMoment last = has_backward() ? StepMoment::Backward : StepMoment::Replay;
    needs.Scratch(Cells, "c of the block", NeedUnit::BlockAndRow, row, StepMoment::Replay, last);
  }
  if (training && dropout_ > 0.0) {
    const StepMoment first = StepMoment::Forward, last = StepMoment::Backward;
    needs.Scratch(InputMask, "mask of the inputs", NeedUnit::Row, ActivationStride(shape_.inputs) * kFloat, first, last);
    needs.Scratch(MaskedInputs, "masked inputs", NeedUnit::RowStep, shape_.input_stride * kFloat, first, last);
  }
  if (training && recurrent_dropout_ > 0.0) {
    needs.Scratch(StateMask, "mask of h", NeedUnit::Row, h_row, StepMoment::Forward, StepMoment::Backward);
    needs.Scratch(MaskedH, "masked h", NeedUnit::Row, h_row, StepMoment::Forward, StepMoment::Forward);
  }
  if (!training || !has_backward()) return;
  const int64_t transposed =
      shape_.transposed_state() + shape_.transposed_reset() + shape_.transposed_input() + shape_.transposed_projection();
  needs.Param(TransposedKey, "transposed weights", transposed * kFloat);
  if (looks_up()) needs.Grad(kSums, "gradient of the products", shape_.table_products() * kFloat);
  needs.StateGradient(GradH, "gradient of h", h_row);
  if (shape_.has_c()) needs.StateGradient(GradC, "gradient of c", row);
  if (shape_.has_reset()) {
    needs.Scratch(BlockReset, "r h of the block", NeedUnit::RowStep, row, StepMoment::Backward, StepMoment::Backward);
    needs.Scratch(GradReset, "gradient of r h", NeedUnit::Row, row, StepMoment::Backward, StepMoment::Backward);
  }
  if (shape_.has_projection()) {
    needs.Scratch(GradShown, "gradient of o act(c)", NeedUnit::Row, row, StepMoment::Backward, StepMoment::Backward);
  }
  if (recurrent_dropout_ > 0.0) {
    needs.Scratch(BlockMaskedH, "masked h of the block", NeedUnit::RowStep, h_row, StepMoment::Backward, StepMoment::Backward);
    needs.Scratch(GradMaskedH, "gradient of masked h", NeedUnit::Row, h_row, StepMoment::Backward, StepMoment::Backward);
  }
  needs.Scratch(Offsets, "panel offsets", NeedUnit::Whole, 4 * shape_.panels() * static_cast<int64_t>(sizeof(uint64_t)),
                StepMoment::Backward, StepMoment::Backward);
}

// The canonical tensors. Where row block g of a canonical tensor lies in a panel follows from the cell's columns.
std::vector<WeightTensor> Recurrent::Weights() const {
  using Order = WeightTensor::Order;
  const int64_t units = shape_.units, gates = GateCount(shape_.cell), rows = gates * units;
  WeightTensor input{
      .name = "weight_ih", .rows = rows, .columns = shape_.inputs, .order = Order::GatePanels, .gates = gates, .rule = kernel_};
  WeightTensor state{.name = "weight_hh",
                     .rows = rows,
                     .columns = shape_.width(),
                     .order = Order::GatePanels,
                     .offset = shape_.input_weights(),
                     .gates = gates,
                     .rule = recurrent_};
  const int64_t lanes = shape_.lanes;
  input.panel = {.units = shape_.panel_units(), .columns = shape_.of_input().count};
  state.panel = {.units = shape_.panel_units(), .columns = shape_.of_state().count};
  switch (shape_.cell) {
    case Cell::Lstm:
      input.panel.gate = state.panel.gate = {0, lanes, 2 * lanes, 3 * lanes};  // i f g o
      break;
    case Cell::Gru:  // rows z r n
      input.panel.gate = {lanes, 2 * lanes, 0};
      state.panel.gate = {0, lanes, 2 * lanes};
      break;
    case Cell::GruBefore:  // n of the State lies behind all panels of z and r
      input.panel.gate = {lanes, 2 * lanes, 0};
      state.panel.gate = {0, lanes};
      state.last_gate_offset = shape_.state_weights();
      break;
    case Cell::Rnn:
      break;
  }
  std::vector<WeightTensor> tensors = {input, state};
  const auto bias = [&](const WeightTensor& like, const char* name, int64_t offset) {
    WeightTensor tensor = like;
    tensor.name = name;
    tensor.columns = 1;
    tensor.vector = true;
    tensor.offset = offset;
    tensor.rule = bias_;
    tensor.forget_one = shape_.cell == Cell::Lstm && forget_one_;
    tensors.push_back(std::move(tensor));
  };
  const int64_t projection = shape_.input_weights() + shape_.state_weights() + shape_.reset_weights();
  const int64_t behind = projection + shape_.projection_weights();
  if (use_bias_) {
    bias(input, shape_.has_state_bias() ? "bias_ih" : "bias", behind);
    if (shape_.has_state_bias()) bias(state, "bias_hh", behind + shape_.bias());
  }
  if (shape_.has_projection()) {
    tensors.push_back({.name = "weight_hr",
                       .rows = shape_.projected,
                       .columns = units,
                       .order = Order::Panels,
                       .offset = projection,
                       .rule = {.start = Initializer::GlorotUniform}});
  }
  return tensors;
}

RecurrentWeights Recurrent::Split(float* weights) const {
  RecurrentWeights split{.input = weights};
  split.state = split.input + shape_.input_weights();
  float* behind = split.state + shape_.state_weights();
  if (shape_.has_reset()) split.reset = behind;
  behind += shape_.reset_weights();
  if (shape_.has_projection()) split.projection = behind;
  split.bias = behind + shape_.projection_weights();
  if (shape_.has_state_bias()) split.state_bias = split.bias + shape_.bias();
  return split;
}

RecurrentTransposed Recurrent::Transposed(const OwnerMemory& memory) const {
  RecurrentTransposed split{.state = memory.F32(TransposedKey)};
  float* behind = split.state + shape_.transposed_state();
  if (shape_.has_reset()) split.reset = behind;
  if (shape_.input_gradient) split.input = behind + shape_.transposed_reset();
  if (shape_.has_projection()) split.projection = behind + shape_.transposed_reset() + shape_.transposed_input();
  return split;
}

void Recurrent::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  const RecurrentWeights weights = Split(memory.F32(kWeights));
  if (shape_.has_state_bias()) recurrent_sum_biases(memory.F32(StartBias), weights, shape_);
  if (memory.Has(TransposedKey)) recurrent_transpose(Transposed(memory), weights, shape_, pool);
  if (looks_up()) {
    recurrent_table_products(memory.F32(Products), memory.F32(kTiedWeights), weights, StartBiasOf(memory), shape_, tiles_,
                             pool);
  }
}

// That of all columns.
const float* Recurrent::StartBiasOf(const OwnerMemory& memory) const {
  return shape_.has_state_bias() ? memory.F32(StartBias) : Split(memory.F32(kWeights)).bias;
}

void Recurrent::StartForward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {StateH, StateC}) ZeroRows(memory, key, rows);
}

void Recurrent::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {GradH, GradC}) ZeroRows(memory, key, rows);
}

StateParts Recurrent::state() const {
  StateParts parts{.h = {.width = shape_.width(), .stride = shape_.h_stride(), .state = StateH, .gradient = GradH}};
  if (shape_.has_c()) parts.c = {.width = shape_.units, .stride = shape_.stride(), .state = StateC, .gradient = GradC};
  return parts;
}

// The block's inputs as the products read them: masked, or as they are.
const float* Recurrent::MaskInputs(const Slice& in, const OwnerMemory& memory, const RunContext& run) const {
  if (!masks_inputs(run)) return in.data;
  float *masks = memory.F32(InputMask), *masked = memory.F32(MaskedInputs);
  const int64_t mask_stride = ActivationStride(shape_.inputs);
  FillMasks(masks, {run, number_, dropout_}, *in.block, kInputMaskTime, shape_.inputs, mask_stride, *run.pool);
  MaskSteps(masked, in.data, shape_.input_stride, masks, mask_stride, shape_.inputs, in.block->rows, *run.pool);
  return masked;
}

// Null: h is not masked.
const float* Recurrent::MaskOfState(const Block& block, const OwnerMemory& memory, const RunContext& run) const {
  if (!masks_state(run)) return nullptr;
  float* masks = memory.F32(StateMask);
  FillMasks(masks, {run, number_, recurrent_dropout_}, block, kStateMaskTime, shape_.width(), shape_.h_stride(), *run.pool);
  return masks;
}

void Recurrent::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.h_stride(), active = rows.rows[0], last = rows.steps - 1;
  float *h = memory.F32(StateH), *c = Optional(memory, StateC);
  CopyRows(memory.F32(StartH), h, active, stride);
  if (c != nullptr) CopyRows(memory.F32(StartC), c, active, shape_.stride());
  CopyRows(out.data - active * stride, h, active, stride);
  recurrent_block_forward({.gates = memory.F32(Gates),
                           .c = c,
                           .h = out.data,
                           .reset = Optional(memory, Reset),
                           .shown = Optional(memory, Shown),
                           .kept = Optional(memory, KeptH),
                           .masked = Optional(memory, MaskedH),
                           .mask = MaskOfState(*out.block, memory, run),
                           .x = MaskInputs(in, memory, run),
                           .products = Optional(memory, Products),
                           .ids = in.ids,
                           .bias = StartBiasOf(memory)},
                          Split(memory.F32(kWeights)), rows, shape_, tiles_, *run.pool);
  CopyRows(h, out.data + rows.first[last] * stride, rows.rows[last], stride);
}

void Recurrent::Replay(const Slice&, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.h_stride(), active = rows.rows[0];
  CopyRows(out.data - active * stride, memory.F32(StartH), active, stride);
  recurrent_block_replay({.h = out.data,
                          .cells = Optional(memory, Cells),
                          .gates = memory.F32(Gates),
                          .c_start = Optional(memory, StartC),
                          .kept = Optional(memory, KeptH)},
                         rows, shape_, *run.pool);
}

void Recurrent::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                         const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const float* x = MaskInputs(in, memory, run);
  const BackwardBuffers at{.gates = memory.F32(Gates),
                           .d_h = memory.F32(GradH),
                           .d_c = Optional(memory, GradC),
                           .d_x = d_in.data,
                           .d_x_stride = d_in.stride,
                           .d_out = d_out.data,
                           .h = out.data,
                           .cells = Optional(memory, Cells),
                           .reset = Optional(memory, BlockReset),
                           .d_reset = Optional(memory, GradReset),
                           .d_shown = Optional(memory, GradShown),
                           .mask = MaskOfState(*out.block, memory, run),
                           .masked = Optional(memory, BlockMaskedH),
                           .d_masked = Optional(memory, GradMaskedH),
                           .offsets = memory.U64(Offsets),
                           .first_step = out.block->first_step,
                           .truncate = truncate_,
                           .lengths = out.block->lengths};
  {
    const Timed timed(run.timeline, Piece::BackwardInTime, 0, 0, number_);
    recurrent_block_backward(at, Transposed(memory), rows, shape_, tiles_, *run.pool);
  }
  if (d_in.data != nullptr && masks_inputs(run)) {
    MaskSteps(d_in.data, d_in.data, d_in.stride, memory.F32(InputMask), ActivationStride(shape_.inputs), shape_.inputs, rows,
              *run.pool);
  }
  const Timed timed(run.timeline, Piece::WeightGradient, 0, 0, number_);
  if (looks_up()) recurrent_table_add(memory.F32(kSums), in.ids, at.gates, rows, shape_, *run.pool);
  if (!learns_) return;
  RecurrentWeights gradient = Split(memory.F32(kGradient));
  if (!use_bias_) gradient.bias = gradient.state_bias = nullptr;
  recurrent_block_gradient(gradient, x, at, rows, shape_, tiles_, *run.pool);
}

void Recurrent::FinishGradients(const OwnerMemory& memory, ThreadPool& pool) const {
  recurrent_table_gradient({.d_input = learns_ ? Split(memory.F32(kGradient)).input : nullptr,
                            .d_table = shape_.input_gradient ? memory.F32(kTiedGradient) : nullptr},
                           memory.F32(kSums), memory.F32(kTiedWeights), Transposed(memory), memory.U64(Offsets), shape_, tiles_,
                           pool);
}

}  // namespace plimsoll
