#include "layers/custom.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

constexpr int64_t kFloat = sizeof(float);

// Zeros fill up the last vector of each row.
void CloseRows(float* rows, int64_t count, int64_t width, int64_t stride) {
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t at = width; at < WholeVectors(width); ++at) rows[row * stride + at] = 0.0f;
  }
}

}  // namespace

Custom::Custom(Config config) : config_(std::move(config)), width_(config_.layer->Width(config_.inputs)) {
  for (CustomTensor& tensor : config_.layer->Weights(config_.inputs)) {
    const bool vector = tensor.shape.size() == 1;
    const int64_t rows = tensor.shape[0], columns = vector ? 1 : tensor.shape[1];
    tensors_.push_back({.name = std::move(tensor.name),
                        .rows = rows,
                        .columns = columns,
                        .vector = vector,
                        .offset = floats_,
                        .stride = columns,
                        .rule = {.start = tensor.start}});
    floats_ += WholeVectors(rows * columns);
  }
  PLIMSOLL_CHECK(tensors_.size() <= kMostTensors, "the spec bounds the tensors of a custom layer");
}

std::string Custom::Describe() const { return fmt::format("Custom({})", config_.function); }

void Custom::Declare(NeedList& needs, bool /*training*/) const {
  if (floats_ > 0) needs.Param(kWeights, "weights", floats_ * kFloat);
}

LayerWork Custom::Work() const {
  const double values = static_cast<double>(config_.inputs + width_);
  return {.forward = 50.0 * values, .backward = 100.0 * values};
}

CustomForward<float> Custom::RowsOf(const Slice& in, const Slice& out, int64_t first, int64_t rows) const {
  return {.rows = rows,
          .inputs = config_.inputs,
          .width = width_,
          .x = in.data + first * in.stride,
          .x_stride = in.stride,
          .y = out.data + first * out.stride,
          .y_stride = out.stride,
          .weights = {}};
}

void Custom::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  std::array<const float*, kMostTensors> weights = {};
  for (size_t i = 0; i < tensors_.size(); ++i) weights[i] = memory.F32(kWeights) + tensors_[i].offset;
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    CustomForward<float> at = RowsOf(in, out, first, rows);
    at.weights = {weights.data(), tensors_.size()};
    config_.layer->Forward(at);
    CloseRows(at.y, rows, width_, out.stride);
  });
}

// By one thread, so that whatever the layer adds up has one order.
void Custom::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                      const RunContext&) const {
  std::array<const float*, kMostTensors> weights = {};
  std::array<float*, kMostTensors> gradients = {};
  for (size_t i = 0; i < tensors_.size(); ++i) {
    weights[i] = memory.F32(kWeights) + tensors_[i].offset;
    if (config_.learns) gradients[i] = memory.F32(kGradient) + tensors_[i].offset;
  }
  CustomBackward<float> at{.forward = RowsOf(in, out, 0, out.count),
                           .d_y = d_out.data,
                           .d_y_stride = d_out.stride,
                           .d_x = d_in.data,
                           .d_x_stride = d_in.stride,
                           .d_weights = {gradients.data(), config_.learns ? tensors_.size() : 0}};
  at.forward.weights = {weights.data(), tensors_.size()};
  config_.layer->Backward(at);
  if (d_in.data != nullptr) CloseRows(d_in.data, d_in.count, config_.inputs, d_in.stride);
}

}  // namespace plimsoll
