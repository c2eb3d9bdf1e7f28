// activation: the pointwise functions behind a Dense and inside recurrent cells, and their slopes.
//   Softmax stands only on the last layer of a classifier and is part of the loss (loss.h): here it passes logits on.
#pragma once

#include <cmath>

#include "plimsoll/options.h"

namespace plimsoll::reference {

template <typename T>
constexpr T kLeak = T(0.2f);  // of leaky_relu below zero; the float of the kernels

// What a recurrent cell puts its sums through: gates, and all else.
struct CellFunctions {
  Activation outer = Activation::Tanh;
  Activation gate = Activation::Sigmoid;
};

template <typename T>
T Sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <typename T>
T Activate(T x, Activation activation) {
  switch (activation) {
    case Activation::Relu:
      return x < T(0) ? T(0) : x;  // so written that NaN passes
    case Activation::Tanh:
      return std::tanh(x);
    case Activation::Sigmoid:
      return Sigmoid(x);
    case Activation::HardSigmoid: {
      const T line = x / T(6) + T(0.5);
      return line < T(0) ? T(0) : line > T(1) ? T(1) : line;
    }
    case Activation::Softsign:
      return x / (T(1) + std::abs(x));
    case Activation::Elu:
      return x < T(0) ? std::expm1(x) : x;
    case Activation::LeakyRelu:
      return x < T(0) ? x * kLeak<T> : x;
    case Activation::Linear:
    case Activation::Softmax:
      break;
  }
  return x;
}

// dy/dx, from y.
template <typename T>
T ActivationSlope(T y, Activation activation) {
  switch (activation) {
    case Activation::Relu:
      return y > T(0) ? T(1) : T(0);
    case Activation::Tanh:
      return T(1) - y * y;
    case Activation::Sigmoid:
      return y * (T(1) - y);
    case Activation::HardSigmoid:
      return y > T(0) && y < T(1) ? T(1) / T(6) : T(0);
    case Activation::Softsign:
      return (T(1) - std::abs(y)) * (T(1) - std::abs(y));
    case Activation::Elu:
      return y < T(0) ? y + T(1) : T(1);
    case Activation::LeakyRelu:
      return y < T(0) ? kLeak<T> : T(1);
    case Activation::Linear:
    case Activation::Softmax:
      break;
  }
  return T(1);
}

}  // namespace plimsoll::reference
