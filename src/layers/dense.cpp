#include "layers/dense.h"

#include <fmt/format.h>

#include "kernels/pointwise.h"
#include "layers/activation_names.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Transposed = kFirstOwnKey };
constexpr int64_t kFloat = sizeof(float);

}  // namespace

Dense::Dense(const Config& config)
    : shape_{.inputs = config.inputs,
             .units = config.units,
             .input_stride = config.input_stride,
             .input_gradient = config.input_gradient},
      activation_(config.activation),
      learns_(config.learns),
      kernel_(config.kernel),
      bias_(config.bias) {}

std::string Dense::Describe() const {
  if (activation_ == Activation::Linear) return fmt::format("Dense(units={})", shape_.units);
  return fmt::format("Dense(units={}, activation={})", shape_.units, ActivationName(activation_));
}

LayerWork Dense::Work() const {
  constexpr double kPointwise = 50.0;  // a unit: bias, activation, and the loss behind the last layer
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const double products = (shape_.input_gradient ? 2.0 : 0.0) + (learns_ ? 2.0 : 0.0);
  return {.forward = 2.0 * inputs * units + kPointwise * units, .backward = products * inputs * units + kPointwise * units};
}

void Dense::Declare(NeedList& needs, bool training) const {
  needs.Param(kWeights, "weights", (shape_.weights() + shape_.bias()) * kFloat);
  if (training && shape_.input_gradient) needs.Param(Transposed, "transposed weights", shape_.transposed() * kFloat);
}

std::vector<WeightTensor> Dense::Weights() const {
  return {
      {.name = "weight", .rows = shape_.units, .columns = shape_.inputs, .order = WeightTensor::Order::Panels, .rule = kernel_},
      {.name = "bias",
       .rows = shape_.units,
       .columns = 1,
       .vector = true,
       .order = WeightTensor::Order::Panels,
       .offset = shape_.weights(),
       .rule = bias_}};
}

void Dense::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  if (memory.Has(Transposed)) dense_transpose(memory.F32(Transposed), memory.F32(kWeights), shape_, pool);
}

void Dense::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const float* weights = memory.F32(kWeights);
  dense_forward(out.data, in.data, weights, weights + shape_.weights(), out.count, shape_, tiles_, *run.pool);
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    activation_forward(out.data + first * out.stride, activation_, rows, shape_.units, out.stride);
  });
}

void Dense::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                     const RunContext& run) const {
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    activation_backward(d_out.data + first * d_out.stride, out.data + first * out.stride, activation_, rows, shape_.units,
                        out.stride);
  });
  if (learns_) {
    float* gradient = memory.F32(kGradient);
    dense_gradient(gradient, gradient + shape_.weights(), d_out.data, in.data, out.count, shape_, tiles_, *run.pool);
  }
  if (d_in.data != nullptr) {
    dense_backward(d_in.data, d_out.data, memory.F32(Transposed), out.count, shape_, tiles_, *run.pool);
  }
}

}  // namespace plimsoll
