// activation-inl: activation functions on vectors, and their slopes from what they gave.
//   Included once for each Highway target (hence the guard that toggles). A cell takes two of these as types, so that the usual
//   pair costs no branch.
#if defined(PLIMSOLL_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_ACTIVATION_INL_H_
#undef PLIMSOLL_ACTIVATION_INL_H_
#else
#define PLIMSOLL_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/math-inl.h"
#include "plimsoll/options.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct TanhFunction {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Tanh(d, x);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Slope(D d, V y) const {
    return hn::NegMulAdd(y, y, hn::Set(d, 1.0f));
  }
};

struct SigmoidFunction {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Sigmoid(d, x);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Slope(D d, V y) const {
    return hn::Mul(y, hn::Sub(hn::Set(d, 1.0f), y));
  }
};

// Whichever is asked for. Clamps are written Max(constant, x) and Min(constant, x), so that NaN survives (see math-inl.h).
struct AnyFunction {
  Activation kind;

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V x) const {
    const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
    switch (kind) {
      case Activation::Relu:
        return hn::Max(zero, x);
      case Activation::Tanh:
        return Tanh(d, x);
      case Activation::Sigmoid:
        return Sigmoid(d, x);
      case Activation::HardSigmoid:  // a straight line from -3 to 3
        return hn::Min(one, hn::Max(zero, hn::MulAdd(x, hn::Set(d, 1.0f / 6.0f), hn::Set(d, 0.5f))));
      case Activation::Softsign:
        return hn::Div(x, hn::Add(one, hn::Abs(x)));
      case Activation::Elu:  // x, below zero exp(x) - 1
        return hn::IfThenElse(hn::Lt(x, zero), Expm1OfNegative(d, x), x);
      case Activation::LeakyRelu:
        return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, hn::Set(d, kLeak)), x);
      case Activation::Linear:
      case Activation::Softmax:
        break;
    }
    return x;
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Slope(D d, V y) const {
    const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
    switch (kind) {
      case Activation::Relu:
        return hn::IfThenElseZero(hn::Gt(y, zero), one);
      case Activation::Tanh:
        return TanhFunction().Slope(d, y);
      case Activation::Sigmoid:
        return SigmoidFunction().Slope(d, y);
      case Activation::HardSigmoid:
        return hn::IfThenElseZero(hn::And(hn::Gt(y, zero), hn::Lt(y, one)), hn::Set(d, 1.0f / 6.0f));
      case Activation::Softsign: {  // 1 / (1 + |x|)^2, and 1 / (1 + |x|) is 1 - |y|
        const V rest = hn::Sub(one, hn::Abs(y));
        return hn::Mul(rest, rest);
      }
      case Activation::Elu:
        return hn::IfThenElse(hn::Lt(y, zero), hn::Add(y, one), one);
      case Activation::LeakyRelu:
        return hn::IfThenElse(hn::Lt(y, zero), hn::Set(d, kLeak), one);
      case Activation::Linear:
      case Activation::Softmax:
        break;
    }
    return one;
  }

 private:
  static constexpr float kLeak = 0.2f;  // Keras's slope below zero

  // exp(x) - 1 for x <= 0: near zero what is left of the difference of two numbers near one would be rounding alone.
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V Expm1OfNegative(D d, V x) {
    V series = hn::Set(d, 1.0f / 120.0f);
    series = hn::MulAdd(series, x, hn::Set(d, 1.0f / 24.0f));
    series = hn::MulAdd(series, x, hn::Set(d, 1.0f / 6.0f));
    series = hn::MulAdd(series, x, hn::Set(d, 0.5f));
    series = hn::MulAdd(hn::Mul(series, x), x, x);
    const V far = hn::Sub(ExpInRange(d, hn::Max(hn::Set(d, -87.0f), x)), hn::Set(d, 1.0f));
    return hn::IfThenElse(hn::Gt(x, hn::Set(d, -0.25f)), series, far);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#endif  // toggle
