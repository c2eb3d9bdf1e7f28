// normalize: layer normalisation.  in, out: [R, W], gamma, beta: [W].
//   y = gamma (x - mean) / sqrt(variance + epsilon) + beta, mean and variance over the row
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/rows.h"

namespace plimsoll::reference {

// The row moved and scaled to mean 0 and variance 1; gives 1 / sqrt(variance + epsilon).
template <typename T>
T NormalRow(std::vector<T>& normal, const T* x, int64_t W, T epsilon) {
  T mean = 0, variance = 0;
  for (int64_t w = 0; w < W; ++w) mean += x[w] / static_cast<T>(W);
  for (int64_t w = 0; w < W; ++w) variance += (x[w] - mean) * (x[w] - mean) / static_cast<T>(W);
  const T inverse = T(1) / std::sqrt(variance + epsilon);
  normal.resize(static_cast<size_t>(W));
  for (int64_t w = 0; w < W; ++w) normal[w] = (x[w] - mean) * inverse;
  return inverse;
}

template <typename T>
void NormalizeForward(Rows<T>& out, const Rows<T>& in, const std::vector<T>& gamma, const std::vector<T>& beta, T epsilon) {
  std::vector<T> normal;
  for (int64_t r = 0; r < in.count; ++r) {
    NormalRow(normal, in.row(r), in.width, epsilon);
    for (int64_t w = 0; w < in.width; ++w) out.row(r)[w] = gamma[w] * normal[w] + beta[w];
  }
}

// Adds to d_in, d_gamma and d_beta.
template <typename T>
void NormalizeBackward(Rows<T>& d_in, std::vector<T>& d_gamma, std::vector<T>& d_beta, const Rows<T>& d_out, const Rows<T>& in,
                       const std::vector<T>& gamma, T epsilon) {
  const auto W = static_cast<T>(in.width);
  std::vector<T> normal;
  for (int64_t r = 0; r < in.count; ++r) {
    const T inverse = NormalRow(normal, in.row(r), in.width, epsilon);
    const T* d = d_out.row(r);
    T mean = 0, along = 0;  // of the gradient of the normal row, and of its part along that row
    for (int64_t w = 0; w < in.width; ++w) {
      d_gamma[w] += d[w] * normal[w];
      d_beta[w] += d[w];
      mean += d[w] * gamma[w] / W;
      along += d[w] * gamma[w] * normal[w] / W;
    }
    for (int64_t w = 0; w < in.width; ++w) d_in.row(r)[w] += inverse * (d[w] * gamma[w] - mean - normal[w] * along);
  }
}

}  // namespace plimsoll::reference
