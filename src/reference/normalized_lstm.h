// normalized_lstm: one sample through one LSTM with layer normalisation (Ba et al. 2016), step by step.
//   a_t = LN(W_ih x_t; gamma_x, beta_x) + LN(W_hh h_(t-1); gamma_h, beta_h) + b, in row blocks i, f, g, o
//   i, f, o = sigmoid(a); g = tanh(a)
//   c_t = f c_(t-1) + i g
//   h_t = o tanh(LN(c_t; gamma_c, beta_c))
//   (or other functions than sigmoid and tanh); LN as in normalize.h, over all 4H of a row, or the H of c
//   Letters: T steps, D inputs, H units.
//   in: [T, D], out: [T, H], W_ih: [4H, D], W_hh: [4H, H], b: [4H] or empty: none; gamma and beta: [4H], of c [H].
//   start: [2H], h and c before the first step; empty: zeros.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/activation.h"
#include "reference/normalize.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
struct NormalizedLstmWeights {
  const std::vector<T>&weight_ih, &weight_hh, &bias;
  const std::vector<T>&gamma_x, &beta_x, &gamma_h, &beta_h, &gamma_c, &beta_c;
};
template <typename T>
struct NormalizedLstmGradients {
  std::vector<T>&weight_ih, &weight_hh, &bias;
  std::vector<T>&gamma_x, &beta_x, &gamma_h, &beta_h, &gamma_c, &beta_c;
};

template <typename T>
struct NormalizedLstmTape {
  Rows<T> of_x, of_h;  // [T, 4H]: the two products, before they are normalised
  Rows<T> gates;       // [T, 4H], behind sigmoid and tanh
  Rows<T> cells;       // [T, H]
  Rows<T> normal;      // [T, H]: c normalised
};

// Row t of out = W row.
template <typename T>
void ProductRow(Rows<T>& out, int64_t t, const std::vector<T>& weight, const T* row, int64_t width) {
  for (int64_t j = 0; j < out.width; ++j)
    for (int64_t d = 0; d < width; ++d) out.row(t)[j] += weight[j * width + d] * row[d];
}

// Its backward: adds to d_weight and d_row.
template <typename T>
void ProductRowBackward(T* d_row, std::vector<T>& d_weight, const Rows<T>& d_out, const std::vector<T>& weight, const T* row,
                        int64_t width) {
  for (int64_t j = 0; j < d_out.width; ++j) {
    for (int64_t d = 0; d < width; ++d) {
      d_weight[j * width + d] += d_out.row(0)[j] * row[d];
      d_row[d] += d_out.row(0)[j] * weight[j * width + d];
    }
  }
}

template <typename T>
Rows<T> OneRow(const T* values, int64_t width) {
  Rows<T> row(1, width);
  std::copy(values, values + width, row.row(0));
  return row;
}

template <typename T>
Rows<T> Normalized(const T* values, int64_t width, const std::vector<T>& gamma, const std::vector<T>& beta, T epsilon) {
  Rows<T> out(1, width);
  NormalizeForward(out, OneRow(values, width), gamma, beta, epsilon);
  return out;
}

template <typename T>
void NormalizedLstmForward(Rows<T>& out, NormalizedLstmTape<T>& tape, const Rows<T>& in,
                           const NormalizedLstmWeights<T>& weights, T epsilon, const CellFunctions& by = {},
                           const std::vector<T>& start = {}) {
  const int64_t D = in.width, H = out.width;
  for (Rows<T>* rows : {&tape.of_x, &tape.of_h, &tape.gates}) *rows = Rows<T>(in.count, 4 * H);
  for (Rows<T>* rows : {&tape.cells, &tape.normal}) *rows = Rows<T>(in.count, H);
  const std::vector<T> begin = StartOrZeros(start, 2 * H);
  for (int64_t t = 0; t < in.count; ++t) {
    ProductRow(tape.of_x, t, weights.weight_ih, in.row(t), D);
    ProductRow(tape.of_h, t, weights.weight_hh, t == 0 ? begin.data() : out.row(t - 1), H);
    const Rows<T> of_x = Normalized(tape.of_x.row(t), 4 * H, weights.gamma_x, weights.beta_x, epsilon);
    const Rows<T> of_h = Normalized(tape.of_h.row(t), 4 * H, weights.gamma_h, weights.beta_h, epsilon);
    T *gates = tape.gates.row(t), *cell = tape.cells.row(t);
    for (int64_t j = 0; j < 4 * H; ++j) {
      const T sum = of_x.row(0)[j] + of_h.row(0)[j] + (weights.bias.empty() ? T(0) : weights.bias[j]);
      gates[j] = Activate(sum, j / H == 2 ? by.outer : by.gate);
    }
    for (int64_t k = 0; k < H; ++k) {
      const T c_before = (t == 0 ? begin.data() + H : tape.cells.row(t - 1))[k];
      cell[k] = gates[H + k] * c_before + gates[k] * gates[2 * H + k];
    }
    const Rows<T> normal = Normalized(cell, H, weights.gamma_c, weights.beta_c, epsilon);
    for (int64_t k = 0; k < H; ++k) {
      tape.normal.row(t)[k] = normal.row(0)[k];
      out.row(t)[k] = gates[3 * H + k] * Activate(normal.row(0)[k], by.outer);
    }
  }
}

// Adds to d_in and to the gradients; that of a bias that is empty stays so. d_last_cell: as in LstmBackward.
template <typename T>
void NormalizedLstmBackward(Rows<T>& d_in, const NormalizedLstmGradients<T>& gradients, const Rows<T>& d_out, const Rows<T>& in,
                            const Rows<T>& out, const NormalizedLstmTape<T>& tape, const NormalizedLstmWeights<T>& weights,
                            T epsilon, const CellFunctions& by = {}, int64_t truncate = 0, const std::vector<T>& start = {},
                            const std::vector<T>& d_last_cell = {}) {
  const int64_t D = in.width, H = out.width;
  const std::vector<T> begin = StartOrZeros(start, 2 * H);
  std::vector<T> d_h_next(static_cast<size_t>(H));  // what step t + 1 says about h_t and c_t
  std::vector<T> d_c_next = StartOrZeros(d_last_cell, H);
  for (int64_t t = in.count - 1; t >= 0; --t) {
    if (truncate > 0 && (t + 1) % truncate == 0 && t + 1 < in.count) {
      std::fill(d_h_next.begin(), d_h_next.end(), T(0));
      std::fill(d_c_next.begin(), d_c_next.end(), T(0));
    }
    const T* c_before = t == 0 ? begin.data() + H : tape.cells.row(t - 1);
    const T* gates = tape.gates.row(t);
    Rows<T> d_a(1, 4 * H), d_normal(1, H), d_cell(1, H);
    T* delta = d_a.row(0);
    for (int64_t k = 0; k < H; ++k) {
      const T o = gates[3 * H + k], shown = Activate(tape.normal.row(t)[k], by.outer), d_h = d_out.row(t)[k] + d_h_next[k];
      delta[3 * H + k] = d_h * shown * ActivationSlope(o, by.gate);
      d_normal.row(0)[k] = d_h * o * ActivationSlope(shown, by.outer);
    }
    NormalizeBackward(d_cell, gradients.gamma_c, gradients.beta_c, d_normal, OneRow(tape.cells.row(t), H), weights.gamma_c,
                      epsilon);
    for (int64_t k = 0; k < H; ++k) {
      const T i = gates[k], f = gates[H + k], g = gates[2 * H + k], d_c = d_c_next[k] + d_cell.row(0)[k];
      delta[k] = d_c * g * ActivationSlope(i, by.gate);
      delta[H + k] = d_c * c_before[k] * ActivationSlope(f, by.gate);
      delta[2 * H + k] = d_c * i * ActivationSlope(g, by.outer);
      d_c_next[k] = d_c * f;
    }
    for (int64_t j = 0; j < 4 * H && !gradients.bias.empty(); ++j) gradients.bias[j] += delta[j];
    Rows<T> d_of_x(1, 4 * H), d_of_h(1, 4 * H);
    NormalizeBackward(d_of_x, gradients.gamma_x, gradients.beta_x, d_a, OneRow(tape.of_x.row(t), 4 * H), weights.gamma_x,
                      epsilon);
    NormalizeBackward(d_of_h, gradients.gamma_h, gradients.beta_h, d_a, OneRow(tape.of_h.row(t), 4 * H), weights.gamma_h,
                      epsilon);
    std::fill(d_h_next.begin(), d_h_next.end(), T(0));
    ProductRowBackward(d_in.row(t), gradients.weight_ih, d_of_x, weights.weight_ih, in.row(t), D);
    ProductRowBackward(d_h_next.data(), gradients.weight_hh, d_of_h, weights.weight_hh, t == 0 ? begin.data() : out.row(t - 1),
                       H);
  }
}

}  // namespace plimsoll::reference
