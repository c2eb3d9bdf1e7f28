#include "layers/layer_normalization.h"

#include <fmt/format.h>

#include "kernels/normalize.h"
#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Statistics = kFirstOwnKey };
constexpr int64_t kFloat = sizeof(float);

}  // namespace

std::string LayerNormalization::Describe() const { return fmt::format("LayerNormalization(epsilon={})", config_.epsilon); }

void LayerNormalization::Declare(NeedList& needs, bool /*training*/) const {
  needs.Param(kWeights, "weights", 2 * beta() * kFloat);
  needs.Scratch(Statistics, "means and deviations", NeedUnit::RowStep, 2 * kFloat, StepMoment::Forward, StepMoment::Backward);
}

std::vector<WeightTensor> LayerNormalization::Weights() const {
  return {{.name = "weight",
           .rows = config_.width,
           .columns = 1,
           .vector = true,
           .stride = 1,
           .rule = {.start = Initializer::Ones}},
          {.name = "bias", .rows = config_.width, .columns = 1, .vector = true, .offset = beta(), .stride = 1}};
}

void LayerNormalization::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const float* gamma = memory.F32(kWeights);
  float* statistics = memory.F32(Statistics);
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    const NormalRows shape{.rows = rows, .width = config_.width, .x_stride = in.stride};
    const float* x = in.data + first * in.stride;
    normal_statistics(statistics + 2 * first, x, static_cast<float>(config_.epsilon), shape);
    normalize_forward(out.data + first * out.stride, out.stride, x, statistics + 2 * first, gamma, gamma + beta(), shape);
  });
}

void LayerNormalization::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in,
                                  const OwnerMemory& memory, const RunContext& run) const {
  const float* gamma = memory.F32(kWeights);
  float* statistics = memory.F32(Statistics);
  const NormalRows shape{.rows = out.count, .width = config_.width, .x_stride = in.stride};
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    NormalRows own = shape;
    own.rows = rows;
    const float* x = in.data + first * in.stride;
    normal_statistics(statistics + 2 * first, x, static_cast<float>(config_.epsilon), own);
    if (d_in.data == nullptr) return;
    normalize_backward(d_in.data + first * d_in.stride, d_in.stride, d_out.data + first * d_out.stride, d_out.stride, x,
                       statistics + 2 * first, gamma, own);
  });
  if (!config_.learns) return;
  // Threads own columns, so that rows are added in one fixed order.
  float* gradient = memory.F32(kGradient);
  run.pool->Run([&](int part) {
    const Share columns = ShareOf(WholeVectors(config_.width), part, run.pool->size(), 8);
    normalize_gradient(gradient, gradient + beta(), d_out.data, d_out.stride, in.data, statistics, columns.begin, columns.end,
                       shape);
  });
}

}  // namespace plimsoll
