#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalized_cell.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/activation-inl.h"
#include "kernels/block_rows.h"
#include "kernels/normalized_cell.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;

// A vector of a gate with `left` units; the next gate begins behind them.
HWY_INLINE Vector LoadGate(const float* from, int64_t left) {
  const Tag d;
  if (left >= static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
  HWY_ALIGN float tail[8] = {};
  for (int64_t i = 0; i < left; ++i) tail[i] = from[i];
  return hn::Load(d, tail);
}

HWY_INLINE void StoreGate(Vector value, float* to, int64_t left) {
  const Tag d;
  if (left >= static_cast<int64_t>(hn::Lanes(d))) return hn::StoreU(value, d, to);
  HWY_ALIGN float tail[8];
  hn::Store(value, d, tail);
  for (int64_t i = 0; i < left; ++i) to[i] = tail[i];
}

// A vector of a row of h or c, zeros behind its end.
HWY_INLINE void StoreUnits(Vector value, float* to, int64_t left) {
  const Tag d;
  hn::StoreU(hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), value), d, to);
}

// Calls function(first unit, units from there on) for every vector of a row, padding included.
template <class Function>
HWY_INLINE void ForRowUnits(int64_t units, const Function& function) {
  const Tag d;
  for (int64_t unit = 0; unit < WholeVectors(units); unit += static_cast<int64_t>(hn::Lanes(d))) {
    function(unit, std::max<int64_t>(0, units - unit));
  }
}

template <class Outer, class Gate>
void NormalizedGatesForwardBy(Outer outer, Gate gate, float* gates, float* c, const float* sums, int64_t sum_stride,
                              const float* statistics, const float* gamma, const NormalizedRows& shape) {
  const Tag d;
  const int64_t units = shape.units;
  for (int64_t row = 0; row < shape.rows; ++row) {
    const Vector mean = hn::Set(d, statistics[0]), inverse = hn::Set(d, statistics[1]);
    ForRowUnits(units, [&](int64_t unit, int64_t left) {
      const auto sum = [&](int64_t number) {
        const int64_t at = number * units + unit;
        const Vector normal = hn::Mul(hn::Sub(LoadGate(sums + at, left), mean), inverse);
        return hn::MulAdd(normal, LoadGate(gamma + at, left), LoadGate(gates + at, left));
      };
      const Vector i = gate(d, sum(0)), f = gate(d, sum(1)), g = outer(d, sum(2)), o = gate(d, sum(3));
      StoreGate(i, gates + unit, left);
      StoreGate(f, gates + units + unit, left);
      StoreGate(g, gates + 2 * units + unit, left);
      StoreGate(o, gates + 3 * units + unit, left);
      StoreUnits(hn::MulAdd(f, hn::LoadU(d, c + unit), hn::Mul(i, g)), c + unit, left);
    });
    gates += shape.gate_stride;
    c += shape.stride;
    sums += sum_stride;
    statistics += 2;
  }
}

void NormalizedRescan(float* c, const float* c_before, const float* gates, const NormalizedRows& shape) {
  const Tag d;
  const int64_t units = shape.units;
  for (int64_t row = 0; row < shape.rows; ++row) {
    ForRowUnits(units, [&](int64_t unit, int64_t left) {
      const Vector product = hn::Mul(LoadGate(gates + unit, left), LoadGate(gates + 2 * units + unit, left));
      const Vector f = LoadGate(gates + units + unit, left);
      StoreUnits(hn::MulAdd(f, hn::LoadU(d, c_before + unit), product), c + unit, left);
    });
    gates += shape.gate_stride;
    c += shape.stride;
    c_before += shape.stride;
  }
}

template <class Outer>
void NormalizedOutputBy(Outer outer, float* h, const float* gates, const NormalizedRows& shape) {
  const Tag d;
  const float* o = gates + 3 * shape.units;
  for (int64_t row = 0; row < shape.rows; ++row, o += shape.gate_stride, h += shape.stride) {
    ForRowUnits(shape.units, [&](int64_t unit, int64_t left) {
      StoreUnits(hn::Mul(LoadGate(o + unit, left), outer(d, hn::LoadU(d, h + unit))), h + unit, left);
    });
  }
}

template <class Outer, class Gate>
void NormalizedOutputBackwardBy(Outer outer, Gate gate, float* gates, float* d_out, const float* d_h, const float* normal_c,
                                const NormalizedRows& shape) {
  const Tag d;
  float* o = gates + 3 * shape.units;
  for (int64_t row = 0; row < shape.rows; ++row) {
    ForRowUnits(shape.units, [&](int64_t unit, int64_t left) {
      const Vector opened = LoadGate(o + unit, left), squashed = outer(d, hn::LoadU(d, normal_c + unit));
      const Vector dh = hn::Add(hn::LoadU(d, d_out + unit), hn::LoadU(d, d_h + unit));
      StoreGate(hn::Mul(hn::Mul(dh, squashed), gate.Slope(d, opened)), o + unit, left);
      StoreUnits(hn::Mul(hn::Mul(dh, opened), outer.Slope(d, squashed)), d_out + unit, left);
    });
    o += shape.gate_stride;
    d_out += shape.stride;
    d_h += shape.stride;
    normal_c += shape.stride;
  }
}

template <class Outer, class Gate>
void NormalizedGatesBackwardBy(Outer outer, Gate gate, float* gates, float* d_c, const float* d_cell, const float* c_before,
                               const NormalizedRows& shape) {
  const Tag d;
  const int64_t units = shape.units;
  for (int64_t row = 0; row < shape.rows; ++row) {
    ForRowUnits(units, [&](int64_t unit, int64_t left) {
      const Vector i = LoadGate(gates + unit, left), f = LoadGate(gates + units + unit, left);
      const Vector g = LoadGate(gates + 2 * units + unit, left);
      const Vector dc = hn::Add(hn::LoadU(d, d_cell + unit), hn::LoadU(d, d_c + unit));
      StoreGate(hn::Mul(hn::Mul(dc, g), gate.Slope(d, i)), gates + unit, left);
      StoreGate(hn::Mul(hn::Mul(dc, hn::LoadU(d, c_before + unit)), gate.Slope(d, f)), gates + units + unit, left);
      StoreGate(hn::Mul(hn::Mul(dc, i), outer.Slope(d, g)), gates + 2 * units + unit, left);
      StoreUnits(hn::Mul(dc, f), d_c + unit, left);
    });
    gates += shape.gate_stride;
    d_c += shape.stride;
    d_cell += shape.stride;
    c_before += shape.stride;
  }
}

void NormalizedGatesForward(CellActivations by, float* gates, float* c, const float* sums, int64_t sum_stride,
                            const float* statistics, const float* gamma, const NormalizedRows& shape) {
  const auto run = [&](auto outer, auto gate) {
    NormalizedGatesForwardBy(outer, gate, gates, c, sums, sum_stride, statistics, gamma, shape);
  };
  by.usual() ? run(TanhFunction(), SigmoidFunction()) : run(AnyFunction{by.outer}, AnyFunction{by.gate});
}

void NormalizedOutput(CellActivations by, float* h, const float* gates, const NormalizedRows& shape) {
  if (by.usual()) return NormalizedOutputBy(TanhFunction(), h, gates, shape);
  NormalizedOutputBy(AnyFunction{by.outer}, h, gates, shape);
}

void NormalizedOutputBackward(CellActivations by, float* gates, float* d_out, const float* d_h, const float* normal_c,
                              const NormalizedRows& shape) {
  const auto run = [&](auto outer, auto gate) { NormalizedOutputBackwardBy(outer, gate, gates, d_out, d_h, normal_c, shape); };
  by.usual() ? run(TanhFunction(), SigmoidFunction()) : run(AnyFunction{by.outer}, AnyFunction{by.gate});
}

void NormalizedGatesBackward(CellActivations by, float* gates, float* d_c, const float* d_cell, const float* c_before,
                             const NormalizedRows& shape) {
  const auto run = [&](auto outer, auto gate) { NormalizedGatesBackwardBy(outer, gate, gates, d_c, d_cell, c_before, shape); };
  by.usual() ? run(TanhFunction(), SigmoidFunction()) : run(AnyFunction{by.outer}, AnyFunction{by.gate});
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(NormalizedGatesForward);
HWY_EXPORT(NormalizedRescan);
HWY_EXPORT(NormalizedOutput);
HWY_EXPORT(NormalizedOutputBackward);
HWY_EXPORT(NormalizedGatesBackward);

void normalized_gates_forward(CellActivations by, float* gates, float* c, const float* sums, int64_t sum_stride,
                              const float* statistics, const float* gamma, const NormalizedRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizedGatesForward)(by, gates, c, sums, sum_stride, statistics, gamma, shape);
}
void normalized_rescan(float* c, const float* c_before, const float* gates, const NormalizedRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizedRescan)(c, c_before, gates, shape);
}
void normalized_output(CellActivations by, float* h, const float* gates, const NormalizedRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizedOutput)(by, h, gates, shape);
}
void normalized_output_backward(CellActivations by, float* gates, float* d_out, const float* d_h, const float* normal_c,
                                const NormalizedRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizedOutputBackward)(by, gates, d_out, d_h, normal_c, shape);
}
void normalized_gates_backward(CellActivations by, float* gates, float* d_c, const float* d_cell, const float* c_before,
                               const NormalizedRows& shape) {
  HWY_DYNAMIC_DISPATCH(NormalizedGatesBackward)(by, gates, d_c, d_cell, c_before, shape);
}

}  // namespace plimsoll
#endif
