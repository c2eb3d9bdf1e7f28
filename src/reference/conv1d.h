// conv1d: a causal convolution over time as plain loops. Weights are [filters][tap][input]; the last tap looks at the step
// itself.
#pragma once

#include <vector>

#include "reference/activation.h"
#include "reference/rows.h"

namespace plimsoll::reference {

struct ConvolutionShape {
  int64_t taps = 1;
  int64_t dilation = 1;
  // The step that a tap of step t looks at; below 0: before the start.
  int64_t Looked(int64_t t, int64_t tap) const { return t - (taps - 1 - tap) * dilation; }
};

template <typename T>
void Conv1DForward(Rows<T>& out, const Rows<T>& in, const std::vector<T>& weight, const std::vector<T>& bias,
                   const ConvolutionShape& shape, Activation activation) {
  for (int64_t t = 0; t < out.count; ++t) {
    for (int64_t u = 0; u < out.width; ++u) {
      T sum = bias.empty() ? T(0) : bias[static_cast<size_t>(u)];
      for (int64_t tap = 0; tap < shape.taps; ++tap) {
        if (shape.Looked(t, tap) < 0) continue;
        const T* x = in.row(shape.Looked(t, tap));
        for (int64_t d = 0; d < in.width; ++d) {
          sum += weight[static_cast<size_t>((u * shape.taps + tap) * in.width + d)] * x[d];
        }
      }
      out.row(t)[u] = Activate(sum, activation);
    }
  }
}

// Everything is added to.
template <typename T>
void Conv1DBackward(Rows<T>& d_in, std::vector<T>& d_weight, std::vector<T>& d_bias, const Rows<T>& d_out, const Rows<T>& in,
                    const Rows<T>& out, const std::vector<T>& weight, const ConvolutionShape& shape, Activation activation) {
  for (int64_t t = 0; t < out.count; ++t) {
    for (int64_t u = 0; u < out.width; ++u) {
      const T d_sum = d_out.row(t)[u] * ActivationSlope(out.row(t)[u], activation);
      if (!d_bias.empty()) d_bias[static_cast<size_t>(u)] += d_sum;
      for (int64_t tap = 0; tap < shape.taps; ++tap) {
        const int64_t looked = shape.Looked(t, tap);
        for (int64_t d = 0; d < in.width && looked >= 0; ++d) {
          const auto place = static_cast<size_t>((u * shape.taps + tap) * in.width + d);
          d_weight[place] += d_sum * in.row(looked)[d];
          d_in.row(looked)[d] += d_sum * weight[place];
        }
      }
    }
  }
}

}  // namespace plimsoll::reference
