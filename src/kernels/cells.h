// cells: the pointwise part of each cell for one panel of n rows. Highway; see recurrent.h for columns and equations.
//   gates: [n][columns of the panel]. c, h and their like: [n][stride], from the panel's first unit on.
//   forward   gates: in the sums, out what the cell makes of them. h (and c) written
//   replay    h (and c) again from the gates, bit for bit
//   backward  gates: in as forward left them, out delta, the gradients of the sums. d_h: in from t+1, which is added to d_out,
//             or is all of it where d_out is null; of the cells with a way from h to h' past the products: out that part of
//             the gradient of h'
#pragma once

#include <cstdint>

#include "plimsoll/options.h"

namespace plimsoll {

// outer: of candidates, and of c on its way to h; of all sums of the Rnn. gate: of the others.
struct CellActivations {
  Activation outer = Activation::Tanh;
  Activation gate = Activation::Sigmoid;
  bool usual() const { return outer == Activation::Tanh && gate == Activation::Sigmoid; }
};

// A panel: where the columns of each gate begin, one behind the other, and how many of its units rows of h have room for.
struct CellPanel {
  CellActivations by;
  int64_t lanes = 8;            // units, and columns of one gate
  int64_t units = 8;            // to compute, a multiple of eight
  const float* bias = nullptr;  // forward: added to the sums of the columns that x feeds
};

// c: in c', out c. h: o act(c).
void lstm_cell_forward(const CellPanel& panel, float* gates, float* c, float* h, int64_t n, int64_t stride);
// c from c' and activated gates, with h or without.
void lstm_cell_replay(const CellPanel& panel, float* c, const float* c_before, float* h, const float* gates, int64_t n,
                      int64_t stride);
void lstm_cell_rescan(const CellPanel& panel, float* c, const float* c_before, const float* gates, int64_t n, int64_t stride);
// d_c: in from t+1, out for t-1.
void lstm_cell_backward(const CellPanel& panel, float* gates, float* d_c, const float* d_h, const float* d_out, const float* c,
                        const float* c_before, int64_t n, int64_t stride);
// The same where h is a projection of o act(c): d_shown is the gradient of o act(c), all of it. c: in c, out o act(c).
void lstm_projected_backward(const CellPanel& panel, float* gates, float* d_c, const float* d_shown, float* c,
                             const float* c_before, int64_t n, int64_t stride);

void gru_cell_forward(const CellPanel& panel, float* gates, float* h, const float* h_before, int64_t n, int64_t stride);
// Of both kinds of GRU, which have 4 and 3 gates of a unit.
void gru_cell_replay(const CellPanel& panel, float* h, const float* h_before, const float* gates, int64_t gates_of_unit,
                     int64_t n, int64_t stride);
void gru_cell_backward(const CellPanel& panel, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                       int64_t stride);

// GRU with the reset before the product. First z, r and r h'; then, with its product in the sums, n and h.
void gru_before_reset(const CellPanel& panel, float* gates, float* reset, const float* h_before, int64_t n, int64_t stride);
void gru_before_forward(const CellPanel& panel, float* gates, float* h, const float* h_before, int64_t n, int64_t stride);
// First delta of n and z; then, from the gradient of r h', delta of r. reset: r h' again, for the weight gradients.
void gru_before_backward(const CellPanel& panel, float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n,
                         int64_t stride);
void gru_before_backward_reset(const CellPanel& panel, float* gates, float* d_h, float* reset, const float* d_reset,
                               const float* h_before, int64_t n, int64_t stride);

void rnn_cell_forward(const CellPanel& panel, float* gates, float* h, int64_t n, int64_t stride);
void rnn_cell_replay(const CellPanel& panel, float* h, const float* gates, int64_t n, int64_t stride);
void rnn_cell_backward(const CellPanel& panel, float* gates, const float* d_h, const float* d_out, int64_t n, int64_t stride);

}  // namespace plimsoll
