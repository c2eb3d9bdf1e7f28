#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <cmath>

#include "kernels/block_rows.h"
#include "kernels/normalize.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;

// A vector of a row with `left` elements, zeros behind its end, which may be the end of all memory.
HWY_INLINE Vector LoadRow(const float* x, int64_t left) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (left >= lanes) return hn::LoadU(d, x);
  HWY_ALIGN float tail[8] = {};
  for (int64_t i = 0; i < left; ++i) tail[i] = x[i];
  return hn::Load(d, tail);
}

// The mean over a row of function(place); what it gives behind the row's end does not count.
template <class Function>
HWY_INLINE float MeanOf(int64_t width, const Function& function) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector sums = hn::Zero(d);
  for (int64_t at = 0; at < width; at += lanes) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(width - at));
    sums = hn::Add(sums, hn::IfThenElseZero(inside, function(at)));
  }
  return hn::GetLane(hn::SumOfLanes(d, sums)) / static_cast<float>(width);
}

void NormalStatistics(float* statistics, const float* x, float epsilon, const NormalRows& shape) {
  const Tag d;
  for (int64_t row = 0; row < shape.rows; ++row, x += shape.x_stride, statistics += 2) {
    const float mean = MeanOf(shape.width, [&](int64_t at) { return LoadRow(x + at, shape.width - at); });
    const Vector center = hn::Set(d, mean);
    const float variance = MeanOf(shape.width, [&](int64_t at) {
      const Vector off = hn::Sub(LoadRow(x + at, shape.width - at), center);
      return hn::Mul(off, off);
    });
    statistics[0] = mean;
    statistics[1] = 1.0f / std::sqrt(variance + epsilon);
  }
}

HWY_INLINE Vector Normal(const float* x, int64_t left, const float* statistics) {
  const Tag d;
  return hn::Mul(hn::Sub(LoadRow(x, left), hn::Set(d, statistics[0])), hn::Set(d, statistics[1]));
}

void NormalizeForward(float* HWY_RESTRICT y, int64_t y_stride, const float* HWY_RESTRICT x,
                      const float* HWY_RESTRICT statistics, const float* HWY_RESTRICT gamma, const float* HWY_RESTRICT beta,
                      const NormalRows& shape) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < shape.rows; ++row, x += shape.x_stride, y += y_stride, statistics += 2) {
    for (int64_t at = 0; at < WholeVectors(shape.width); at += lanes) {
      const Vector normal = Normal(x + at, shape.width - at, statistics);
      hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, gamma + at), hn::LoadU(d, beta + at)), d, y + at);
    }
  }
}

// With n the normalised row and g = d_y gamma:  d_x = (g - mean(g) - n mean(g n)) / sqrt(variance + epsilon)
void NormalizeBackward(float* HWY_RESTRICT d_x, int64_t d_x_stride, const float* HWY_RESTRICT d_y, int64_t d_y_stride,
                       const float* HWY_RESTRICT x, const float* HWY_RESTRICT statistics, const float* HWY_RESTRICT gamma,
                       const NormalRows& shape) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < shape.rows; ++row) {
    const auto normal = [&](int64_t at) { return Normal(x + at, shape.width - at, statistics); };
    const auto scaled = [&](int64_t at) { return hn::Mul(hn::LoadU(d, d_y + at), hn::LoadU(d, gamma + at)); };
    const Vector mean = hn::Set(d, MeanOf(shape.width, scaled));
    const Vector along = hn::Set(d, MeanOf(shape.width, [&](int64_t at) { return hn::Mul(scaled(at), normal(at)); }));
    for (int64_t at = 0; at < WholeVectors(shape.width); at += lanes) {
      const Vector rest = hn::Sub(hn::Sub(scaled(at), mean), hn::Mul(normal(at), along));
      const auto inside = hn::FirstN(d, static_cast<size_t>(at < shape.width ? shape.width - at : 0));
      hn::StoreU(hn::IfThenElseZero(inside, hn::Mul(rest, hn::Set(d, statistics[1]))), d, d_x + at);
    }
    x += shape.x_stride;
    d_y += d_y_stride;
    d_x += d_x_stride;
    statistics += 2;
  }
}

void NormalizeGradient(float* HWY_RESTRICT d_gamma, float* HWY_RESTRICT d_beta, const float* HWY_RESTRICT d_y,
                       int64_t d_y_stride, const float* HWY_RESTRICT x, const float* HWY_RESTRICT statistics, int64_t begin,
                       int64_t end, const NormalRows& shape) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t at = begin; at < end; at += lanes) {
    Vector of_gamma = hn::LoadU(d, d_gamma + at), of_beta = hn::LoadU(d, d_beta + at);
    for (int64_t row = 0; row < shape.rows; ++row) {
      const Vector gradient = hn::LoadU(d, d_y + row * d_y_stride + at);
      of_beta = hn::Add(of_beta, gradient);
      of_gamma = hn::MulAdd(gradient, Normal(x + row * shape.x_stride + at, shape.width - at, statistics + 2 * row), of_gamma);
    }
    hn::StoreU(of_gamma, d, d_gamma + at);
    hn::StoreU(of_beta, d, d_beta + at);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(NormalStatistics);
HWY_EXPORT(NormalizeForward);
HWY_EXPORT(NormalizeBackward);
HWY_EXPORT(NormalizeGradient);

void normal_statistics(float* statistics, const float* x, float epsilon, const NormalRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalStatistics)(statistics, x, epsilon, shape);
}
void normalize_forward(float* y, int64_t y_stride, const float* x, const float* statistics, const float* gamma,
                       const float* beta, const NormalRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizeForward)(y, y_stride, x, statistics, gamma, beta, shape);
}
void normalize_backward(float* d_x, int64_t d_x_stride, const float* d_y, int64_t d_y_stride, const float* x,
                        const float* statistics, const float* gamma, const NormalRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizeBackward)(d_x, d_x_stride, d_y, d_y_stride, x, statistics, gamma, shape);
}
void normalize_gradient(float* d_gamma, float* d_beta, const float* d_y, int64_t d_y_stride, const float* x,
                        const float* statistics, int64_t begin, int64_t end, const NormalRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizeGradient)(d_gamma, d_beta, d_y, d_y_stride, x, statistics, begin, end, shape);
}

}  // namespace plimsoll
#endif
