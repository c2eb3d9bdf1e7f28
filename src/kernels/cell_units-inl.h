// cell_units-inl: the walk over the units of a panel that the pointwise part of every cell shares.
//   Included once for each Highway target (hence the guard that toggles).
#if defined(PLIMSOLL_CELL_UNITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_CELL_UNITS_INL_H_
#undef PLIMSOLL_CELL_UNITS_INL_H_
#else
#define PLIMSOLL_CELL_UNITS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "kernels/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// function(d, u) for the vectors that begin at unit u: sixteen wide where the machine has them and as many units are left, else
// eight. How wide a vector is changes no element.
template <class Function>
HWY_INLINE void ForVectors(int64_t units, const Function& function) {
  const hn::CappedTag<float, 16> wide;
  const hn::CappedTag<float, 8> narrow;
  int64_t u = 0;
  for (; u + 16 <= units; u += static_cast<int64_t>(hn::Lanes(wide))) function(wide, u);
  for (; u < units; u += static_cast<int64_t>(hn::Lanes(narrow))) function(narrow, u);
}

// function(d, row, u) for the vectors of n rows.
template <class Function>
HWY_INLINE void ForUnits(int64_t n, int64_t units, const Function& function) {
  ForVectors(units, [&](auto d, int64_t u) {
    for (int64_t row = 0; row < n; ++row) function(d, row, u);
  });
}

// The same for work that waits for its own results more than for memory: with the usual activations `d` may stand for several
// rows from `row` on, four where vectors are sixteen wide, because there are registers to hold what they are about. Backward
// gains nothing: it waits for the gates to come.
template <class Squash, class Function>
HWY_INLINE void ForUnitsTogether(Squash, int64_t n, int64_t units, const Function& function) {
  ForVectors(units, [&](auto d, int64_t u) {
    using D = decltype(d);
    int64_t row = 0;
    if constexpr (!std::is_same_v<Squash, AnyFunction> && hn::MaxLanes(D()) == 16) {
      constexpr int64_t kTogether = 4;
      for (; row + kTogether <= n; row += kTogether) function(SideBySide<D, kTogether>(), row, u);
    }
    for (; row < n; ++row) function(d, row, u);
  });
}

// What a row of h hears on the way back: from t+1, and from above where anyone there reads every step.
template <class D>
HWY_INLINE hn::Vec<D> GradientOfH(D d, const float* d_h, const float* d_out, int64_t at) {
  const auto later = hn::LoadU(d, d_h + at);
  return d_out == nullptr ? later : hn::Add(hn::LoadU(d, d_out + at), later);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#endif  // toggle
