#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <cmath>

#include "kernels/activation-inl.h"
#include "kernels/pointwise.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;

void FillRows(float* out, const float* values, int64_t rows, int64_t width, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t at = 0; at < width; at += lanes) {
    const Vector value = hn::LoadU(d, values + at);
    for (int64_t row = 0; row < rows; ++row) hn::StoreU(value, d, out + row * stride + at);
  }
}

// The columns [at, width) by some vectors side by side, as often as those fit: a sum waits for the row before, and not for its
// neighbours. Returns the first column that is left.
template <int kVectors, class D>
HWY_INLINE int64_t AddColumns(D d, float* sum, const float* in, int64_t rows, int64_t at, int64_t width, int64_t stride) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; at + kVectors * lanes <= width; at += kVectors * lanes) {
    hn::Vec<D> totals[kVectors];
    for (int v = 0; v < kVectors; ++v) totals[v] = hn::LoadU(d, sum + at + v * lanes);
    for (int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) totals[v] = hn::Add(totals[v], hn::LoadU(d, in + row * stride + at + v * lanes));
    }
    for (int v = 0; v < kVectors; ++v) hn::StoreU(totals[v], d, sum + at + v * lanes);
  }
  return at;
}

void AddRows(float* sum, const float* in, int64_t rows, int64_t width, int64_t stride) {
  const hn::CappedTag<float, 16> wide;
  int64_t at = AddColumns<4>(wide, sum, in, rows, 0, width, stride);
  at = AddColumns<3>(wide, sum, in, rows, at, width, stride);  // the gates of a GRU
  at = AddColumns<2>(wide, sum, in, rows, at, width, stride);
  AddColumns<1>(Tag(), sum, in, rows, at, width, stride);
}

void CopyRowsAt(float* out, const float* table, const int32_t* ids, int64_t rows, int64_t width, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = table + ids[row] * stride;
    for (int64_t at = 0; at < width; at += lanes) hn::StoreU(hn::LoadU(d, from + at), d, out + row * stride + at);
  }
}

void AddRowsAt(float* table, const int32_t* ids, const float* in, int64_t rows, int64_t width, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row) {
    float* sums = table + ids[row] * stride;
    for (int64_t at = 0; at < width; at += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, sums + at), hn::LoadU(d, in + row * stride + at)), d, sums + at);
    }
  }
}

// value = function(value, other) for all elements of the rows.
template <class Function>
void ForElements(float* values, const float* others, int64_t rows, int64_t width, int64_t stride, const Function& function) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t at = row * stride; at < row * stride + width; at += lanes) {
      hn::StoreU(function(hn::LoadU(d, values + at), hn::LoadU(d, others + at)), d, values + at);
    }
  }
}

void AddElements(float* out, const float* in, int64_t rows, int64_t width, int64_t stride) {
  ForElements(out, in, rows, width, stride, [](Vector a, Vector b) { return hn::Add(a, b); });
}

void MultiplyElements(float* out, const float* in, const float* factors, int64_t rows, int64_t width, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t at = row * stride; at < row * stride + width; at += lanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, in + at), hn::LoadU(d, factors + at)), d, out + at);
    }
  }
}

void ActivationForward(float* y, Activation activation, int64_t rows, int64_t width, int64_t stride) {
  if (activation == Activation::Linear || activation == Activation::Softmax) return;
  const Tag d;
  const AnyFunction function{activation};
  ForElements(y, y, rows, width, stride, [&](Vector v, Vector) { return function(d, v); });
}

void ActivationBackward(float* gradient, const float* y, Activation activation, int64_t rows, int64_t width, int64_t stride) {
  if (activation == Activation::Linear || activation == Activation::Softmax) return;
  const Tag d;
  const AnyFunction function{activation};
  ForElements(gradient, y, rows, width, stride, [&](Vector g, Vector v) { return hn::Mul(g, function.Slope(d, v)); });
}

double SquareSum(const float* values, int64_t count) {
  const hn::CappedTag<double, 4> d;
  const hn::Rebind<float, hn::CappedTag<double, 4>> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(d);
  int64_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    const auto value = hn::PromoteTo(d, hn::LoadU(half, values + at));
    sums = hn::MulAdd(value, value, sums);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; at < count; ++at) total += static_cast<double>(values[at]) * static_cast<double>(values[at]);
  return total;
}

// Without their sign, the bits of a float are the larger the further it is from zero, and largest where it is not finite.
bool AllFinite(const float* values, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> bits;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto most = hn::Zero(bits);
  int64_t at = 0;
  for (; at + lanes <= count; at += lanes) most = hn::Max(most, hn::BitCast(bits, hn::Abs(hn::LoadU(d, values + at))));
  bool finite = hn::AllFalse(bits, hn::Gt(most, hn::Set(bits, 0x7F7FFFFF)));
  for (; at < count; ++at) finite = finite && std::isfinite(values[at]);
  return finite;
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(FillRows);
HWY_EXPORT(AddRows);
HWY_EXPORT(CopyRowsAt);
HWY_EXPORT(AddRowsAt);
HWY_EXPORT(AddElements);
HWY_EXPORT(MultiplyElements);
HWY_EXPORT(ActivationForward);
HWY_EXPORT(ActivationBackward);
HWY_EXPORT(SquareSum);
HWY_EXPORT(AllFinite);

void fill_rows(float* out, const float* values, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(FillRows)(out, values, rows, width, stride);
}
void add_rows(float* sum, const float* in, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(AddRows)(sum, in, rows, width, stride);
}
void copy_rows_at(float* out, const float* table, const int32_t* ids, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(CopyRowsAt)(out, table, ids, rows, width, stride);
}
void add_rows_at(float* table, const int32_t* ids, const float* in, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(AddRowsAt)(table, ids, in, rows, width, stride);
}
void add_elements(float* out, const float* in, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(AddElements)(out, in, rows, width, stride);
}
void multiply_elements(float* out, const float* in, const float* factors, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MultiplyElements)(out, in, factors, rows, width, stride);
}
void activation_forward(float* y, Activation activation, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(ActivationForward)(y, activation, rows, width, stride);
}
void activation_backward(float* d, const float* y, Activation activation, int64_t rows, int64_t width, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(ActivationBackward)(d, y, activation, rows, width, stride);
}
double square_sum(const float* values, int64_t count) { return HWY_DYNAMIC_DISPATCH(SquareSum)(values, count); }
bool all_finite(const float* values, int64_t count) { return HWY_DYNAMIC_DISPATCH(AllFinite)(values, count); }

}  // namespace plimsoll
#endif
