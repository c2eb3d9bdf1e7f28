#include "layers/activation.h"

#include <fmt/format.h>

#include <cstring>

#include "kernels/pointwise.h"
#include "layers/activation_names.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

// Zeros fill up the last vector.
void CopyRows(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride, static_cast<size_t>(width) * sizeof(float));
    for (int64_t at = width; at < WholeVectors(width); ++at) to[row * to_stride + at] = 0.0f;
  }
}

}  // namespace

std::string ActivationLayer::Describe() const { return fmt::format("Activation({})", ActivationName(config_.activation)); }

void ActivationLayer::Forward(const Slice& in, const Slice& out, const OwnerMemory&, const RunContext& run) const {
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    float* y = out.data + first * out.stride;
    CopyRows(y, out.stride, in.data + first * in.stride, in.stride, rows, config_.width);
    activation_forward(y, config_.activation, rows, config_.width, out.stride);
  });
}

void ActivationLayer::Backward(const Slice&, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory&,
                               const RunContext& run) const {
  if (d_in.data == nullptr) return;
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    float* d = d_in.data + first * d_in.stride;
    CopyRows(d, d_in.stride, d_out.data + first * d_out.stride, d_out.stride, rows, config_.width);
    activation_backward(d, out.data + first * out.stride, config_.activation, rows, config_.width, out.stride);
  });
}

}  // namespace plimsoll
