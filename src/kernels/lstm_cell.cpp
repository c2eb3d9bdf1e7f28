#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lstm_cell.cpp"
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
constexpr int64_t kUnits = 8, kColumns = 32;

template <class Outer, class Gate>
void LstmForwardBy(Outer outer, Gate gate, float* HWY_RESTRICT gates, float* HWY_RESTRICT c, float* HWY_RESTRICT h, int64_t n,
                   int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, c += stride, h += stride) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector i = gate(d, hn::LoadU(d, gates + u));
      const Vector f = gate(d, hn::LoadU(d, gates + kUnits + u));
      const Vector g = outer(d, hn::LoadU(d, gates + 2 * kUnits + u));
      const Vector o = gate(d, hn::LoadU(d, gates + 3 * kUnits + u));
      const Vector cell = hn::MulAdd(f, hn::LoadU(d, c + u), hn::Mul(i, g));
      hn::StoreU(i, d, gates + u);
      hn::StoreU(f, d, gates + kUnits + u);
      hn::StoreU(g, d, gates + 2 * kUnits + u);
      hn::StoreU(o, d, gates + 3 * kUnits + u);
      hn::StoreU(cell, d, c + u);
      hn::StoreU(hn::Mul(o, outer(d, cell)), d, h + u);
    }
  }
}

template <class Outer>
void LstmReplayBy(Outer outer, float* HWY_RESTRICT c, float* HWY_RESTRICT h, const float* HWY_RESTRICT gates, int64_t n,
                  int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, c += stride, h += stride) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector product = hn::Mul(hn::LoadU(d, gates + u), hn::LoadU(d, gates + 2 * kUnits + u));
      const Vector cell = hn::MulAdd(hn::LoadU(d, gates + kUnits + u), hn::LoadU(d, c + u), product);
      hn::StoreU(cell, d, c + u);
      hn::StoreU(hn::Mul(hn::LoadU(d, gates + 3 * kUnits + u), outer(d, cell)), d, h + u);
    }
  }
}

void LstmRescan(float* HWY_RESTRICT c, const float* HWY_RESTRICT c_before, const float* HWY_RESTRICT gates, int64_t n,
                int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, c += stride, c_before += stride) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector product = hn::Mul(hn::LoadU(d, gates + u), hn::LoadU(d, gates + 2 * kUnits + u));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, gates + kUnits + u), hn::LoadU(d, c_before + u), product), d, c + u);
    }
  }
}

// What a row of h hears: from above and from t+1.
struct LstmGradientOfH {
  const float* HWY_RESTRICT d_h;
  const float* HWY_RESTRICT d_out;
  Vector At(Tag d, int64_t at) const { return hn::Add(hn::LoadU(d, d_out + at), hn::LoadU(d, d_h + at)); }
  void Leave(Tag, int64_t, Vector) const {}
};
// The same behind a projection, which has added them; it wants o act(c) in the place of c.
struct LstmGradientOfShown {
  const float* HWY_RESTRICT d_shown;
  float* c;
  Vector At(Tag d, int64_t at) const { return hn::LoadU(d, d_shown + at); }
  void Leave(Tag d, int64_t at, Vector shown) const { hn::StoreU(shown, d, c + at); }
};

template <class Outer, class Gate, class Above>
void LstmBackwardBy(Outer outer, Gate gate, Above above, float* HWY_RESTRICT gates, float* HWY_RESTRICT d_c, const float* c,
                    const float* HWY_RESTRICT c_before, int64_t n, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const int64_t at = row * stride + u;
      const Vector i = hn::LoadU(d, gates + u);
      const Vector f = hn::LoadU(d, gates + kUnits + u);
      const Vector g = hn::LoadU(d, gates + 2 * kUnits + u);
      const Vector o = hn::LoadU(d, gates + 3 * kUnits + u);
      const Vector squashed = outer(d, hn::LoadU(d, c + at));
      const Vector dh = above.At(d, at);
      const Vector dc = hn::MulAdd(hn::Mul(dh, o), outer.Slope(d, squashed), hn::LoadU(d, d_c + at));
      const Vector delta_i = hn::Mul(hn::Mul(dc, g), gate.Slope(d, i));
      const Vector delta_f = hn::Mul(hn::Mul(dc, hn::LoadU(d, c_before + at)), gate.Slope(d, f));
      const Vector delta_g = hn::Mul(hn::Mul(dc, i), outer.Slope(d, g));
      const Vector delta_o = hn::Mul(hn::Mul(dh, squashed), gate.Slope(d, o));
      hn::StoreU(delta_i, d, gates + u);
      hn::StoreU(delta_f, d, gates + kUnits + u);
      hn::StoreU(delta_g, d, gates + 2 * kUnits + u);
      hn::StoreU(delta_o, d, gates + 3 * kUnits + u);
      hn::StoreU(hn::Mul(dc, f), d, d_c + at);
      above.Leave(d, at, hn::Mul(o, squashed));
    }
    gates += kColumns;
  }
}

void LstmForward(CellActivations by, float* gates, float* c, float* h, int64_t n, int64_t stride) {
  if (by.usual()) return LstmForwardBy(TanhFunction(), SigmoidFunction(), gates, c, h, n, stride);
  LstmForwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, gates, c, h, n, stride);
}

void LstmReplay(CellActivations by, float* c, float* h, const float* gates, int64_t n, int64_t stride) {
  if (by.usual()) return LstmReplayBy(TanhFunction(), c, h, gates, n, stride);
  LstmReplayBy(AnyFunction{by.outer}, c, h, gates, n, stride);
}

void LstmBackward(CellActivations by, float* gates, float* d_c, const float* d_h, const float* d_out, const float* c,
                  const float* c_before, int64_t n, int64_t stride) {
  const LstmGradientOfH above{d_h, d_out};
  if (by.usual()) return LstmBackwardBy(TanhFunction(), SigmoidFunction(), above, gates, d_c, c, c_before, n, stride);
  LstmBackwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, above, gates, d_c, c, c_before, n, stride);
}

void LstmProjectedBackward(CellActivations by, float* gates, float* d_c, const float* d_shown, float* c, const float* c_before,
                           int64_t n, int64_t stride) {
  const LstmGradientOfShown above{d_shown, c};
  if (by.usual()) return LstmBackwardBy(TanhFunction(), SigmoidFunction(), above, gates, d_c, c, c_before, n, stride);
  LstmBackwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, above, gates, d_c, c, c_before, n, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(LstmForward);
HWY_EXPORT(LstmReplay);
HWY_EXPORT(LstmRescan);
HWY_EXPORT(LstmBackward);
HWY_EXPORT(LstmProjectedBackward);

void lstm_cell_forward(CellActivations by, float* gates, float* c, float* h, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmForward)(by, gates, c, h, n, stride);
}
void lstm_cell_replay(CellActivations by, float* c, float* h, const float* gates, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmReplay)(by, c, h, gates, n, stride);
}
void lstm_cell_rescan(float* c, const float* c_before, const float* gates, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmRescan)(c, c_before, gates, n, stride);
}
void lstm_cell_backward(CellActivations by, float* gates, float* d_c, const float* d_h, const float* d_out, const float* c,
                        const float* c_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmBackward)(by, gates, d_c, d_h, d_out, c, c_before, n, stride);
}
void lstm_projected_backward(CellActivations by, float* gates, float* d_c, const float* d_shown, float* c,
                             const float* c_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmProjectedBackward)(by, gates, d_c, d_shown, c, c_before, n, stride);
}

}  // namespace plimsoll
#endif
