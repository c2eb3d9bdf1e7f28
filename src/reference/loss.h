// loss: of one item (a sample, or a step of one), not yet divided by the batch's item count; writes its gradient.
#pragma once

#include <cmath>
#include <cstdint>

namespace plimsoll::reference {

// log(sum(exp(logits))) - logits[target];  d_logits = softmax(logits) - onehot(target).  logits: [C].
template <typename T>
T CrossEntropy(T* d_logits, const T* logits, int32_t target, int64_t C) {
  T largest = logits[0];
  for (int64_t c = 1; c < C; ++c) largest = logits[c] > largest ? logits[c] : largest;
  T sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += std::exp(logits[c] - largest);
  for (int64_t c = 0; c < C; ++c) d_logits[c] = std::exp(logits[c] - largest) / sum - (c == target ? T(1) : T(0));
  return std::log(sum) + (largest - logits[target]);  // in this order, or large logits would eat the digits
}

// mean((y - target)^2) over the W values of a target, as Keras.
template <typename T>
T MeanSquaredError(T* d_y, const T* y, const T* target, int64_t W) {
  T sum = 0;
  for (int64_t w = 0; w < W; ++w) {
    const T difference = y[w] - target[w];
    sum += difference * difference;
    d_y[w] = T(2) * difference / static_cast<T>(W);
  }
  return sum / static_cast<T>(W);
}

}  // namespace plimsoll::reference
