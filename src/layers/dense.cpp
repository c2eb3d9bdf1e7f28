#include "layers/dense.h"

#include <fmt/format.h>

#include "kernels/pointwise.h"
#include "layers/activation_names.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Transposed = kFirstOwnKey };
constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kManyWeights = 1024 * 1024;  // from here on a second copy costs more than making it again for every slice

}  // namespace

Dense::Dense(const Config& config)
    : shape_{.inputs = config.inputs,
             .units = config.units,
             .input_stride = config.input_stride,
             .input_gradient = config.input_gradient,
             .in_chunks = config.inputs * config.units >= kManyWeights},
      activation_(config.activation),
      learns_(config.learns),
      kernel_(config.kernel),
      bias_(config.bias),
      tied_to_(config.tied_to) {}

std::string Dense::Describe() const {
  std::string more;
  if (activation_ != Activation::Linear) more += fmt::format(", activation={}", ActivationName(activation_));
  if (tied()) more += fmt::format(", tied_to={}", tied_to_);
  return fmt::format("Dense(units={}{})", shape_.units, more);
}

LayerWork Dense::Work() const {
  constexpr double kPointwise = 50.0;  // a unit: bias, activation, and the loss behind the last layer
  const auto inputs = static_cast<double>(shape_.inputs), units = static_cast<double>(shape_.units);
  const double products = (shape_.input_gradient ? 2.0 : 0.0) + (learns_ ? 2.0 : 0.0);
  return {.forward = 2.0 * inputs * units + kPointwise * units, .backward = products * inputs * units + kPointwise * units};
}

void Dense::Declare(NeedList& needs, bool training) const {
  needs.Param(kWeights, "weights", (own_weights() + shape_.bias()) * kFloat);
  if (!training || !shape_.input_gradient) return;
  const int64_t transposed = shape_.transposed() * kFloat;
  if (shape_.in_chunks) {
    needs.Scratch(Transposed, "weights transposed", NeedUnit::Whole, transposed, StepMoment::Head, StepMoment::Backward);
  } else {
    needs.Param(Transposed, "transposed weights", transposed);
  }
}

std::vector<WeightTensor> Dense::Weights() const {
  const WeightTensor kernel{
      .name = "weight", .rows = shape_.units, .columns = shape_.inputs, .order = WeightTensor::Order::Panels, .rule = kernel_};
  const WeightTensor bias{.name = "bias",
                          .rows = shape_.units,
                          .columns = 1,
                          .vector = true,
                          .order = WeightTensor::Order::Panels,
                          .offset = own_weights(),
                          .rule = bias_};
  return tied() ? std::vector{bias} : std::vector{kernel, bias};
}

void Dense::Prepare(const OwnerMemory& memory, ThreadPool& pool) const {
  if (memory.Has(Transposed) && !shape_.in_chunks) dense_transpose(memory.F32(Transposed), Kernel(memory), shape_, pool);
}

void Dense::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const float* bias = memory.F32(kWeights) + own_weights();
  dense_forward(out.data, in.data, Kernel(memory), bias, out.count, shape_, tiles_, *run.pool);
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
    float* kernel = memory.F32(tied() ? kTiedGradient : kGradient);
    dense_gradient(kernel, memory.F32(kGradient) + own_weights(), d_out.data, in.data, out.count, shape_, tiles_, *run.pool);
  }
  if (d_in.data == nullptr) return;
  float* transposed = memory.F32(Transposed);
  if (shape_.in_chunks) {
    dense_backward_in_chunks(d_in.data, d_out.data, Kernel(memory), transposed, out.count, shape_, tiles_, *run.pool);
  } else {
    dense_backward(d_in.data, d_out.data, transposed, out.count, shape_, tiles_, *run.pool);
  }
}

}  // namespace plimsoll
