// normalized_lstm: forward and backward of an LSTM with layer normalisation (Ba et al. 2016) over one Block of packed ragged
// rows.
//   a = LN(x W; gamma_x, beta_x) + LN(h' U; gamma_h, beta_h) + b;   i, f, o = sigmoid, g = tanh of a
//   c = f c' + i g;   h = o tanh(LN(c; gamma_c, beta_c))
// (h' and c' are those of the step before; a layer may have other functions.) LN is normalize.h's, over all 4 H sums of a row
// and over the H of c. Both products are those of a Dense: a row's sums lie together, and must all be there before they are
// normalised, so nothing here lies in panels of units as in recurrent.h but the weights.
// Layouts: W, U as the weights of a Dense of 4 H units without bias, in row blocks i f g o (dense.h); sums, delta: [row-step]
// [sum_stride]; gates: [row-step][gate_stride]; h, c and their like: [row][stride]; vectors in whole vectors, zeros behind
// them. Legend: B rows of the group, N row-steps of the block, H units, D inputs.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernels/block_rows.h"
#include "kernels/cells.h"
#include "kernels/dense.h"
#include "kernels/product.h"

namespace plimsoll {

struct NormalizedShape {
  int64_t inputs = 0;        // D
  int64_t units = 0;         // H
  int64_t input_stride = 0;  // floats between rows of x
  bool input_gradient = false;
  CellActivations activations;
  float epsilon = 0.0f;

  int64_t sums() const { return 4 * units; }
  int64_t stride() const { return ActivationStride(units); }
  int64_t sum_stride() const { return ActivationStride(sums()); }
  int64_t gate_stride() const { return WholeVectors(sums()); }
  DenseShape of_input() const {
    return {.inputs = inputs, .units = sums(), .input_stride = input_stride, .input_gradient = input_gradient};
  }
  DenseShape of_state() const { return {.inputs = units, .units = sums(), .input_stride = stride(), .input_gradient = true}; }
};

struct NormalizedTiles {
  DenseTiles input, state;
};
NormalizedTiles AddNormalizedTiles(ProductSet& set, const NormalizedShape& shape);

struct NormalizedWeights {
  float* input = nullptr;  // W
  float* state = nullptr;  // U
  float* gamma_x = nullptr;
  float* beta_x = nullptr;
  float* gamma_h = nullptr;
  float* beta_h = nullptr;
  float* gamma_c = nullptr;
  float* beta_c = nullptr;
  float* bias = nullptr;  // of a gradient, null: there is none
};
struct NormalizedTransposed {
  float* state = nullptr;
  float* input = nullptr;  // null without input_gradient
};

// Forward. `h` has the active rows of h(t-1) at the block's start in front of it: h - rows[0] * stride.
// gates: written with the activated gates. c: in and out, the State of the rows. h: written for every row-step.
// start: b + beta_x + beta_h. Scratch: sums, [N] rows; statistics, [N][2].
struct NormalizedForward {
  float* gates = nullptr;
  float* c = nullptr;
  float* h = nullptr;
  float* sums = nullptr;
  float* statistics = nullptr;
  const float* x = nullptr;
  const float* start = nullptr;
};
void normalized_block_forward(const NormalizedForward& at, const NormalizedWeights& weights, const BlockRows& block,
                              const NormalizedShape& shape, const NormalizedTiles& tiles, ThreadPool& pool);

// h again from the gates and c at the block's start (not changed), bit for bit what forward wrote. h has the rows of the
// block's start in front, as in forward. Scratch: c_work, [B] rows; statistics, as in forward.
struct NormalizedReplay {
  float* h = nullptr;
  float* c_work = nullptr;
  float* statistics = nullptr;
  const float* gates = nullptr;
  const float* c_start = nullptr;
};
void normalized_block_replay(const NormalizedReplay& at, const NormalizedWeights& weights, const BlockRows& block,
                             const NormalizedShape& shape, ThreadPool& pool);

// Backward: first over time, then the side of x, which needs no order; between the two delta and sums change hands. Weight
// gradients of the block are added, rows in ascending order, one accumulator an element; none where d_weights is null.
// gates: in the gates, out the gradients of a. d_h, d_c: in the gradient that comes from later steps, out the one for earlier
// steps. d_out: in the gradient of every row-step's h, out that of the normalised c. h, x: as in forward. d_x: written, when
// not null. Scratch: sums and statistics as in forward; delta, [N] rows of sum_stride; cells, [rows[0] + N] rows of c;
// cell_statistics, [N][2]; normal_c and d_cell, [B] rows.
struct NormalizedBackward {
  float* gates = nullptr;
  float* d_h = nullptr;
  float* d_c = nullptr;
  float* d_x = nullptr;
  float* d_out = nullptr;
  const float* h = nullptr;
  const float* x = nullptr;
  const float* c_start = nullptr;
  float* sums = nullptr;
  float* statistics = nullptr;
  float* delta = nullptr;
  float* cells = nullptr;
  float* cell_statistics = nullptr;
  float* normal_c = nullptr;
  float* d_cell = nullptr;
  int64_t first_step = 0;  // of the block, in the sequence
  int64_t truncate = 0;    // above 0: at every so many steps of a sequence the gradients of h and c from behind are forgotten
  const int32_t* lengths = nullptr;  // of each row; with truncate
};
void normalized_block_backward(const NormalizedBackward& at, const NormalizedWeights* d_weights,
                               const NormalizedWeights& weights, const NormalizedTransposed& transposed, const BlockRows& block,
                               const NormalizedShape& shape, const NormalizedTiles& tiles, ThreadPool& pool);

}  // namespace plimsoll
