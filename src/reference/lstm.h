// lstm: one sample through one LSTM, step by step from a zero state.
//   a_t = b + W_ih x_t + W_hh h_(t-1), in row blocks i, f, g, o
//   i, f, o = sigmoid(a); g = tanh(a)
//   c_t = f c_(t-1) + i g
//   h_t = o tanh(c_t)
//   (or other functions than sigmoid and tanh)
//   Letters: T steps, D inputs, H units.  in: [T, D], out: [T, H], W_ih: [4H, D], W_hh: [4H, H], b: [4H], or empty: none.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/activation.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
struct LstmTape {
  Rows<T> gates;  // [T, 4H], behind sigmoid and tanh
  Rows<T> cells;  // [T, H]
};

template <typename T>
void LstmForward(Rows<T>& out, LstmTape<T>& tape, const Rows<T>& in, const std::vector<T>& weight_ih,
                 const std::vector<T>& weight_hh, const std::vector<T>& bias, const CellFunctions& by = {}) {
  const int64_t D = in.width, H = out.width;
  tape.gates = Rows<T>(in.count, 4 * H);
  tape.cells = Rows<T>(in.count, H);
  const std::vector<T> zeros(static_cast<size_t>(H));
  for (int64_t t = 0; t < in.count; ++t) {
    const T* x = in.row(t);
    const T* h_before = t == 0 ? zeros.data() : out.row(t - 1);
    const T* c_before = t == 0 ? zeros.data() : tape.cells.row(t - 1);
    T* gates = tape.gates.row(t);
    for (int64_t j = 0; j < 4 * H; ++j) {
      T sum = bias.empty() ? T(0) : bias[j];
      for (int64_t d = 0; d < D; ++d) sum += weight_ih[j * D + d] * x[d];
      for (int64_t k = 0; k < H; ++k) sum += weight_hh[j * H + k] * h_before[k];
      const bool is_g = j / H == 2;
      gates[j] = Activate(sum, is_g ? by.outer : by.gate);
    }
    for (int64_t k = 0; k < H; ++k) {
      const T i = gates[k], f = gates[H + k], g = gates[2 * H + k], o = gates[3 * H + k];
      const T c = f * c_before[k] + i * g;
      tape.cells.row(t)[k] = c;
      out.row(t)[k] = o * Activate(c, by.outer);
    }
  }
}

// Adds to d_in and to the weight gradients; that of a bias that is empty stays so.
template <typename T>
void LstmBackward(Rows<T>& d_in, std::vector<T>& d_weight_ih, std::vector<T>& d_weight_hh, std::vector<T>& d_bias,
                  const Rows<T>& d_out, const Rows<T>& in, const Rows<T>& out, const LstmTape<T>& tape,
                  const std::vector<T>& weight_ih, const std::vector<T>& weight_hh, const CellFunctions& by = {}) {
  const int64_t D = in.width, H = out.width;
  const std::vector<T> zeros(static_cast<size_t>(H));
  std::vector<T> d_h_next(static_cast<size_t>(H));  // what step t + 1 says about h_t and c_t
  std::vector<T> d_c_next(static_cast<size_t>(H));
  std::vector<T> d_a(static_cast<size_t>(4 * H));
  for (int64_t t = in.count - 1; t >= 0; --t) {
    const T* x = in.row(t);
    const T* h_before = t == 0 ? zeros.data() : out.row(t - 1);
    const T* c_before = t == 0 ? zeros.data() : tape.cells.row(t - 1);
    const T* gates = tape.gates.row(t);
    for (int64_t k = 0; k < H; ++k) {
      const T i = gates[k], f = gates[H + k], g = gates[2 * H + k], o = gates[3 * H + k];
      const T shown = Activate(tape.cells.row(t)[k], by.outer);
      const T d_h = d_out.row(t)[k] + d_h_next[k];
      const T d_c = d_c_next[k] + d_h * o * ActivationSlope(shown, by.outer);
      d_a[k] = d_c * g * ActivationSlope(i, by.gate);
      d_a[H + k] = d_c * c_before[k] * ActivationSlope(f, by.gate);
      d_a[2 * H + k] = d_c * i * ActivationSlope(g, by.outer);
      d_a[3 * H + k] = d_h * shown * ActivationSlope(o, by.gate);
      d_c_next[k] = d_c * f;
    }
    for (int64_t k = 0; k < H; ++k) d_h_next[k] = T(0);
    for (int64_t j = 0; j < 4 * H; ++j) {
      if (!d_bias.empty()) d_bias[j] += d_a[j];
      for (int64_t d = 0; d < D; ++d) {
        d_weight_ih[j * D + d] += d_a[j] * x[d];
        d_in.row(t)[d] += d_a[j] * weight_ih[j * D + d];
      }
      for (int64_t k = 0; k < H; ++k) {
        d_weight_hh[j * H + k] += d_a[j] * h_before[k];
        d_h_next[k] += d_a[j] * weight_hh[j * H + k];
      }
    }
  }
}

}  // namespace plimsoll::reference
