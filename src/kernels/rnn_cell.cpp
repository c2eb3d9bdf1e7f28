#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn_cell.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cell_units-inl.h"
#include "kernels/cells.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Outer>
void RnnForwardBy(Outer outer, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT h, int64_t n,
                  int64_t stride) {
  ForUnitsTogether(outer, n, panel.units, [&](auto d, int64_t row, int64_t u) {
    float* own = gates + row * panel.lanes + u;
    const auto value = outer(d, Add(LoadRows(d, own, panel.lanes), LoadRows(d, panel.bias + u, 0)));
    StoreRows(value, d, own, panel.lanes);
    StoreRows(value, d, h + row * stride + u, stride);
  });
}

void RnnReplay(const CellPanel& panel, float* HWY_RESTRICT h, const float* HWY_RESTRICT gates, int64_t n, int64_t stride) {
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    hn::StoreU(hn::LoadU(d, gates + row * panel.lanes + u), d, h + row * stride + u);
  });
}

template <class Outer>
void RnnBackwardBy(Outer outer, const CellPanel& panel, float* HWY_RESTRICT gates, const float* HWY_RESTRICT d_h,
                   const float* HWY_RESTRICT d_out, int64_t n, int64_t stride) {
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    float* own = gates + row * panel.lanes + u;
    const int64_t at = row * stride + u;
    const auto dh = GradientOfH(d, d_h, d_out, at);
    hn::StoreU(hn::Mul(dh, outer.Slope(d, hn::LoadU(d, own))), d, own);
  });
}

void RnnForward(const CellPanel& panel, float* gates, float* h, int64_t n, int64_t stride) {
  if (panel.by.usual()) return RnnForwardBy(TanhFunction(), panel, gates, h, n, stride);
  RnnForwardBy(AnyFunction{panel.by.outer}, panel, gates, h, n, stride);
}

void RnnBackward(const CellPanel& panel, float* gates, const float* d_h, const float* d_out, int64_t n, int64_t stride) {
  if (panel.by.usual()) return RnnBackwardBy(TanhFunction(), panel, gates, d_h, d_out, n, stride);
  RnnBackwardBy(AnyFunction{panel.by.outer}, panel, gates, d_h, d_out, n, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(RnnForward);
HWY_EXPORT(RnnReplay);
HWY_EXPORT(RnnBackward);

void rnn_cell_forward(const CellPanel& panel, float* gates, float* h, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RnnForward)(panel, gates, h, n, stride);
}
void rnn_cell_replay(const CellPanel& panel, float* h, const float* gates, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RnnReplay)(panel, h, gates, n, stride);
}
void rnn_cell_backward(const CellPanel& panel, float* gates, const float* d_h, const float* d_out, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(RnnBackward)(panel, gates, d_h, d_out, n, stride);
}

}  // namespace plimsoll
#endif
