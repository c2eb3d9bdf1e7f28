// adam: the reference optimizer, so that several updates in a row can be compared with the engine's.
#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/options.h"
#include "reference/reference.h"

namespace plimsoll {

// Adam as Keras writes it, with the gradient clipped by its global norm first where clip_norm > 0:
//   m += (1 - beta_1) (g - m);  v += (1 - beta_2) (g^2 - v)
//   w -= alpha m / (sqrt(v) + epsilon),  alpha = learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t),  t from 1
template <typename T>
class ReferenceAdam {
 public:
  explicit ReferenceAdam(const TrainOptions& options) : options_(options) {}
  // The same tensors in the same order at every call.
  void Update(std::vector<ReferenceTensor<T>>& weights, const std::vector<ReferenceTensor<T>>& gradients);

 private:
  TrainOptions options_;
  int64_t updates_ = 0;
  std::vector<std::vector<T>> m_, v_;
};

}  // namespace plimsoll
