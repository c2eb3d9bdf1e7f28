// lstm_cell: the pointwise part of the LSTM for one panel (eight units, four gates) of n rows. Highway; see lstm.h.
#pragma once

#include <cstdint>

namespace plimsoll {

// gates: [n][32], in the sums, out i, f, g, o. c: in c(t-1), out c(t). h: written. c, h: [n][stride].
void lstm_cell_forward(float* gates, float* c, float* h, int64_t n, int64_t stride);
// c and h again from activated gates.
void lstm_cell_replay(float* c, float* h, const float* gates, int64_t n, int64_t stride);
// c(t) from c(t-1) and activated gates.
void lstm_cell_rescan(float* c, const float* c_before, const float* gates, int64_t n, int64_t stride);
// gates: in i, f, g, o, out delta of the sums. d_c: in from t+1, out for t-1. d_h: from t+1, added to d_out.
void lstm_cell_backward(float* gates, float* d_c, const float* d_h, const float* d_out, const float* c, const float* c_before,
                        int64_t n, int64_t stride);

}  // namespace plimsoll
