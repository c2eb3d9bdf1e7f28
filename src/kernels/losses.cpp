#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/losses.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/block_rows.h"
#include "kernels/losses.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;

void SoftmaxCrossEntropy(float* logits, double* losses, double* hits, const int32_t* classes, float smoothing, float scale,
                         int64_t rows, int64_t width, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t padded = WholeVectors(width);
  const float spread = smoothing / static_cast<float>(width);
  for (int64_t row = 0; row < rows; ++row) {
    float* x = logits + row * stride;
    for (int64_t at = width; at < padded; ++at) x[at] = -std::numeric_limits<float>::infinity();
    Vector most = hn::LoadU(d, x);
    for (int64_t at = lanes; at < padded; at += lanes) most = hn::Max(most, hn::LoadU(d, x + at));
    const Vector top = hn::MaxOfLanes(d, most);
    const float largest = hn::GetLane(top);
    const float own = x[classes[row]];
    bool hit = own == largest;  // and the first of its kind
    for (int64_t at = 0; at < classes[row] && hit; ++at) hit = x[at] != largest;
    double below = 0.0;  // how far all logits together lie below the largest
    for (int64_t at = 0; at < width && smoothing > 0.0f; ++at) {
      below += static_cast<double>(largest) - static_cast<double>(x[at]);
    }
    Vector sums = hn::Zero(d);
    for (int64_t at = 0; at < padded; at += lanes) {
      const Vector value = ExpOfNegative(d, hn::Sub(hn::LoadU(d, x + at), top));
      hn::StoreU(value, d, x + at);
      sums = hn::Add(sums, value);
    }
    const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    const double own_below = static_cast<double>(largest) - static_cast<double>(own);
    losses[row] = std::log(static_cast<double>(sum)) + static_cast<double>(1.0f - smoothing) * own_below +
                  static_cast<double>(spread) * below;
    hits[row] = hit ? 1.0 : 0.0;
    const Vector factor = hn::Set(d, scale / sum);
    for (int64_t at = 0; at < padded; at += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + at), factor), d, x + at);
    x[classes[row]] -= scale * (1.0f - smoothing);
    for (int64_t at = 0; at < width && smoothing > 0.0f; ++at) x[at] -= scale * spread;
  }
}

// A mean over the width of loss(d) with d = y - target; slope(d) is its derivative.
template <class Loss, class Slope>
void MeanOver(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width, int64_t stride,
              const Loss& loss, const Slope& slope) {
  const float factor = scale / static_cast<float>(width);
  for (int64_t row = 0; row < rows; ++row) {
    float* value = y + row * stride;
    double sum = 0.0;
    for (int64_t at = 0; at < width; ++at) {
      const float difference = value[at] - targets[row * width + at];
      sum += loss(static_cast<double>(difference));
      value[at] = slope(difference) * factor;
    }
    for (int64_t at = width; at < WholeVectors(width); ++at) value[at] = 0.0f;
    losses[row] = sum / static_cast<double>(width);
  }
}

void MeanSquaredError(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width,
                      int64_t stride) {
  MeanOver(
      y, losses, targets, scale, rows, width, stride, [](double d) { return d * d; }, [](float d) { return 2.0f * d; });
}

void MeanAbsoluteError(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width,
                       int64_t stride) {
  MeanOver(
      y, losses, targets, scale, rows, width, stride, [](double d) { return std::abs(d); },
      [](float d) { return d > 0.0f   ? 1.0f
                           : d < 0.0f ? -1.0f
                                      : d; });  // NaN stays
}

void HuberLoss(float* y, double* losses, const float* targets, float delta, float scale, int64_t rows, int64_t width,
               int64_t stride) {
  const auto bend = static_cast<double>(delta);
  MeanOver(
      y, losses, targets, scale, rows, width, stride,
      [=](double d) { return std::abs(d) <= bend ? 0.5 * d * d : bend * (std::abs(d) - 0.5 * bend); },
      [=](float d) { return d > delta    ? delta
                            : d < -delta ? -delta
                                         : d; });
}

// -t log(s) - (1 - t) log(1 - s) with s = sigmoid(x) is  max(x, 0) - t x + log(1 + exp(-|x|)). The logarithms of a row are
// taken of products, some factors (from 1 to 2) at a time.
void BinaryCrossEntropy(float* logits, double* losses, const float* targets, float smoothing, float scale, int64_t rows,
                        int64_t width, int64_t stride) {
  constexpr int64_t kFactors = 512;  // 2^512 is still a double
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float factor = scale / static_cast<float>(width);
  for (int64_t row = 0; row < rows; ++row) {
    float* x = logits + row * stride;
    const auto target = [&](int64_t at) { return targets[row * width + at] * (1.0f - smoothing) + 0.5f * smoothing; };
    double sum = 0.0, product = 1.0;
    HWY_ALIGN float small[8];
    for (int64_t begin = 0; begin < width; begin += lanes) {
      const Vector values = hn::LoadU(d, x + begin);
      const Vector lowest = hn::Set(d, -87.0f);
      hn::Store(ExpInRange(d, hn::Max(lowest, hn::Neg(hn::Abs(values)))), d, small);
      for (int64_t at = begin; at < std::min(begin + lanes, width); ++at) {
        const auto logit = static_cast<double>(x[at]);
        sum += (logit < 0.0 ? 0.0 : logit) - static_cast<double>(target(at)) * logit;
        product *= 1.0 + static_cast<double>(small[at - begin]);
        if ((at + 1) % kFactors == 0) {
          sum += std::log(product);
          product = 1.0;
        }
      }
      hn::StoreU(Sigmoid(d, values), d, x + begin);
    }
    for (int64_t at = 0; at < width; ++at) x[at] = (x[at] - target(at)) * factor;
    for (int64_t at = width; at < WholeVectors(width); ++at) x[at] = 0.0f;
    losses[row] = (sum + std::log(product)) / static_cast<double>(width);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(SoftmaxCrossEntropy);
HWY_EXPORT(MeanSquaredError);
HWY_EXPORT(MeanAbsoluteError);
HWY_EXPORT(HuberLoss);
HWY_EXPORT(BinaryCrossEntropy);

void softmax_cross_entropy(float* logits, double* losses, double* hits, const int32_t* classes, float smoothing, float scale,
                           int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(SoftmaxCrossEntropy)(logits, losses, hits, classes, smoothing, scale, rows, width, stride);
}
void mean_squared_error(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width,
                        int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MeanSquaredError)(y, losses, targets, scale, rows, width, stride);
}
void mean_absolute_error(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width,
                         int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MeanAbsoluteError)(y, losses, targets, scale, rows, width, stride);
}
void huber_loss(float* y, double* losses, const float* targets, float delta, float scale, int64_t rows, int64_t width,
                int64_t stride) {
  HWY_DYNAMIC_DISPATCH(HuberLoss)(y, losses, targets, delta, scale, rows, width, stride);
}
void binary_cross_entropy(float* logits, double* losses, const float* targets, float smoothing, float scale, int64_t rows,
                          int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BinaryCrossEntropy)(logits, losses, targets, smoothing, scale, rows, width, stride);
}

}  // namespace plimsoll
#endif
