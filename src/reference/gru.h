// gru: one sample through one GRU, step by step.
//   z, r = sigmoid of  b + W_ih x_t + W_hh h_(t-1)
//   reset after the product:   n = tanh(b_in + W_in x_t + r (b_hn + W_hn h_(t-1)))
//   reset before the product:  n = tanh(b_in + W_in x_t + W_hn (r h_(t-1)))
//   h_t = z h_(t-1) + (1 - z) n
//   (or other functions than sigmoid and tanh)
//   Letters: T steps, D inputs, H units.  in: [T, D], out: [T, H], W_ih: [3H, D], W_hh: [3H, H], in row blocks z, r, n.
//   start: [H], h before the first step; empty: zeros.
//   h_scale: [H], what h_(t-1) is multiplied by before its products (not in z h_(t-1)); empty: nothing.
//   Biases: [3H], or empty: none. b_hh only with the reset after the product; where both feed a gate it gets their sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/activation.h"
#include "reference/dropout.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
struct GruTape {
  Rows<T> gates;  // [T, 3H], behind sigmoid and tanh
  Rows<T> inner;  // [T, H]: what r multiplies, W_hn h + b_hn (after), or what W_hn multiplies, r h (before)
  Rows<T> fed;    // [T, H]: h_(t-1) as the products read it
};

template <typename T>
void GruForward(Rows<T>& out, GruTape<T>& tape, const Rows<T>& in, const std::vector<T>& weight_ih,
                const std::vector<T>& weight_hh, const std::vector<T>& bias_ih, const std::vector<T>& bias_hh, bool reset_after,
                const CellFunctions& by = {}, const std::vector<T>& h_scale = {}, const std::vector<T>& start = {}) {
  const int64_t D = in.width, H = out.width;
  tape.fed = Rows<T>(in.count, H);
  tape.gates = Rows<T>(in.count, 3 * H);
  tape.inner = Rows<T>(in.count, H);
  const std::vector<T> begin = StartOrZeros(start, H);
  for (int64_t t = 0; t < in.count; ++t) {
    const T* h_before = t == 0 ? begin.data() : out.row(t - 1);
    T *z = tape.gates.row(t), *r = z + H, *n = r + H, *inner = tape.inner.row(t), *fed = tape.fed.row(t);
    for (int64_t k = 0; k < H; ++k) fed[k] = ScaleAt(h_scale, k) * h_before[k];
    const auto of_input = [&](int64_t j) {
      T sum = bias_ih.empty() ? T(0) : bias_ih[j];
      for (int64_t d = 0; d < D; ++d) sum += weight_ih[j * D + d] * in.row(t)[d];
      return sum;
    };
    const auto of_state = [&](int64_t j, const T* state) {
      T sum = bias_hh.empty() ? T(0) : bias_hh[j];
      for (int64_t k = 0; k < H; ++k) sum += weight_hh[j * H + k] * state[k];
      return sum;
    };
    for (int64_t j = 0; j < 2 * H; ++j) z[j] = Activate(of_input(j) + of_state(j, fed), by.gate);
    if (!reset_after) {
      for (int64_t k = 0; k < H; ++k) inner[k] = r[k] * fed[k];
    }
    for (int64_t k = 0; k < H; ++k) {
      if (reset_after) {
        inner[k] = of_state(2 * H + k, fed);
        n[k] = Activate(of_input(2 * H + k) + r[k] * inner[k], by.outer);
      } else {
        n[k] = Activate(of_input(2 * H + k) + of_state(2 * H + k, inner), by.outer);
      }
      out.row(t)[k] = z[k] * h_before[k] + (T(1) - z[k]) * n[k];
    }
  }
}

// Adds to d_in and to the weight gradients; those of biases that are empty stay so.
template <typename T>
void GruBackward(Rows<T>& d_in, std::vector<T>& d_weight_ih, std::vector<T>& d_weight_hh, std::vector<T>& d_bias_ih,
                 std::vector<T>& d_bias_hh, const Rows<T>& d_out, const Rows<T>& in, const Rows<T>& out, const GruTape<T>& tape,
                 const std::vector<T>& weight_ih, const std::vector<T>& weight_hh, bool reset_after,
                 const CellFunctions& by = {}, const std::vector<T>& h_scale = {}, int64_t truncate = 0,
                 const std::vector<T>& start = {}) {
  const int64_t D = in.width, H = out.width;
  const std::vector<T> begin = StartOrZeros(start, H);
  std::vector<T> d_h_next(static_cast<size_t>(H));  // what step t + 1 says about h_t
  std::vector<T> d_h_before(static_cast<size_t>(H));
  std::vector<T> d_input(static_cast<size_t>(3 * H));  // of the sums that x feeds
  std::vector<T> d_state(static_cast<size_t>(3 * H));  // of the sums that h feeds, or r h
  for (int64_t t = in.count - 1; t >= 0; --t) {
    if (truncate > 0 && (t + 1) % truncate == 0) {
      std::fill(d_h_next.begin(), d_h_next.end(), T(0));
    }
    const T* x = in.row(t);
    const T* h_before = t == 0 ? begin.data() : out.row(t - 1);
    const T *z = tape.gates.row(t), *r = z + H, *n = r + H, *inner = tape.inner.row(t), *fed = tape.fed.row(t);
    for (int64_t k = 0; k < H; ++k) {
      const T d_h = d_out.row(t)[k] + d_h_next[k];
      const T d_n = d_h * (T(1) - z[k]) * ActivationSlope(n[k], by.outer);
      d_h_before[k] = d_h * z[k];
      d_input[k] = d_state[k] = d_h * (h_before[k] - n[k]) * ActivationSlope(z[k], by.gate);
      d_input[2 * H + k] = d_n;
      d_state[2 * H + k] = reset_after ? d_n * r[k] : d_n;
    }
    for (int64_t k = 0; k < H; ++k) {
      T d_r = 0;
      if (reset_after) {
        d_r = d_input[2 * H + k] * inner[k];
      } else {
        T d_inner = 0;
        for (int64_t j = 0; j < H; ++j) d_inner += d_state[2 * H + j] * weight_hh[(2 * H + j) * H + k];
        d_r = d_inner * fed[k];
        d_h_before[k] += d_inner * r[k] * ScaleAt(h_scale, k);
      }
      d_input[H + k] = d_state[H + k] = d_r * ActivationSlope(r[k], by.gate);
    }
    for (int64_t j = 0; j < 3 * H; ++j) {
      const bool of_inner = !reset_after && j >= 2 * H;
      if (!d_bias_ih.empty()) d_bias_ih[j] += d_input[j];
      if (!d_bias_hh.empty()) d_bias_hh[j] += d_state[j];
      for (int64_t d = 0; d < D; ++d) {
        d_weight_ih[j * D + d] += d_input[j] * x[d];
        d_in.row(t)[d] += d_input[j] * weight_ih[j * D + d];
      }
      for (int64_t k = 0; k < H; ++k) {
        d_weight_hh[j * H + k] += d_state[j] * (of_inner ? inner[k] : fed[k]);
        if (!of_inner) d_h_before[k] += d_state[j] * weight_hh[j * H + k] * ScaleAt(h_scale, k);
      }
    }
    d_h_next.swap(d_h_before);
  }
}

}  // namespace plimsoll::reference
