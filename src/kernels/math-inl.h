// math-inl: exp, sigmoid and tanh on vectors, accurate to 2 ulp for normal results, NaN in NaN out.
//   Included once for each Highway target (hence the guard that toggles). Highway's own functions are not used: its Exp maps
//   NaN to 0 and its Tanh is off by 2.7 ulp.
//   D, V: a tag and its vectors, Highway's or several side by side.
//   Clamps are written Max(constant, x): x86 returns the second operand when one is NaN, so NaN survives.
#if defined(PLIMSOLL_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_MATH_INL_H_
#undef PLIMSOLL_MATH_INL_H_
#else
#define PLIMSOLL_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/side_by_side-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^n, of a number to which 1.5 * 2^23 was added: that rounds it to n and leaves n in the lowest bits.
template <class D, class V>
HWY_INLINE V PowerOfTwo(D d, V shifted) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 127))));
}
template <class D, class V, size_t N>
HWY_INLINE auto PowerOfTwo(SideBySide<D, N>, const Vectors<V, N>& shifted) {
  return Lift([](V x) { return PowerOfTwo(D(), x); }, shifted);
}

// exp(z) for z in [-87, 88]: 2^n + 2^n expm1(r), z = n ln 2 + r. The polynomial is the one of Cephes expf.
template <class D, class V>
HWY_INLINE V ExpInRange(D d, V z) {
  const V whole = Set(d, 12582912.0f);
  const V shifted = MulAdd(z, Set(d, 1.44269504088896341f), whole);
  const V n = Sub(shifted, whole);
  V r = NegMulAdd(n, Set(d, 0.693359375f), z);
  r = NegMulAdd(n, Set(d, -2.12194440e-4f), r);
  V p = Set(d, 1.9875691500e-4f);
  p = MulAdd(p, r, Set(d, 1.3981999507e-3f));
  p = MulAdd(p, r, Set(d, 8.3334519073e-3f));
  p = MulAdd(p, r, Set(d, 4.1665795894e-2f));
  p = MulAdd(p, r, Set(d, 1.6666665459e-1f));
  p = MulAdd(p, r, Set(d, 5.0000001201e-1f));
  const V expm1 = MulAdd(Mul(r, r), p, r);
  const V power = PowerOfTwo(d, shifted);
  return MulAdd(power, expm1, power);
}

// 1 / x for x in [1, 2]. AVX-512's estimate has 14 bits, a step of Newton's doubles them; a division costs 16 cycles there.
template <class D, class V>
HWY_INLINE V Inverse(D d, V x) {
  const V one = hn::Set(d, 1.0f);
#if HWY_TARGET <= HWY_AVX3
  const V estimate = hn::ApproximateReciprocal(x);
  return hn::MulAdd(estimate, hn::NegMulAdd(x, estimate, one), estimate);
#else
  return hn::Div(one, x);
#endif
}
template <class D, class V, size_t N>
HWY_INLINE auto Inverse(SideBySide<D, N>, const Vectors<V, N>& x) {
  return Lift([](V one) { return Inverse(D(), one); }, x);
}

// exp(x), 0 below about -87, for x <= 0 (softmax subtracts the maximum first).
template <class D, class V>
HWY_INLINE V ExpOfNegative(D d, V x) {
  const V lowest = hn::Set(d, -87.0f);
  const V value = ExpInRange(d, hn::Max(lowest, x));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), value);
}

// 1 / (1 + exp(-x)). The rounding of 1 + t and of the quotient is corrected by two FMAs.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = Set(d, 1.0f);
  const V t = ExpInRange(d, Max(Set(d, -87.0f), Or(x, SignBit(d))));
  const V sum = Add(one, t);
  const V lost = Sub(t, Sub(sum, one));
  const V inverse = Inverse(d, sum);
  const V top = IfThenElse(Lt(x, Zero(d)), t, one);
  const V quotient = Mul(top, inverse);
  const V error = NegMulAdd(quotient, lost, NegMulAdd(quotient, sum, top));
  return MulAdd(inverse, error, quotient);
}

// tanh(x): a polynomial near zero, 1 - 2 t / (1 + t) with t = exp(-2 |x|) elsewhere.
template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  const V one = Set(d, 1.0f);
  const V size = Abs(x);
  const V square = Mul(x, x);
  V p = Set(d, -5.70498872745e-3f);
  p = MulAdd(p, square, Set(d, 2.06390887954e-2f));
  p = MulAdd(p, square, Set(d, -5.37397155531e-2f));
  p = MulAdd(p, square, Set(d, 1.33314422036e-1f));
  p = MulAdd(p, square, Set(d, -3.33332819422e-1f));
  const V small = MulAdd(Mul(square, x), p, x);
  const V t = ExpInRange(d, Max(Set(d, -87.0f), Mul(Set(d, -2.0f), size)));
  const V large = NegMulAdd(Set(d, 2.0f), Mul(t, Inverse(d, Add(one, t))), one);
  return IfThenElse(Lt(size, Set(d, 0.625f)), small, CopySign(large, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#endif  // toggle
