// rnn: one sample through one SimpleRNN, step by step.
//   h_t = tanh(b + W_ih x_t + W_hh h_(t-1)), or another function than tanh
//   start: [H], h before the first step; empty: zeros.
//   h_scale: [H], what h_(t-1) is multiplied by before its product; empty: nothing.
//   Letters: T steps, D inputs, H units.  in: [T, D], out: [T, H], W_ih: [H, D], W_hh: [H, H], b: [H], or empty: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/activation.h"
#include "reference/dropout.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
void RnnForward(Rows<T>& out, const Rows<T>& in, const std::vector<T>& weight_ih, const std::vector<T>& weight_hh,
                const std::vector<T>& bias, Activation activation = Activation::Tanh, const std::vector<T>& h_scale = {},
                const std::vector<T>& start = {}) {
  const int64_t D = in.width, H = out.width;
  const std::vector<T> begin = StartOrZeros(start, H);
  for (int64_t t = 0; t < in.count; ++t) {
    const T* h_before = t == 0 ? begin.data() : out.row(t - 1);
    for (int64_t j = 0; j < H; ++j) {
      T sum = bias.empty() ? T(0) : bias[j];
      for (int64_t d = 0; d < D; ++d) sum += weight_ih[j * D + d] * in.row(t)[d];
      for (int64_t k = 0; k < H; ++k) sum += weight_hh[j * H + k] * ScaleAt(h_scale, k) * h_before[k];
      out.row(t)[j] = Activate(sum, activation);
    }
  }
}

// Adds to d_in and to the weight gradients; that of a bias that is empty stays so.
template <typename T>
void RnnBackward(Rows<T>& d_in, std::vector<T>& d_weight_ih, std::vector<T>& d_weight_hh, std::vector<T>& d_bias,
                 const Rows<T>& d_out, const Rows<T>& in, const Rows<T>& out, const std::vector<T>& weight_ih,
                 const std::vector<T>& weight_hh, Activation activation = Activation::Tanh, const std::vector<T>& h_scale = {},
                 int64_t truncate = 0, const std::vector<T>& start = {}) {
  const int64_t D = in.width, H = out.width;
  const std::vector<T> begin = StartOrZeros(start, H);
  std::vector<T> d_h_next(static_cast<size_t>(H));  // what step t + 1 says about h_t
  for (int64_t t = in.count - 1; t >= 0; --t) {
    if (truncate > 0 && (t + 1) % truncate == 0) {
      std::fill(d_h_next.begin(), d_h_next.end(), T(0));
    }
    const T* h_before = t == 0 ? begin.data() : out.row(t - 1);
    std::vector<T> d_h_before(static_cast<size_t>(H));
    for (int64_t j = 0; j < H; ++j) {
      const T d_sum = (d_out.row(t)[j] + d_h_next[j]) * ActivationSlope(out.row(t)[j], activation);
      if (!d_bias.empty()) d_bias[j] += d_sum;
      for (int64_t d = 0; d < D; ++d) {
        d_weight_ih[j * D + d] += d_sum * in.row(t)[d];
        d_in.row(t)[d] += d_sum * weight_ih[j * D + d];
      }
      for (int64_t k = 0; k < H; ++k) {
        d_weight_hh[j * H + k] += d_sum * ScaleAt(h_scale, k) * h_before[k];
        d_h_before[k] += d_sum * ScaleAt(h_scale, k) * weight_hh[j * H + k];
      }
    }
    d_h_next = std::move(d_h_before);
  }
}

}  // namespace plimsoll::reference
