// loss: of one item (a sample, or a step of one), not yet divided by the batch's item count; writes its gradient.
#pragma once

#include <cmath>
#include <cstdint>

namespace plimsoll::reference {

// log(sum(exp(logits))) - sum(weights * logits);  d_logits = softmax(logits) - weights.  logits: [C].
// weights: 1 at the target; with smoothing a share of it is spread evenly over all classes.
template <typename T>
T CrossEntropy(T* d_logits, const T* logits, int32_t target, int64_t C, T smoothing = T(0)) {
  T largest = logits[0];
  for (int64_t c = 1; c < C; ++c) largest = logits[c] > largest ? logits[c] : largest;
  T sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += std::exp(logits[c] - largest);
  T loss = std::log(sum);
  for (int64_t c = 0; c < C; ++c) {
    const T weight = (c == target ? T(1) - smoothing : T(0)) + smoothing / static_cast<T>(C);
    d_logits[c] = std::exp(logits[c] - largest) / sum - weight;
    if (weight > T(0)) loss += weight * (largest - logits[c]);  // so, or large logits would eat the digits
  }
  return loss;
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

// mean(|y - target|)
template <typename T>
T MeanAbsoluteError(T* d_y, const T* y, const T* target, int64_t W) {
  T sum = 0;
  for (int64_t w = 0; w < W; ++w) {
    const T difference = y[w] - target[w];
    sum += std::abs(difference);
    d_y[w] = static_cast<T>((difference > T(0)) - (difference < T(0))) / static_cast<T>(W);
  }
  return sum / static_cast<T>(W);
}

// mean(d^2 / 2) up to |d| = delta; beyond it the straight line delta (|d| - delta / 2)
template <typename T>
T Huber(T* d_y, const T* y, const T* target, int64_t W, T delta) {
  T sum = 0;
  for (int64_t w = 0; w < W; ++w) {
    const T difference = y[w] - target[w], size = std::abs(difference);
    sum += size <= delta ? difference * difference / T(2) : delta * (size - delta / T(2));
    d_y[w] = (size <= delta ? difference : std::copysign(delta, difference)) / static_cast<T>(W);
  }
  return sum / static_cast<T>(W);
}

// mean(-t log(s) - (1 - t) log(1 - s)) with s = sigmoid(logit); smoothing moves a share of each target to 1/2.
template <typename T>
T BinaryCrossEntropy(T* d_logits, const T* logits, const T* target, int64_t W, T smoothing) {
  T sum = 0;
  for (int64_t w = 0; w < W; ++w) {
    const T t = target[w] * (T(1) - smoothing) + smoothing / T(2), x = logits[w];
    sum += (x > T(0) ? x : T(0)) - t * x + std::log1p(std::exp(-std::abs(x)));
    d_logits[w] = (T(1) / (T(1) + std::exp(-x)) - t) / static_cast<T>(W);
  }
  return sum / static_cast<T>(W);
}

}  // namespace plimsoll::reference
