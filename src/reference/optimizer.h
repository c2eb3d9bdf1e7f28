// optimizer: the reference optimizers, so that several updates in a row can be compared with the engine's.
#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/options.h"
#include "reference/reference.h"

namespace plimsoll {

// As Keras writes them. r is the learning rate, t counts from 1. Where clip_norm > 0 the gradients are scaled to that norm of
// all of them together first; where clip_tensor_norm > 0 each tensor's to that norm of its own; where clip_value > 0 each
// element is held between its bounds.
//   sgd      w -= r g;  with momentum: m = momentum m - r g;  w += m, or, with nesterov, w += momentum m - r g
//   adam     m += (1 - beta_1) (g - m);  v += (1 - beta_2) (g^2 - v)
//            w -= alpha m / (sqrt(v) + epsilon),  alpha = r sqrt(1 - beta_2^t) / (1 - beta_1^t)
//   lazy_adam  the same of the rows that are named
//   adamw    w -= r weight_decay w, but not for biases;  then adam
//   rmsprop  v += (1 - rho) (g^2 - v);  w -= r g / sqrt(v + epsilon)
//   adagrad  v += g^2, v beginning at initial_accumulator_value;  w -= r g / sqrt(v + epsilon)
template <typename T>
class ReferenceOptimizer {
 public:
  explicit ReferenceOptimizer(const TrainOptions& options) : options_(options) {}
  // The same tensors in the same order at every call. rows: of each tensor those that are updated; empty: all.
  void Update(std::vector<ReferenceTensor<T>>& weights, const std::vector<ReferenceTensor<T>>& gradients, double learning_rate,
              const std::vector<std::vector<bool>>& rows = {});

 private:
  TrainOptions options_;
  int64_t updates_ = 0;
  std::vector<std::vector<T>> m_, v_;
};

}  // namespace plimsoll
