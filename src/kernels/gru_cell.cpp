#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gru_cell.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cell_units-inl.h"
#include "kernels/cells.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kGates = 4, kGatesBefore = 3;  // columns for each unit of a panel: n z r q; n z r with the reset before

// A row's gates from one unit on.
template <class Float>
struct OwnGates {
  Float *n, *z, *r, *q;
};
template <class Float>
HWY_INLINE OwnGates<Float> GatesOf(const CellPanel& panel, Float* gates, int64_t columns, int64_t row, int64_t u) {
  Float* n = gates + row * columns * panel.lanes + u;
  return {n, n + panel.lanes, n + 2 * panel.lanes, n + 3 * panel.lanes};
}

template <class D>
HWY_INLINE auto Sum(D d, const float* products, int64_t columns, const float* bias) {
  return Add(LoadRows(d, products, columns), LoadRows(d, bias, 0));
}

// h = n + z (h' - n)
template <class V>
HWY_INLINE V Mix(V n, V z, V h_before) {
  return MulAdd(z, Sub(h_before, n), n);
}

// delta of n and z, and the part of the gradient of h' that needs no product.
template <class V>
struct MixGradient {
  V delta_n, delta_z, d_h;
};
template <class Outer, class Gate, class D, class V = hn::Vec<D>>
HWY_INLINE MixGradient<V> MixBackward(Outer outer, Gate gate, D d, V n, V z, V dh, V h_before) {
  return {.delta_n = hn::Mul(hn::Mul(dh, hn::Sub(hn::Set(d, 1.0f), z)), outer.Slope(d, n)),
          .delta_z = hn::Mul(hn::Mul(dh, hn::Sub(h_before, n)), gate.Slope(d, z)),
          .d_h = hn::Mul(dh, z)};
}

template <class Outer, class Gate>
void GruForwardBy(Outer outer, Gate gate, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT h,
                  const float* h_before, int64_t n, int64_t stride) {
  const int64_t columns = kGates * panel.lanes;
  ForUnitsTogether(outer, n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, kGates, row, u);
    const int64_t at = row * stride + u;
    const auto bias = GatesOf(panel, panel.bias, kGates, 0, u);
    const auto z = gate(d, Sum(d, own.z, columns, bias.z));
    const auto r = gate(d, Sum(d, own.r, columns, bias.r));
    const auto candidate = outer(d, MulAdd(r, LoadRows(d, own.q, columns), Sum(d, own.n, columns, bias.n)));
    StoreRows(candidate, d, own.n, columns);
    StoreRows(z, d, own.z, columns);
    StoreRows(r, d, own.r, columns);
    StoreRows(Mix(candidate, z, LoadRows(d, h_before + at, stride)), d, h + at, stride);
  });
}

void GruReplay(const CellPanel& panel, float* HWY_RESTRICT h, const float* h_before, const float* HWY_RESTRICT gates,
               int64_t gates_of_unit, int64_t n, int64_t stride) {
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, gates_of_unit, row, u);
    const int64_t at = row * stride + u;
    const auto mixed = Mix(hn::LoadU(d, own.n), hn::LoadU(d, own.z), hn::LoadU(d, h_before + at));
    hn::StoreU(mixed, d, h + at);
  });
}

template <class Outer, class Gate>
void GruBackwardBy(Outer outer, Gate gate, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h,
                   const float* d_out, const float* h_before, int64_t n, int64_t stride) {
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, kGates, row, u);
    const int64_t at = row * stride + u;
    const auto r = hn::LoadU(d, own.r);
    const auto dh = GradientOfH(d, d_h, d_out, at);
    const auto mix = MixBackward(outer, gate, d, hn::LoadU(d, own.n), hn::LoadU(d, own.z), dh, hn::LoadU(d, h_before + at));
    hn::StoreU(mix.delta_n, d, own.n);
    hn::StoreU(mix.delta_z, d, own.z);
    hn::StoreU(hn::Mul(hn::Mul(mix.delta_n, hn::LoadU(d, own.q)), gate.Slope(d, r)), d, own.r);
    hn::StoreU(hn::Mul(mix.delta_n, r), d, own.q);
    hn::StoreU(mix.d_h, d, d_h + at);
  });
}

template <class Gate>
void GruReset(Gate gate, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT reset, const float* h_before,
              int64_t n, int64_t stride) {
  const int64_t columns = kGatesBefore * panel.lanes;
  ForUnitsTogether(gate, n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, kGatesBefore, row, u);
    const int64_t at = row * stride + u;
    const auto bias = GatesOf(panel, panel.bias, kGatesBefore, 0, u);
    const auto r = gate(d, Sum(d, own.r, columns, bias.r));
    StoreRows(gate(d, Sum(d, own.z, columns, bias.z)), d, own.z, columns);
    StoreRows(r, d, own.r, columns);
    StoreRows(Mul(r, LoadRows(d, h_before + at, stride)), d, reset + at, stride);
  });
}

template <class Outer>
void GruForwardBehindReset(Outer outer, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT h,
                           const float* h_before, int64_t n, int64_t stride) {
  const int64_t columns = kGatesBefore * panel.lanes;
  ForUnitsTogether(outer, n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, kGatesBefore, row, u);
    const int64_t at = row * stride + u;
    const auto candidate = outer(d, Sum(d, own.n, columns, panel.bias + u));
    StoreRows(candidate, d, own.n, columns);
    StoreRows(Mix(candidate, LoadRows(d, own.z, columns), LoadRows(d, h_before + at, stride)), d, h + at, stride);
  });
}

template <class Outer, class Gate>
void GruBackwardToReset(Outer outer, Gate gate, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h,
                        const float* d_out, const float* h_before, int64_t n, int64_t stride) {
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, kGatesBefore, row, u);
    const int64_t at = row * stride + u;
    const auto dh = GradientOfH(d, d_h, d_out, at);
    const auto mix = MixBackward(outer, gate, d, hn::LoadU(d, own.n), hn::LoadU(d, own.z), dh, hn::LoadU(d, h_before + at));
    hn::StoreU(mix.delta_n, d, own.n);
    hn::StoreU(mix.delta_z, d, own.z);
    hn::StoreU(mix.d_h, d, d_h + at);
  });
}

template <class Gate>
void GruBackwardThroughReset(Gate gate, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h,
                             float* HWY_RESTRICT reset, const float* d_reset, const float* h_before, int64_t n,
                             int64_t stride) {
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const auto own = GatesOf(panel, gates, kGatesBefore, row, u);
    const int64_t at = row * stride + u;
    const auto r = hn::LoadU(d, own.r);
    const auto h = hn::LoadU(d, h_before + at);
    const auto gradient = hn::LoadU(d, d_reset + at);
    hn::StoreU(hn::Mul(r, h), d, reset + at);
    hn::StoreU(hn::Mul(hn::Mul(gradient, h), gate.Slope(d, r)), d, own.r);
    hn::StoreU(hn::MulAdd(gradient, r, hn::LoadU(d, d_h + at)), d, d_h + at);
  });
}

void GruForward(const CellPanel& panel, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  if (panel.by.usual()) return GruForwardBy(TanhFunction(), SigmoidFunction(), panel, gates, h, h_before, n, stride);
  GruForwardBy(AnyFunction{panel.by.outer}, AnyFunction{panel.by.gate}, panel, gates, h, h_before, n, stride);
}

void GruBackward(const CellPanel& panel, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                 int64_t stride) {
  if (panel.by.usual()) return GruBackwardBy(TanhFunction(), SigmoidFunction(), panel, gates, d_h, d_out, h_before, n, stride);
  GruBackwardBy(AnyFunction{panel.by.outer}, AnyFunction{panel.by.gate}, panel, gates, d_h, d_out, h_before, n, stride);
}

void BeforeReset(const CellPanel& panel, float* gates, float* reset, const float* h_before, int64_t n, int64_t stride) {
  if (panel.by.usual()) return GruReset(SigmoidFunction(), panel, gates, reset, h_before, n, stride);
  GruReset(AnyFunction{panel.by.gate}, panel, gates, reset, h_before, n, stride);
}

void BeforeForward(const CellPanel& panel, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  if (panel.by.usual()) return GruForwardBehindReset(TanhFunction(), panel, gates, h, h_before, n, stride);
  GruForwardBehindReset(AnyFunction{panel.by.outer}, panel, gates, h, h_before, n, stride);
}

void BeforeBackward(const CellPanel& panel, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                    int64_t stride) {
  if (panel.by.usual())
    return GruBackwardToReset(TanhFunction(), SigmoidFunction(), panel, gates, d_h, d_out, h_before, n, stride);
  GruBackwardToReset(AnyFunction{panel.by.outer}, AnyFunction{panel.by.gate}, panel, gates, d_h, d_out, h_before, n, stride);
}

void BeforeBackwardReset(const CellPanel& panel, float* gates, float* d_h, float* reset, const float* d_reset,
                         const float* h_before, int64_t n, int64_t stride) {
  if (panel.by.usual())
    return GruBackwardThroughReset(SigmoidFunction(), panel, gates, d_h, reset, d_reset, h_before, n, stride);
  GruBackwardThroughReset(AnyFunction{panel.by.gate}, panel, gates, d_h, reset, d_reset, h_before, n, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(GruForward);
HWY_EXPORT(GruReplay);
HWY_EXPORT(GruBackward);
HWY_EXPORT(BeforeReset);
HWY_EXPORT(BeforeForward);
HWY_EXPORT(BeforeBackward);
HWY_EXPORT(BeforeBackwardReset);

void gru_cell_forward(const CellPanel& panel, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruForward)(panel, gates, h, h_before, n, stride);
}
void gru_cell_replay(const CellPanel& panel, float* h, const float* h_before, const float* gates, int64_t gates_of_unit,
                     int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruReplay)(panel, h, h_before, gates, gates_of_unit, n, stride);
}
void gru_cell_backward(const CellPanel& panel, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                       int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruBackward)(panel, gates, d_h, d_out, h_before, n, stride);
}
void gru_before_reset(const CellPanel& panel, float* gates, float* reset, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeReset)(panel, gates, reset, h_before, n, stride);
}
void gru_before_forward(const CellPanel& panel, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeForward)(panel, gates, h, h_before, n, stride);
}
void gru_before_backward(const CellPanel& panel, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                         int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeBackward)(panel, gates, d_h, d_out, h_before, n, stride);
}
void gru_before_backward_reset(const CellPanel& panel, float* gates, float* d_h, float* reset, const float* d_reset,
                               const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeBackwardReset)(panel, gates, d_h, reset, d_reset, h_before, n, stride);
}

}  // namespace plimsoll
#endif
