// activation: the pointwise functions behind a Dense, and their slopes.
//   Softmax stands only on the last layer of a classifier and is part of the loss (loss.h): here it passes logits on.
#pragma once

#include <cmath>

#include "plimsoll/options.h"

namespace plimsoll::reference {

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
    case Activation::Linear:
    case Activation::Softmax:
      break;
  }
  return T(1);
}

}  // namespace plimsoll::reference
