#include "layers/normalized_lstm.h"

#include <fmt/format.h>

#include "kernels/pointwise.h"
#include "layers/activation_names.h"
#include "layers/rows.h"

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
  Sums,
  Statistics,
  ReplayC,
  Delta,
  Cells,
  CellStatistics,
  NormalC,
  GradCell
};
constexpr int64_t kFloat = sizeof(float);

}  // namespace

NormalizedLstm::NormalizedLstm(const Config& config)
    : config_(config),
      shape_{.inputs = config.inputs,
             .units = config.units,
             .input_stride = config.input_stride,
             .input_gradient = config.input_gradient,
             .activations = config.activations,
             .epsilon = static_cast<float>(config.epsilon)} {}

std::string NormalizedLstm::Describe() const {
  const CellActivations &by = shape_.activations, usual;
  std::string text = fmt::format("LSTM(units={}, layer_normalization=true", shape_.units);
  if (config_.epsilon != Config{}.epsilon) text += fmt::format(", epsilon={}", config_.epsilon);
  if (by.outer != usual.outer) text += fmt::format(", activation={}", ActivationName(by.outer));
  if (by.gate != usual.gate) text += fmt::format(", recurrent_activation={}", ActivationName(by.gate));
  if (!config_.use_bias) text += ", use_bias=false";
  return text + ")";
}

// As an LSTM, with three normalisations (see LayerNormalization) of 4 H, 4 H and H, and both products once more in backward.
LayerWork NormalizedLstm::Work() const {
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const double of_input = 8.0 * units * inputs, of_state = 8.0 * units * units;
  const double normal = 9.0 * units;
  double backward = (4.0 * 175.0) * units + 180.0 * normal;
  if (has_backward()) backward += 2.0 * of_state + of_input;
  if (shape_.input_gradient) backward += of_input;
  if (config_.learns) backward += of_input + of_state;
  return {.forward = of_input + of_state + (4.0 * 100.0) * units + 60.0 * normal, .backward = backward};
}

void NormalizedLstm::Declare(NeedList& needs, bool training) const {
  const int64_t row = shape_.stride() * kFloat, sums = shape_.sum_stride() * kFloat, statistics = 2 * kFloat;
  const StepMoment forward = StepMoment::Forward, backward = StepMoment::Backward;
  needs.Param(kWeights, "weights", places().end * kFloat);
  needs.Param(StartBias, "sum of biases", shape_.gate_stride() * kFloat);
  needs.State(StateH, "h", row);
  needs.State(StateC, "c", row);
  needs.Tape(Gates, "gates", NeedUnit::RowStep, shape_.gate_stride() * kFloat);
  needs.Tape(StartH, "h at block starts", NeedUnit::BorderRow, row);
  needs.Tape(StartC, "c at block starts", NeedUnit::BorderRow, row);
  needs.Scratch(Sums, "sums of products", NeedUnit::RowStep, sums, forward, backward);
  needs.Scratch(Statistics, "means and deviations", NeedUnit::RowStep, statistics, forward, backward);
  if (training) needs.Scratch(ReplayC, "c of the replay", NeedUnit::Row, row, StepMoment::Replay, StepMoment::Replay);
  if (!training || !has_backward()) return;
  needs.Param(TransposedKey, "transposed weights", (shape_.of_state().transposed() + shape_.of_input().transposed()) * kFloat);
  needs.StateGradient(GradH, "gradient of h", row);
  needs.StateGradient(GradC, "gradient of c", row);
  needs.Scratch(Delta, "gradient of the sums", NeedUnit::RowStep, sums, backward, backward);
  needs.Scratch(Cells, "c of the block", NeedUnit::BlockAndRow, row, backward, backward);
  needs.Scratch(CellStatistics, "means and deviations of c", NeedUnit::RowStep, statistics, backward, backward);
  needs.Scratch(NormalC, "normalised c", NeedUnit::Row, row, backward, backward);
  needs.Scratch(GradCell, "gradient of c through its normalisation", NeedUnit::Row, row, backward, backward);
}

NormalizedLstm::Places NormalizedLstm::places() const {
  const int64_t of_sums = shape_.gate_stride(), of_c = WholeVectors(shape_.units);
  Places at;
  at.state = shape_.of_input().weights();
  at.gamma_x = at.state + shape_.of_state().weights();
  at.beta_x = at.gamma_x + of_sums;
  at.gamma_h = at.beta_x + of_sums;
  at.beta_h = at.gamma_h + of_sums;
  at.gamma_c = at.beta_h + of_sums;
  at.beta_c = at.gamma_c + of_c;
  at.bias = at.beta_c + of_c;
  at.end = at.bias + of_sums;
  return at;
}

NormalizedWeights NormalizedLstm::Split(float* weights) const {
  const Places at = places();
  return {.input = weights,
          .state = weights + at.state,
          .gamma_x = weights + at.gamma_x,
          .beta_x = weights + at.beta_x,
          .gamma_h = weights + at.gamma_h,
          .beta_h = weights + at.beta_h,
          .gamma_c = weights + at.gamma_c,
          .beta_c = weights + at.beta_c,
          .bias = weights + at.bias};
}

// The canonical tensors, in the order of CanonicalTensors.
std::vector<WeightTensor> NormalizedLstm::Weights() const {
  const Places at = places();
  const auto matrix = [&](const char* name, int64_t columns, int64_t offset, const WeightRule& rule) {
    return WeightTensor{.name = name,
                        .rows = shape_.sums(),
                        .columns = columns,
                        .order = WeightTensor::Order::Panels,
                        .offset = offset,
                        .rule = rule};
  };
  const auto vector = [&](const char* name, int64_t rows, int64_t offset, const WeightRule& rule) {
    return WeightTensor{.name = name, .rows = rows, .columns = 1, .vector = true, .offset = offset, .stride = 1, .rule = rule};
  };
  std::vector<WeightTensor> tensors = {matrix("weight_ih", shape_.inputs, 0, config_.kernel),
                                       matrix("weight_hh", shape_.units, at.state, config_.recurrent)};
  if (config_.use_bias) {
    tensors.push_back(vector("bias", shape_.sums(), at.bias, config_.bias));
    tensors.back().forget_one = config_.forget_one;
  }
  const auto norm = [&](const char* gamma_name, const char* beta_name, int64_t rows, int64_t gamma, int64_t beta) {
    tensors.push_back(vector(gamma_name, rows, gamma, {.start = Initializer::Ones}));
    tensors.push_back(vector(beta_name, rows, beta, {}));
  };
  norm("norm_ih_weight", "norm_ih_bias", shape_.sums(), at.gamma_x, at.beta_x);
  norm("norm_hh_weight", "norm_hh_bias", shape_.sums(), at.gamma_h, at.beta_h);
  norm("norm_c_weight", "norm_c_bias", shape_.units, at.gamma_c, at.beta_c);
  return tensors;
}

NormalizedTransposed NormalizedLstm::Transposed(const OwnerMemory& memory) const {
  float* state = memory.F32(TransposedKey);
  return {.state = state, .input = shape_.input_gradient ? state + shape_.of_state().transposed() : nullptr};
}

void NormalizedLstm::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  const NormalizedWeights weights = Split(memory.F32(kWeights));
  const int64_t width = shape_.gate_stride();
  float* start = memory.F32(StartBias);
  CopyRows(start, weights.bias, 1, width);
  add_rows(start, weights.beta_x, 1, width, width);
  add_rows(start, weights.beta_h, 1, width, width);
  if (!memory.Has(TransposedKey)) return;
  const NormalizedTransposed transposed = Transposed(memory);
  dense_transpose(transposed.state, weights.state, shape_.of_state(), pool);
  if (transposed.input != nullptr) dense_transpose(transposed.input, weights.input, shape_.of_input(), pool);
}

void NormalizedLstm::StartForward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {StateH, StateC}) ZeroRows(memory, key, rows);
}

void NormalizedLstm::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  for (const int key : {GradH, GradC}) ZeroRows(memory, key, rows);
}

StateParts NormalizedLstm::state() const {
  return {.h = {.width = shape_.units, .stride = shape_.stride(), .state = StateH, .gradient = GradH},
          .c = {.width = shape_.units, .stride = shape_.stride(), .state = StateC, .gradient = GradC}};
}

void NormalizedLstm::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  const int64_t stride = shape_.stride(), active = rows.rows[0], last = rows.steps - 1;
  float *h = memory.F32(StateH), *c = memory.F32(StateC);
  CopyRows(memory.F32(StartH), h, active, stride);
  CopyRows(memory.F32(StartC), c, active, stride);
  CopyRows(out.data - active * stride, h, active, stride);
  normalized_block_forward({.gates = memory.F32(Gates),
                            .c = c,
                            .h = out.data,
                            .sums = memory.F32(Sums),
                            .statistics = memory.F32(Statistics),
                            .x = in.data,
                            .start = memory.F32(StartBias)},
                           Split(memory.F32(kWeights)), rows, shape_, tiles_, *run.pool);
  CopyRows(h, out.data + rows.first[last] * stride, rows.rows[last], stride);
}

void NormalizedLstm::Replay(const Slice&, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const BlockRows& rows = out.block->rows;
  CopyRows(out.data - rows.rows[0] * shape_.stride(), memory.F32(StartH), rows.rows[0], shape_.stride());
  normalized_block_replay({.h = out.data,
                           .c_work = memory.F32(ReplayC),
                           .statistics = memory.F32(Statistics),
                           .gates = memory.F32(Gates),
                           .c_start = memory.F32(StartC)},
                          Split(memory.F32(kWeights)), rows, shape_, *run.pool);
}

void NormalizedLstm::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in,
                              const OwnerMemory& memory, const RunContext& run) const {
  NormalizedWeights gradient;
  if (config_.learns) gradient = Split(memory.F32(kGradient));
  if (!config_.use_bias) gradient.bias = nullptr;
  normalized_block_backward({.gates = memory.F32(Gates),
                             .d_h = memory.F32(GradH),
                             .d_c = memory.F32(GradC),
                             .d_x = d_in.data,
                             .d_out = d_out.data,
                             .h = out.data,
                             .x = in.data,
                             .c_start = memory.F32(StartC),
                             .sums = memory.F32(Sums),
                             .statistics = memory.F32(Statistics),
                             .delta = memory.F32(Delta),
                             .cells = memory.F32(Cells),
                             .cell_statistics = memory.F32(CellStatistics),
                             .normal_c = memory.F32(NormalC),
                             .d_cell = memory.F32(GradCell),
                             .first_step = out.block->first_step,
                             .truncate = config_.truncate,
                             .lengths = out.block->lengths},
                            config_.learns ? &gradient : nullptr, Split(memory.F32(kWeights)), Transposed(memory),
                            out.block->rows, shape_, tiles_, *run.pool);
}

}  // namespace plimsoll
