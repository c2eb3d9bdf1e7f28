// dense: y = activation(W x + b) for every row.  in: [R, D], out: [R, U], W: [U, D], b: [U].
#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/options.h"
#include "reference/activation.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
void DenseForward(Rows<T>& out, const Rows<T>& in, const std::vector<T>& weight, const std::vector<T>& bias,
                  Activation activation) {
  for (int64_t r = 0; r < out.count; ++r)
    for (int64_t u = 0; u < out.width; ++u) {
      T sum = bias[u];
      for (int64_t d = 0; d < in.width; ++d) sum += weight[u * in.width + d] * in.row(r)[d];
      out.row(r)[u] = Activate(sum, activation);
    }
}

// Adds to d_in, d_weight and d_bias.
template <typename T>
void DenseBackward(Rows<T>& d_in, std::vector<T>& d_weight, std::vector<T>& d_bias, const Rows<T>& d_out, const Rows<T>& in,
                   const Rows<T>& out, const std::vector<T>& weight, Activation activation) {
  for (int64_t r = 0; r < out.count; ++r)
    for (int64_t u = 0; u < out.width; ++u) {
      const T d_sum = d_out.row(r)[u] * ActivationSlope(out.row(r)[u], activation);
      d_bias[u] += d_sum;
      for (int64_t d = 0; d < in.width; ++d) {
        d_weight[u * in.width + d] += d_sum * in.row(r)[d];
        d_in.row(r)[d] += d_sum * weight[u * in.width + d];
      }
    }
}

}  // namespace plimsoll::reference
