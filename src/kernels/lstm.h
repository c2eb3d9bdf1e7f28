// lstm: forward and backward of one LSTM layer over one Block of packed ragged rows.
//   i, f, o = sigmoid, g = tanh of  b + x Wx + h(t-1) Wh;   c = f c(t-1) + i g;   h = o tanh(c)
// Layouts (units in panels of eight; the last panel is filled up with units whose weights are zero and stay zero):
//   weights      panel p: [k][32], the 32 columns being i, f, g, o of units 8p .. 8p+7
//   gates, delta panel p: [row-step of the block][32]; backward writes delta over the gates
//   h, c, x      [row][stride]
//   transposed   column tile q (32 inputs): [4 units in panel order][32]
// Legend: B rows of the group, N row-steps of the block, H units, P = ceil(H / 8) panels, D inputs.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernels/block_rows.h"
#include "kernels/product.h"
#include "kernels/tiles.h"

namespace plimsoll {

struct LstmShape {
  int64_t inputs = 0;        // D
  int64_t units = 0;         // H
  int64_t input_stride = 0;  // floats between rows of x
  bool input_gradient = false;

  int64_t panels() const { return (units + 7) / 8; }
  int64_t stride() const { return ActivationStride(units); }  // of h, c and their gradients
  int64_t unit_tiles() const { return (units + kPanelColumns - 1) / kPanelColumns; }
  int64_t input_tiles() const { return (inputs + kPanelColumns - 1) / kPanelColumns; }
  int64_t input_weights() const { return panels() * inputs * kPanelColumns; }  // floats
  int64_t recurrent_weights() const { return panels() * units * kPanelColumns; }
  int64_t bias_weights() const { return panels() * kPanelColumns; }
  int64_t transposed_recurrent() const { return unit_tiles() * panels() * kPanelColumns * kPanelColumns; }
  int64_t transposed_input() const { return input_gradient ? input_tiles() * panels() * kPanelColumns * kPanelColumns : 0; }
};

// The product tiles of one layer, by their numbers in the run's ProductSet.
struct LstmTiles {
  const ProductSet* set = nullptr;
  int project = 0, recur = 0;         // heights 1 .. kTileRows
  ColumnTiles back_units;             // dh: batch over panels
  ColumnTiles back_inputs;            // dx
  int sum_inputs = 0, sum_units = 0;  // weight gradients: 128, 64, 32, 16, 8, 4, 2, 1 rows a call
};
LstmTiles AddLstmTiles(ProductSet& set, const LstmShape& shape);

struct LstmWeights {
  float* input = nullptr;      // Wx
  float* recurrent = nullptr;  // Wh
  float* bias = nullptr;
};
struct LstmTransposed {
  float* recurrent = nullptr;
  float* input = nullptr;  // null without input_gradient
};
// Rewrites the transposed copies from the weights; after every update.
void lstm_transpose(LstmTransposed out, LstmWeights weights, const LstmShape& shape, ThreadPool& pool);

// Forward. `h` has the active rows of h(t-1) at the block's start in front of it: h - rows[0] * stride.
// gates: written with the activated gates. c: in and out, the State of the rows. h: written for every row-step.
void lstm_block_forward(float* gates, float* c, float* h, const float* x, LstmWeights weights, const BlockRows& block,
                        const LstmShape& shape, const LstmTiles& tiles, ThreadPool& pool);

// h again from the gates and c at the block's start (not changed), bit for bit what forward wrote. c_work: [B] rows, scratch.
void lstm_block_replay(float* h, float* c_work, const float* gates, const float* c_start, const BlockRows& block,
                       const LstmShape& shape, ThreadPool& pool);

// Backward over time. gates: in the gates, out delta. d_h, d_c: in the gradient that comes from later steps, out the one for
// earlier steps; d_out: gradient of every row-step's h. cells: scratch, [rows[0] + N] rows of c. d_x: written, when not null.
// offsets: scratch for 2 * P numbers, filled here for the tiles.
void lstm_block_backward(float* gates, float* d_h, float* d_c, float* d_x, int64_t d_x_stride, const float* d_out, float* cells,
                         uint64_t* offsets, const float* c_start, LstmTransposed transposed, const BlockRows& block,
                         const LstmShape& shape, const LstmTiles& tiles, ThreadPool& pool);

// Weight gradients of the block are added: rows in ascending order, one accumulator an element.
// h_before: h with the rows of the block's start in front, as in forward.
void lstm_block_gradient(LstmWeights d_weights, const float* delta, const float* x, const float* h_before,
                         const BlockRows& block, const LstmShape& shape, const LstmTiles& tiles, ThreadPool& pool);

}  // namespace plimsoll
