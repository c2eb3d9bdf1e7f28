#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gru_cell.cpp"
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
constexpr int64_t kUnits = 8, kColumns = 32, kColumnsBefore = 24;
constexpr int64_t kN = 0, kZ = kUnits, kR = 2 * kUnits, kQ = 3 * kUnits;  // where each gate's columns begin

// function(gates, place of the units in h and its like) for every vector of the panel.
template <class Gates, class Function>
HWY_INLINE void ForUnits(Gates* gates, int64_t columns, int64_t n, int64_t stride, const Function& function) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t u = 0; u < kUnits; u += lanes) function(gates + row * columns + u, row * stride + u);
  }
}

// h = n + z (h' - n)
HWY_INLINE Vector Mix(Vector n, Vector z, Vector h_before) { return hn::MulAdd(z, hn::Sub(h_before, n), n); }

// delta of n and z, and the part of the gradient of h' that needs no product.
struct MixGradient {
  Vector delta_n, delta_z, d_h;
};
template <class Outer, class Gate>
HWY_INLINE MixGradient MixBackward(Outer outer, Gate gate, Vector n, Vector z, Vector dh, Vector h_before) {
  const Tag d;
  return {.delta_n = hn::Mul(hn::Mul(dh, hn::Sub(hn::Set(d, 1.0f), z)), outer.Slope(d, n)),
          .delta_z = hn::Mul(hn::Mul(dh, hn::Sub(h_before, n)), gate.Slope(d, z)),
          .d_h = hn::Mul(dh, z)};
}

template <class Outer, class Gate>
void GruForwardBy(Outer outer, Gate gate, float* HWY_RESTRICT gates, float* HWY_RESTRICT h, const float* h_before, int64_t n,
                  int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumns, n, stride, [&](float* own, int64_t at) {
    const Vector z = gate(d, hn::LoadU(d, own + kZ));
    const Vector r = gate(d, hn::LoadU(d, own + kR));
    const Vector candidate = outer(d, hn::MulAdd(r, hn::LoadU(d, own + kQ), hn::LoadU(d, own + kN)));
    hn::StoreU(candidate, d, own + kN);
    hn::StoreU(z, d, own + kZ);
    hn::StoreU(r, d, own + kR);
    hn::StoreU(Mix(candidate, z, hn::LoadU(d, h_before + at)), d, h + at);
  });
}

void GruReplay(float* HWY_RESTRICT h, const float* h_before, const float* HWY_RESTRICT gates, int64_t columns, int64_t n,
               int64_t stride) {
  const Tag d;
  ForUnits(gates, columns, n, stride, [&](const float* own, int64_t at) {
    const Vector mixed = Mix(hn::LoadU(d, own + kN), hn::LoadU(d, own + kZ), hn::LoadU(d, h_before + at));
    hn::StoreU(mixed, d, h + at);
  });
}

template <class Outer, class Gate>
void GruBackwardBy(Outer outer, Gate gate, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h, const float* d_out,
                   const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumns, n, stride, [&](float* own, int64_t at) {
    const Vector r = hn::LoadU(d, own + kR);
    const Vector dh = hn::Add(hn::LoadU(d, d_out + at), hn::LoadU(d, d_h + at));
    const MixGradient mix =
        MixBackward(outer, gate, hn::LoadU(d, own + kN), hn::LoadU(d, own + kZ), dh, hn::LoadU(d, h_before + at));
    hn::StoreU(mix.delta_n, d, own + kN);
    hn::StoreU(mix.delta_z, d, own + kZ);
    hn::StoreU(hn::Mul(hn::Mul(mix.delta_n, hn::LoadU(d, own + kQ)), gate.Slope(d, r)), d, own + kR);
    hn::StoreU(hn::Mul(mix.delta_n, r), d, own + kQ);
    hn::StoreU(mix.d_h, d, d_h + at);
  });
}

template <class Gate>
void GruReset(Gate gate, float* HWY_RESTRICT gates, float* HWY_RESTRICT reset, const float* h_before, int64_t n,
              int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* own, int64_t at) {
    const Vector r = gate(d, hn::LoadU(d, own + kR));
    hn::StoreU(gate(d, hn::LoadU(d, own + kZ)), d, own + kZ);
    hn::StoreU(r, d, own + kR);
    hn::StoreU(hn::Mul(r, hn::LoadU(d, h_before + at)), d, reset + at);
  });
}

template <class Outer>
void GruForwardBehindReset(Outer outer, float* HWY_RESTRICT gates, float* HWY_RESTRICT h, const float* h_before, int64_t n,
                           int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* own, int64_t at) {
    const Vector candidate = outer(d, hn::LoadU(d, own + kN));
    hn::StoreU(candidate, d, own + kN);
    hn::StoreU(Mix(candidate, hn::LoadU(d, own + kZ), hn::LoadU(d, h_before + at)), d, h + at);
  });
}

template <class Outer, class Gate>
void GruBackwardToReset(Outer outer, Gate gate, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h, const float* d_out,
                        const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* own, int64_t at) {
    const Vector dh = hn::Add(hn::LoadU(d, d_out + at), hn::LoadU(d, d_h + at));
    const MixGradient mix =
        MixBackward(outer, gate, hn::LoadU(d, own + kN), hn::LoadU(d, own + kZ), dh, hn::LoadU(d, h_before + at));
    hn::StoreU(mix.delta_n, d, own + kN);
    hn::StoreU(mix.delta_z, d, own + kZ);
    hn::StoreU(mix.d_h, d, d_h + at);
  });
}

template <class Gate>
void GruBackwardThroughReset(Gate gate, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h, float* HWY_RESTRICT reset,
                             const float* d_reset, const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* own, int64_t at) {
    const Vector r = hn::LoadU(d, own + kR);
    const Vector h = hn::LoadU(d, h_before + at);
    const Vector gradient = hn::LoadU(d, d_reset + at);
    hn::StoreU(hn::Mul(r, h), d, reset + at);
    hn::StoreU(hn::Mul(hn::Mul(gradient, h), gate.Slope(d, r)), d, own + kR);
    hn::StoreU(hn::MulAdd(gradient, r, hn::LoadU(d, d_h + at)), d, d_h + at);
  });
}

void GruForward(CellActivations by, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  if (by.usual()) return GruForwardBy(TanhFunction(), SigmoidFunction(), gates, h, h_before, n, stride);
  GruForwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, gates, h, h_before, n, stride);
}

void GruBackward(CellActivations by, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                 int64_t stride) {
  if (by.usual()) return GruBackwardBy(TanhFunction(), SigmoidFunction(), gates, d_h, d_out, h_before, n, stride);
  GruBackwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, gates, d_h, d_out, h_before, n, stride);
}

void BeforeReset(CellActivations by, float* gates, float* reset, const float* h_before, int64_t n, int64_t stride) {
  if (by.usual()) return GruReset(SigmoidFunction(), gates, reset, h_before, n, stride);
  GruReset(AnyFunction{by.gate}, gates, reset, h_before, n, stride);
}

void BeforeForward(CellActivations by, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  if (by.usual()) return GruForwardBehindReset(TanhFunction(), gates, h, h_before, n, stride);
  GruForwardBehindReset(AnyFunction{by.outer}, gates, h, h_before, n, stride);
}

void BeforeBackward(CellActivations by, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                    int64_t stride) {
  if (by.usual()) return GruBackwardToReset(TanhFunction(), SigmoidFunction(), gates, d_h, d_out, h_before, n, stride);
  GruBackwardToReset(AnyFunction{by.outer}, AnyFunction{by.gate}, gates, d_h, d_out, h_before, n, stride);
}

void BeforeBackwardReset(CellActivations by, float* gates, float* d_h, float* reset, const float* d_reset,
                         const float* h_before, int64_t n, int64_t stride) {
  if (by.usual()) return GruBackwardThroughReset(SigmoidFunction(), gates, d_h, reset, d_reset, h_before, n, stride);
  GruBackwardThroughReset(AnyFunction{by.gate}, gates, d_h, reset, d_reset, h_before, n, stride);
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

void gru_cell_forward(CellActivations by, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruForward)(by, gates, h, h_before, n, stride);
}
void gru_cell_replay(float* h, const float* h_before, const float* gates, int64_t columns, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruReplay)(h, h_before, gates, columns, n, stride);
}
void gru_cell_backward(CellActivations by, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                       int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruBackward)(by, gates, d_h, d_out, h_before, n, stride);
}
void gru_before_reset(CellActivations by, float* gates, float* reset, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeReset)(by, gates, reset, h_before, n, stride);
}
void gru_before_forward(CellActivations by, float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeForward)(by, gates, h, h_before, n, stride);
}
void gru_before_backward(CellActivations by, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                         int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeBackward)(by, gates, d_h, d_out, h_before, n, stride);
}
void gru_before_backward_reset(CellActivations by, float* gates, float* d_h, float* reset, const float* d_reset,
                               const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeBackwardReset)(by, gates, d_h, reset, d_reset, h_before, n, stride);
}

}  // namespace plimsoll
#endif
