// normalized_cell: the pointwise parts of an LSTM with normalisation, for n rows. Highway; normalized_lstm.h has the equations
//   and calls these between products and normalize.h. A row's bits do not depend on its neighbours.
//   gates: [n][gate_stride], i f g o of H units one behind the other, zeros behind them. c, h and their like: [n][stride].
#pragma once

#include <cstdint>

#include "kernels/cells.h"

namespace plimsoll {

struct NormalizedRows {
  int64_t rows = 0;   // n
  int64_t units = 0;  // H
  int64_t gate_stride = 0;
  int64_t stride = 0;
};

// gates: in what x and the biases give, out the activated gates of that and of the normalised U h'. sums: [n][sum_stride], U
// h'; statistics: their [n][2]; gamma: [4 H]. c: in c', out c.
void normalized_gates_forward(CellActivations by, float* gates, float* c, const float* sums, int64_t sum_stride,
                              const float* statistics, const float* gamma, const NormalizedRows& shape);
// c from c' and activated gates; c may be c_before.
void normalized_rescan(float* c, const float* c_before, const float* gates, const NormalizedRows& shape);
// h: in the normalised c, out o act(h).
void normalized_output(CellActivations by, float* h, const float* gates, const NormalizedRows& shape);

// Backward of the last, normal_c being the normalised c. gates: o becomes its delta. d_out: in the gradient from above, out
// that of the normalised c; d_h: from t+1, added to the former.
void normalized_output_backward(CellActivations by, float* gates, float* d_out, const float* d_h, const float* normal_c,
                                const NormalizedRows& shape);
// gates: i, f, g become delta. d_cell: what c hears through its normalisation; d_c: in from t+1, out for t-1.
void normalized_gates_backward(CellActivations by, float* gates, float* d_c, const float* d_cell, const float* c_before,
                               const NormalizedRows& shape);

}  // namespace plimsoll
