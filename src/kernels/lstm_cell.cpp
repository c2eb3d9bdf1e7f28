#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lstm_cell.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cell_units-inl.h"
#include "kernels/cells.h"
#include "kernels/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns of a panel: i, f, g, o, each of all its units.
constexpr int64_t kGates = 4;

constexpr int64_t kRowsAhead = 32;  // a replay is the first to read the Tape again, from far away: fetched so much earlier

template <class Outer, class Gate>
void LstmForwardBy(Outer outer, Gate gate, const CellPanel& panel, float* HWY_RESTRICT gates, float* HWY_RESTRICT c,
                   float* HWY_RESTRICT h, int64_t n, int64_t stride) {
  const int64_t apart = panel.lanes, columns = kGates * apart;
  ForUnitsTogether(outer, n, panel.units, [&](auto d, int64_t row, int64_t u) {
    float* own = gates + row * columns + u;
    const int64_t at = row * stride + u;
    const auto sum = [&](int64_t column) {
      return Add(LoadRows(d, own + column, columns), LoadRows(d, panel.bias + column + u, 0));
    };
    const auto i = gate(d, sum(0));
    const auto f = gate(d, sum(apart));
    const auto g = outer(d, sum(2 * apart));
    const auto o = gate(d, sum(3 * apart));
    const auto cell = MulAdd(f, LoadRows(d, c + at, stride), Mul(i, g));
    StoreRows(i, d, own, columns);
    StoreRows(f, d, own + apart, columns);
    StoreRows(g, d, own + 2 * apart, columns);
    StoreRows(o, d, own + 3 * apart, columns);
    StoreRows(cell, d, c + at, stride);
    StoreRows(Mul(o, outer(d, cell)), d, h + at, stride);
  });
}

// c from c' and the gates.
template <class D>
HWY_INLINE hn::Vec<D> CellOf(D d, const float* own, int64_t apart, const float* c_before) {
  const auto product = hn::Mul(hn::LoadU(d, own), hn::LoadU(d, own + 2 * apart));
  return hn::MulAdd(hn::LoadU(d, own + apart), hn::LoadU(d, c_before), product);
}

template <class Outer>
void LstmReplayBy(Outer outer, const CellPanel& panel, float* HWY_RESTRICT c, const float* HWY_RESTRICT c_before,
                  float* HWY_RESTRICT h, const float* HWY_RESTRICT gates, int64_t n, int64_t stride) {
  const int64_t apart = panel.lanes;
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const float* own = gates + row * kGates * apart + u;
    const int64_t at = row * stride + u;
    Prefetch(own + kRowsAhead * kGates * apart, kGates * apart);
    const auto cell = CellOf(d, own, apart, c_before + at);
    hn::StoreU(cell, d, c + at);
    hn::StoreU(hn::Mul(hn::LoadU(d, own + 3 * apart), outer(d, cell)), d, h + at);
  });
}

void LstmRescan(const CellPanel& panel, float* HWY_RESTRICT c, const float* HWY_RESTRICT c_before,
                const float* HWY_RESTRICT gates, int64_t n, int64_t stride) {
  const int64_t apart = panel.lanes;
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    const int64_t at = row * stride + u;
    hn::StoreU(CellOf(d, gates + row * kGates * apart + u, apart, c_before + at), d, c + at);
  });
}

// What a row of o act(c) hears: all that h does.
struct LstmGradientOfH {
  const float* HWY_RESTRICT d_h;
  const float* HWY_RESTRICT d_out;
  template <class D>
  HWY_INLINE hn::Vec<D> At(D d, int64_t at) const {
    return GradientOfH(d, d_h, d_out, at);
  }
  template <class D>
  HWY_INLINE void Leave(D, int64_t, hn::Vec<D>) const {}
};
// The same behind a projection, which has added them; it wants o act(c) in the place of c.
struct LstmGradientOfShown {
  const float* HWY_RESTRICT d_shown;
  float* c;
  template <class D>
  HWY_INLINE hn::Vec<D> At(D d, int64_t at) const {
    return hn::LoadU(d, d_shown + at);
  }
  template <class D>
  HWY_INLINE void Leave(D d, int64_t at, hn::Vec<D> shown) const {
    hn::StoreU(shown, d, c + at);
  }
};

template <class Outer, class Gate, class Above>
void LstmBackwardBy(Outer outer, Gate gate, Above above, const CellPanel& panel, float* HWY_RESTRICT gates,
                    float* HWY_RESTRICT d_c, const float* c, const float* HWY_RESTRICT c_before, int64_t n, int64_t stride) {
  const int64_t apart = panel.lanes;
  ForUnits(n, panel.units, [&](auto d, int64_t row, int64_t u) {
    float* own = gates + row * kGates * apart + u;
    const int64_t at = row * stride + u;
    const auto i = hn::LoadU(d, own);
    const auto f = hn::LoadU(d, own + apart);
    const auto g = hn::LoadU(d, own + 2 * apart);
    const auto o = hn::LoadU(d, own + 3 * apart);
    const auto squashed = outer(d, hn::LoadU(d, c + at));
    const auto dh = above.At(d, at);
    const auto dc = hn::MulAdd(hn::Mul(dh, o), outer.Slope(d, squashed), hn::LoadU(d, d_c + at));
    const auto delta_i = hn::Mul(hn::Mul(dc, g), gate.Slope(d, i));
    const auto delta_f = hn::Mul(hn::Mul(dc, hn::LoadU(d, c_before + at)), gate.Slope(d, f));
    const auto delta_g = hn::Mul(hn::Mul(dc, i), outer.Slope(d, g));
    const auto delta_o = hn::Mul(hn::Mul(dh, squashed), gate.Slope(d, o));
    hn::StoreU(delta_i, d, own);
    hn::StoreU(delta_f, d, own + apart);
    hn::StoreU(delta_g, d, own + 2 * apart);
    hn::StoreU(delta_o, d, own + 3 * apart);
    hn::StoreU(hn::Mul(dc, f), d, d_c + at);
    above.Leave(d, at, hn::Mul(o, squashed));
  });
}

void LstmForward(const CellPanel& panel, float* gates, float* c, float* h, int64_t n, int64_t stride) {
  const CellActivations& by = panel.by;
  if (by.usual()) return LstmForwardBy(TanhFunction(), SigmoidFunction(), panel, gates, c, h, n, stride);
  LstmForwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, panel, gates, c, h, n, stride);
}

void LstmReplay(const CellPanel& panel, float* c, const float* c_before, float* h, const float* gates, int64_t n,
                int64_t stride) {
  if (panel.by.usual()) return LstmReplayBy(TanhFunction(), panel, c, c_before, h, gates, n, stride);
  LstmReplayBy(AnyFunction{panel.by.outer}, panel, c, c_before, h, gates, n, stride);
}

template <class Above>
void LstmBackwardFrom(Above above, const CellPanel& panel, float* gates, float* d_c, const float* c, const float* c_before,
                      int64_t n, int64_t stride) {
  const CellActivations& by = panel.by;
  if (by.usual()) return LstmBackwardBy(TanhFunction(), SigmoidFunction(), above, panel, gates, d_c, c, c_before, n, stride);
  LstmBackwardBy(AnyFunction{by.outer}, AnyFunction{by.gate}, above, panel, gates, d_c, c, c_before, n, stride);
}

void LstmBackward(const CellPanel& panel, float* gates, float* d_c, const float* d_h, const float* d_out, const float* c,
                  const float* c_before, int64_t n, int64_t stride) {
  LstmBackwardFrom(LstmGradientOfH{d_h, d_out}, panel, gates, d_c, c, c_before, n, stride);
}

void LstmProjectedBackward(const CellPanel& panel, float* gates, float* d_c, const float* d_shown, float* c,
                           const float* c_before, int64_t n, int64_t stride) {
  LstmBackwardFrom(LstmGradientOfShown{d_shown, c}, panel, gates, d_c, c, c_before, n, stride);
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

void lstm_cell_forward(const CellPanel& panel, float* gates, float* c, float* h, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmForward)(panel, gates, c, h, n, stride);
}
void lstm_cell_replay(const CellPanel& panel, float* c, const float* c_before, float* h, const float* gates, int64_t n,
                      int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmReplay)(panel, c, c_before, h, gates, n, stride);
}
void lstm_cell_rescan(const CellPanel& panel, float* c, const float* c_before, const float* gates, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmRescan)(panel, c, c_before, gates, n, stride);
}
void lstm_cell_backward(const CellPanel& panel, float* gates, float* d_c, const float* d_h, const float* d_out, const float* c,
                        const float* c_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmBackward)(panel, gates, d_c, d_h, d_out, c, c_before, n, stride);
}
void lstm_projected_backward(const CellPanel& panel, float* gates, float* d_c, const float* d_shown, float* c,
                             const float* c_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmProjectedBackward)(panel, gates, d_c, d_shown, c, c_before, n, stride);
}

}  // namespace plimsoll
#endif
