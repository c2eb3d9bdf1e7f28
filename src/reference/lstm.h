// lstm: one sample through one LSTM, step by step.
//   a_t = b + W_ih x_t + W_hh h_(t-1), in row blocks i, f, g, o
//   i, f, o = sigmoid(a); g = tanh(a)
//   c_t = f c_(t-1) + i g
//   h_t = o tanh(c_t), or W_hr (o tanh(c_t))
//   (or other functions than sigmoid and tanh)
//   Letters: T steps, D inputs, H units, R width of h: that of W_hr, or H.
//   h_scale: [R], what h_(t-1) is multiplied by before its products; empty: nothing.
//   start: [R + H], h and c before the first step; empty: zeros.
//   in: [T, D], out: [T, R], W_ih: [4H, D], W_hh: [4H, R], b: [4H], W_hr: [R, H]; b and W_hr may be empty: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/activation.h"
#include "reference/dropout.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
struct LstmTape {
  Rows<T> gates;  // [T, 4H], behind sigmoid and tanh
  Rows<T> cells;  // [T, H]
  Rows<T> shown;  // [T, H]: o tanh(c)
};

template <typename T>
void LstmForward(Rows<T>& out, LstmTape<T>& tape, const Rows<T>& in, const std::vector<T>& weight_ih,
                 const std::vector<T>& weight_hh, const std::vector<T>& bias, const CellFunctions& by = {},
                 const std::vector<T>& weight_hr = {}, const std::vector<T>& h_scale = {}, const std::vector<T>& start = {}) {
  const int64_t D = in.width, R = out.width, H = static_cast<int64_t>(weight_hh.size()) / (4 * R);
  tape.gates = Rows<T>(in.count, 4 * H);
  tape.cells = Rows<T>(in.count, H);
  tape.shown = Rows<T>(in.count, H);
  const std::vector<T> begin = StartOrZeros(start, R + H);
  for (int64_t t = 0; t < in.count; ++t) {
    const T* x = in.row(t);
    const T* h_before = t == 0 ? begin.data() : out.row(t - 1);
    const T* c_before = t == 0 ? begin.data() + R : tape.cells.row(t - 1);
    T* gates = tape.gates.row(t);
    for (int64_t j = 0; j < 4 * H; ++j) {
      T sum = bias.empty() ? T(0) : bias[j];
      for (int64_t d = 0; d < D; ++d) sum += weight_ih[j * D + d] * x[d];
      for (int64_t k = 0; k < R; ++k) sum += weight_hh[j * R + k] * ScaleAt(h_scale, k) * h_before[k];
      const bool is_g = j / H == 2;
      gates[j] = Activate(sum, is_g ? by.outer : by.gate);
    }
    for (int64_t k = 0; k < H; ++k) {
      const T i = gates[k], f = gates[H + k], g = gates[2 * H + k], o = gates[3 * H + k];
      const T c = f * c_before[k] + i * g;
      tape.cells.row(t)[k] = c;
      tape.shown.row(t)[k] = o * Activate(c, by.outer);
    }
    for (int64_t r = 0; r < R; ++r) {
      T sum = weight_hr.empty() ? tape.shown.row(t)[r] : T(0);
      for (int64_t k = 0; k < H && !weight_hr.empty(); ++k) sum += weight_hr[r * H + k] * tape.shown.row(t)[k];
      out.row(t)[r] = sum;
    }
  }
}

// Adds to d_in and to the weight gradients; that of a bias that is empty stays so. d_weight_hr: null without a projection.
// d_last_cell: [H], the gradient of c behind the last step; empty: nobody has read it.
template <typename T>
void LstmBackward(Rows<T>& d_in, std::vector<T>& d_weight_ih, std::vector<T>& d_weight_hh, std::vector<T>& d_bias,
                  const Rows<T>& d_out, const Rows<T>& in, const Rows<T>& out, const LstmTape<T>& tape,
                  const std::vector<T>& weight_ih, const std::vector<T>& weight_hh, const CellFunctions& by = {},
                  const std::vector<T>& weight_hr = {}, std::vector<T>* d_weight_hr = nullptr,
                  const std::vector<T>& h_scale = {}, int64_t truncate = 0, const std::vector<T>& start = {},
                  const std::vector<T>& d_last_cell = {}) {
  const int64_t D = in.width, R = out.width, H = tape.cells.width;
  const std::vector<T> begin = StartOrZeros(start, R + H);
  std::vector<T> d_h_next(static_cast<size_t>(R));  // what step t + 1 says about h_t and c_t
  std::vector<T> d_c_next = StartOrZeros(d_last_cell, H);
  std::vector<T> d_a(static_cast<size_t>(4 * H));
  std::vector<T> d_shown(static_cast<size_t>(H));
  for (int64_t t = in.count - 1; t >= 0; --t) {
    if (truncate > 0 && (t + 1) % truncate == 0 && t + 1 < in.count) {
      std::fill(d_h_next.begin(), d_h_next.end(), T(0));
      std::fill(d_c_next.begin(), d_c_next.end(), T(0));
    }
    const T* x = in.row(t);
    const T* h_before = t == 0 ? begin.data() : out.row(t - 1);
    const T* c_before = t == 0 ? begin.data() + R : tape.cells.row(t - 1);
    const T* gates = tape.gates.row(t);
    for (T& value : d_shown) value = T(0);
    for (int64_t r = 0; r < R; ++r) {
      const T d_h = d_out.row(t)[r] + d_h_next[r];
      if (weight_hr.empty()) d_shown[r] = d_h;
      for (int64_t k = 0; k < H && !weight_hr.empty(); ++k) {
        (*d_weight_hr)[r * H + k] += d_h * tape.shown.row(t)[k];
        d_shown[k] += d_h * weight_hr[r * H + k];
      }
    }
    for (int64_t k = 0; k < H; ++k) {
      const T i = gates[k], f = gates[H + k], g = gates[2 * H + k], o = gates[3 * H + k];
      const T shown = Activate(tape.cells.row(t)[k], by.outer);
      const T d_c = d_c_next[k] + d_shown[k] * o * ActivationSlope(shown, by.outer);
      d_a[k] = d_c * g * ActivationSlope(i, by.gate);
      d_a[H + k] = d_c * c_before[k] * ActivationSlope(f, by.gate);
      d_a[2 * H + k] = d_c * i * ActivationSlope(g, by.outer);
      d_a[3 * H + k] = d_shown[k] * shown * ActivationSlope(o, by.gate);
      d_c_next[k] = d_c * f;
    }
    for (T& value : d_h_next) value = T(0);
    for (int64_t j = 0; j < 4 * H; ++j) {
      if (!d_bias.empty()) d_bias[j] += d_a[j];
      for (int64_t d = 0; d < D; ++d) {
        d_weight_ih[j * D + d] += d_a[j] * x[d];
        d_in.row(t)[d] += d_a[j] * weight_ih[j * D + d];
      }
      for (int64_t k = 0; k < R; ++k) {
        d_weight_hh[j * R + k] += d_a[j] * ScaleAt(h_scale, k) * h_before[k];
        d_h_next[k] += d_a[j] * ScaleAt(h_scale, k) * weight_hh[j * R + k];
      }
    }
  }
}

}  // namespace plimsoll::reference
