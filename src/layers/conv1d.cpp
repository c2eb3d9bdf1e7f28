#include "layers/conv1d.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/pointwise.h"
#include "layers/activation_names.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Transposed = kFirstOwnKey, Past, PastStart, Columns, GradColumns, GradPast };
constexpr int64_t kFloat = sizeof(float);

}  // namespace

Conv1D::Conv1D(const Config& config)
    : config_(config),
      shape_{.inputs = config.taps * config.inputs,
             .units = config.filters,
             .input_stride = ActivationStride(config.taps * config.inputs),
             .input_gradient = config.input_gradient} {}

std::string Conv1D::Describe() const {
  std::string text = fmt::format("Conv1D(filters={}, kernel_size={}", config_.filters, config_.taps);
  if (config_.dilation != 1) text += fmt::format(", dilation_rate={}", config_.dilation);
  if (config_.activation != Activation::Linear) text += fmt::format(", activation={}", ActivationName(config_.activation));
  return text + ")";
}

LayerWork Conv1D::Work() const {
  constexpr double kPointwise = 50.0, kMoved = 10.0;  // a unit, and an element that is laid in its place
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const double products = (shape_.input_gradient ? 2.0 : 0.0) + (config_.learns ? 2.0 : 0.0) + 2.0;
  return {.forward = 2.0 * inputs * units + kPointwise * units + kMoved * inputs,
          .backward = products * inputs * units + kPointwise * units + 3.0 * kMoved * inputs};
}

void Conv1D::Declare(NeedList& needs, bool training) const {
  needs.Param(kWeights, "weights", (shape_.weights() + shape_.bias()) * kFloat);
  const int64_t past_row = WholeVectors(past_floats()) * kFloat, columns = shape_.input_stride * kFloat;
  if (past() > 0) needs.State(Past, "inputs before the block", past_row);
  needs.Scratch(Columns, "inputs of each step", NeedUnit::RowStep, columns, StepMoment::Forward, StepMoment::Backward);
  if (!training) return;
  if (past() > 0) needs.Tape(PastStart, "inputs before block starts", NeedUnit::BorderRow, past_row);
  if (!shape_.input_gradient) return;
  needs.Param(Transposed, "transposed weights", shape_.transposed() * kFloat);
  needs.Scratch(GradColumns, "gradient of inputs of each step", NeedUnit::RowStep, columns, StepMoment::Backward,
                StepMoment::Backward);
  if (past() > 0) needs.StateGradient(GradPast, "gradient of inputs before the block", past_row);
}

std::vector<WeightTensor> Conv1D::Weights() const {
  using Order = WeightTensor::Order;
  std::vector<WeightTensor> tensors = {{.name = "weight",
                                        .rows = shape_.units,
                                        .columns = shape_.inputs,
                                        .order = Order::Panels,
                                        .rule = config_.kernel,
                                        .taps = config_.taps}};
  if (!config_.use_bias) return tensors;
  tensors.push_back({.name = "bias",
                     .rows = shape_.units,
                     .columns = 1,
                     .vector = true,
                     .order = Order::Panels,
                     .offset = shape_.weights(),
                     .rule = config_.bias});
  return tensors;
}

void Conv1D::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  if (memory.Has(Transposed)) dense_transpose(memory.F32(Transposed), memory.F32(kWeights), shape_, pool);
}

void Conv1D::StartForward(const OwnerMemory& memory, int64_t rows) const {
  if (past() > 0) std::memset(memory.Bytes(Past), 0, static_cast<size_t>(rows * memory.bytes(Past)));
}

void Conv1D::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  if (memory.Has(GradPast)) std::memset(memory.Bytes(GradPast), 0, static_cast<size_t>(rows * memory.bytes(GradPast)));
}

template <typename Function>
void Conv1D::ForEachTap(const Block& block, Share share, bool ascending, const Function& function) const {
  for (int i = 0; i < block.rows.steps; ++i) {
    const int step = ascending ? i : block.rows.steps - 1 - i;
    const int64_t end = share.begin + ActiveIn(block.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      for (int64_t tap = 0; tap < config_.taps; ++tap) {
        function(row, block.rows.first[step] + row, tap, step - (config_.taps - 1 - tap) * config_.dilation);
      }
    }
  }
}

// Lays beside each row-step all that it looks at. Past rows: [row][past][inputs].
void Conv1D::Gather(const Slice& in, const float* past_rows, const OwnerMemory& memory, ThreadPool& pool) const {
  const Block& block = *in.block;
  const int64_t inputs = config_.inputs, past_stride = WholeVectors(past_floats());
  float* columns = memory.F32(Columns);
  pool.Run([&](int part) {
    const Share share = RowShare(block.rows, part, pool.size());
    ForEachTap(block, share, /*ascending=*/true, [&](int64_t row, int64_t place, int64_t tap, int64_t looked) {
      const float* from = looked >= 0 ? in.data + (block.rows.first[looked] + row) * in.stride
                                      : past_rows + row * past_stride + (past() + looked) * inputs;
      CopyRows(columns + place * shape_.input_stride + tap * inputs, from, 1, inputs);
    });
  });
}

void Conv1D::Finish(const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const float* weights = memory.F32(kWeights);
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    float* y = out.data + first * out.stride;
    dense_rows_forward(y, memory.F32(Columns) + first * shape_.input_stride, weights,
                       config_.use_bias ? weights + shape_.weights() : nullptr, rows, shape_, tiles_);
    activation_forward(y, config_.activation, rows, shape_.units, out.stride);
  });
}

void Conv1D::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const Block& block = *in.block;
  const int64_t inputs = config_.inputs, steps = block.rows.steps, past_stride = WholeVectors(past_floats());
  float* past_rows = past() > 0 ? memory.F32(Past) : nullptr;
  if (memory.Has(PastStart)) CopyRows(memory.F32(PastStart), past_rows, block.rows.rows[0], past_stride);
  Gather(in, past_rows, memory, *run.pool);
  Finish(out, memory, run);
  if (past_rows == nullptr) return;
  // What the next block looks back at: the last of these steps, and where there are too few, of those before. Rows that end
  // here look at nothing any more.
  const int64_t kept = std::max<int64_t>(0, past() - steps), own = past() - kept;
  for (int64_t row = 0; row < block.rows.rows[steps - 1]; ++row) {
    float* rows = past_rows + row * past_stride;
    std::memmove(rows, rows + (past() - kept) * inputs, static_cast<size_t>(kept * inputs * kFloat));
    for (int64_t i = 0; i < own; ++i) {
      CopyRows(rows + (kept + i) * inputs, in.data + (block.rows.first[steps - own + i] + row) * in.stride, 1, inputs);
    }
  }
}

void Conv1D::Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  Gather(in, past() > 0 ? memory.F32(PastStart) : nullptr, memory, *run.pool);
  Finish(out, memory, run);
}

void Conv1D::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                      const RunContext& run) const {
  const Block& block = *in.block;
  const int64_t inputs = config_.inputs, steps = block.rows.steps, past_stride = WholeVectors(past_floats());
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    activation_backward(d_out.data + first * d_out.stride, out.data + first * out.stride, config_.activation, rows,
                        shape_.units, out.stride);
  });
  if (config_.learns) {
    float* gradient = memory.F32(kGradient);
    dense_gradient(gradient, config_.use_bias ? gradient + shape_.weights() : nullptr, d_out.data, memory.F32(Columns),
                   out.count, shape_, tiles_, *run.pool);
  }
  if (d_in.data == nullptr) return;
  float *d_columns = memory.F32(GradColumns), *d_past = past() > 0 ? memory.F32(GradPast) : nullptr;
  dense_backward(d_columns, d_out.data, memory.F32(Transposed), out.count, shape_, tiles_, *run.pool);
  run.pool->Run([&](int part) {
    const Share share = RowShare(block.rows, part, run.pool->size());
    // What the blocks behind say about these steps, and about those before: the same rows, moved on by as many steps.
    for (int step = 0; step < steps; ++step) {
      const int64_t end = share.begin + ActiveIn(block.rows, step, share), behind = past() - steps + step;
      for (int64_t row = share.begin; row < end; ++row) {
        float* d = d_in.data + (block.rows.first[step] + row) * d_in.stride;
        std::memset(d, 0, static_cast<size_t>(WholeVectors(inputs) * kFloat));
        if (behind >= 0) CopyRows(d, d_past + row * past_stride + behind * inputs, 1, inputs);
      }
    }
    const int64_t rows = share.begin + ActiveIn(block.rows, 0, share), moved = std::min<int64_t>(steps, past());
    for (int64_t row = share.begin; row < rows && d_past != nullptr; ++row) {
      float* d = d_past + row * past_stride;
      std::memmove(d + moved * inputs, d, static_cast<size_t>((past() - moved) * inputs * kFloat));
      std::memset(d, 0, static_cast<size_t>(moved * inputs * kFloat));
    }
    ForEachTap(block, share, /*ascending=*/false, [&](int64_t row, int64_t place, int64_t tap, int64_t looked) {
      float* to = looked >= 0 ? d_in.data + (block.rows.first[looked] + row) * d_in.stride
                              : d_past + row * past_stride + (past() + looked) * inputs;
      const float* from = d_columns + place * shape_.input_stride + tap * inputs;
      for (int64_t i = 0; i < inputs; ++i) to[i] += from[i];
    });
  });
}

}  // namespace plimsoll
