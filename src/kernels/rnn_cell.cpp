#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn_cell.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/activation-inl.h"
#include "kernels/cells.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kColumns = 32;

template <class Outer>
void RnnForwardBy(Outer outer, float* HWY_RESTRICT gates, float* HWY_RESTRICT h, int64_t n, int64_t units, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, h += stride) {
    for (int64_t u = 0; u < units; u += lanes) {
      const Vector value = outer(d, hn::LoadU(d, gates + u));
      hn::StoreU(value, d, gates + u);
      hn::StoreU(value, d, h + u);
    }
  }
}

void RnnReplay(float* HWY_RESTRICT h, const float* HWY_RESTRICT gates, int64_t n, int64_t units, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, h += stride) {
    for (int64_t u = 0; u < units; u += lanes) hn::StoreU(hn::LoadU(d, gates + u), d, h + u);
  }
}

template <class Outer>
void RnnBackwardBy(Outer outer, float* HWY_RESTRICT gates, const float* HWY_RESTRICT d_h, const float* HWY_RESTRICT d_out,
                   int64_t n, int64_t units, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, d_h += stride, d_out += stride) {
    for (int64_t u = 0; u < units; u += lanes) {
      const Vector value = hn::LoadU(d, gates + u);
      const Vector dh = hn::Add(hn::LoadU(d, d_out + u), hn::LoadU(d, d_h + u));
      hn::StoreU(hn::Mul(dh, outer.Slope(d, value)), d, gates + u);
    }
  }
}

void RnnForward(CellActivations by, float* gates, float* h, int64_t n, int64_t units, int64_t stride) {
  if (by.usual()) return RnnForwardBy(TanhFunction(), gates, h, n, units, stride);
  RnnForwardBy(AnyFunction{by.outer}, gates, h, n, units, stride);
}

void RnnBackward(CellActivations by, float* gates, const float* d_h, const float* d_out, int64_t n, int64_t units,
                 int64_t stride) {
  if (by.usual()) return RnnBackwardBy(TanhFunction(), gates, d_h, d_out, n, units, stride);
  RnnBackwardBy(AnyFunction{by.outer}, gates, d_h, d_out, n, units, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(RnnForward);
HWY_EXPORT(RnnReplay);
HWY_EXPORT(RnnBackward);

void rnn_cell_forward(CellActivations by, float* gates, float* h, int64_t n, int64_t units, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RnnForward)(by, gates, h, n, units, stride);
}
void rnn_cell_replay(float* h, const float* gates, int64_t n, int64_t units, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RnnReplay)(h, gates, n, units, stride);
}
void rnn_cell_backward(CellActivations by, float* gates, const float* d_h, const float* d_out, int64_t n, int64_t units,
                       int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RnnBackward)(by, gates, d_h, d_out, n, units, stride);
}

}  // namespace plimsoll
#endif
