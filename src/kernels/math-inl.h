// math-inl: exp, sigmoid and tanh on vectors, accurate to 2 ulp for normal results, NaN in NaN out.
//   Included once for each Highway target (hence the guard that toggles). Highway's own functions are not used: its Exp maps
//   NaN to 0 and its Tanh is off by 2.7 ulp.
//   Clamps are written Max(constant, x): x86 returns the second operand when one is NaN, so NaN survives.
#if defined(PLIMSOLL_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_MATH_INL_H_
#undef PLIMSOLL_MATH_INL_H_
#else
#define PLIMSOLL_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(z) for z in [-87, 88]: 2^n + 2^n expm1(r), z = n ln 2 + r. The polynomial is the one of Cephes expf. Adding 1.5 * 2^23
// rounds to a whole number and leaves it in the lowest bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpInRange(D d, V z) {
  const hn::RebindToSigned<D> di;
  const V whole = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(z, hn::Set(d, 1.44269504088896341f), whole);
  const V n = hn::Sub(shifted, whole);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), z);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  const V expm1 = hn::MulAdd(hn::Mul(r, r), p, r);
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 127))));
  return hn::MulAdd(power, expm1, power);
}

// 1 / x for x in [1, 2]. AVX-512's estimate has 14 bits, a step of Newton's doubles them; a division costs 16 cycles there.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Inverse(D d, V x) {
  const V one = hn::Set(d, 1.0f);
#if HWY_TARGET <= HWY_AVX3
  const V estimate = hn::ApproximateReciprocal(x);
  return hn::MulAdd(estimate, hn::NegMulAdd(x, estimate, one), estimate);
#else
  return hn::Div(one, x);
#endif
}

// exp(x), 0 below about -87, for x <= 0 (softmax subtracts the maximum first).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfNegative(D d, V x) {
  const V lowest = hn::Set(d, -87.0f);
  const V value = ExpInRange(d, hn::Max(lowest, x));
  return hn::IfThenZeroElse(hn::Lt(x, lowest), value);
}

// 1 / (1 + exp(-x)). The rounding of 1 + t and of the quotient is corrected by two FMAs.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V t = ExpInRange(d, hn::Max(hn::Set(d, -87.0f), hn::Or(x, hn::SignBit(d))));
  const V sum = hn::Add(one, t);
  const V lost = hn::Sub(t, hn::Sub(sum, one));
  const V inverse = Inverse(d, sum);
  const V top = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), t, one);
  const V quotient = hn::Mul(top, inverse);
  const V error = hn::NegMulAdd(quotient, lost, hn::NegMulAdd(quotient, sum, top));
  return hn::MulAdd(inverse, error, quotient);
}

// tanh(x): a polynomial near zero, 1 - 2 t / (1 + t) with t = exp(-2 |x|) elsewhere.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V size = hn::Abs(x);
  const V square = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, square, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, square, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, square, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, square, hn::Set(d, -3.33332819422e-1f));
  const V small = hn::MulAdd(hn::Mul(square, x), p, x);
  const V t = ExpInRange(d, hn::Max(hn::Set(d, -87.0f), hn::Mul(hn::Set(d, -2.0f), size)));
  const V large = hn::NegMulAdd(hn::Set(d, 2.0f), hn::Mul(t, Inverse(d, hn::Add(one, t))), one);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625f)), small, hn::CopySign(large, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#endif  // toggle
