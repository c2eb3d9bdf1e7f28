// recurrent: forward and backward of one recurrent layer over one Block of packed ragged rows, whatever its cell.
//   Lstm       i, f, o = sigmoid, g = tanh of  b + x Wx + h' Wh;   c = f c' + i g;   h = o tanh(c), or (o tanh(c)) Wr
//   Gru        z, r = sigmoid of  b + x Wx + h' Wh;   q = bh + h' Wq;   n = tanh(bx + x Wn + r q);   h = n + z (h' - n)
//   GruBefore  z, r the same;   n = tanh(b + x Wn + (r h') Wq);   h the same
//   Rnn        h = tanh of  b + x Wx + h' Wh
// (h' and c' are those of the step before; a layer may have other functions than sigmoid and tanh.) Units lie in panels; a
// panel holds the sums of its units in a few columns:
//   Lstm       L units, 4 L columns  i f g o;   x and h' feed all of them
//   Gru        L units, 4 L columns  n z r q;   x feeds n z r, h' feeds z r q
//   GruBefore  L units, 3 L columns  n z r;     x feeds all, h' feeds z r, r h' feeds n
//   Rnn       32 units, 32 columns
// L is 8 or 16, as many as a vector of the machine has.
// Layouts (the last panel is filled up with units whose weights are zero and stay zero):
//   weights      panel p: [k][columns that are fed]
//   gates, delta panel p: [row-step of the block][columns]; backward writes delta over the gates
//   h, c, x      [row][stride]
//   transposed   column tile q (32 inputs): panel p: [columns that are fed][32]
//   Wr           as the weights of a Dense without bias (dense.h)
// Legend: B rows of the group, N row-steps of the block, H units, P panels, D inputs, R width of h: H, or that of a projection.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernels/block_rows.h"
#include "kernels/cells.h"
#include "kernels/dense.h"
#include "kernels/product.h"
#include "kernels/tiles.h"

namespace plimsoll {

enum class Cell { Lstm, Gru, GruBefore, Rnn };

// Of a panel: those that one operand feeds.
struct Columns {
  int32_t begin = 0;
  int32_t count = 0;
};

struct RecurrentShape {
  Cell cell = Cell::Lstm;
  int64_t inputs = 0;        // D
  int64_t units = 0;         // H
  int64_t input_stride = 0;  // floats between rows of x
  bool input_gradient = false;
  CellActivations activations;
  int64_t projected = 0;  // R of an Lstm with a projection; 0: none
  int32_t lanes = 8;      // L
  int64_t table_ids = 0;  // x are rows of a table of so many, whose products are looked up; 0: they are made at every step

  int64_t panel_units() const { return cell == Cell::Rnn ? 32 : lanes; }
  int32_t columns() const;
  Columns of_input() const;
  Columns of_state() const;
  Columns of_reset() const { return {0, cell == Cell::GruBefore ? lanes : 0}; }  // fed by r h'
  bool has_c() const { return cell == Cell::Lstm; }
  bool has_reset() const { return cell == Cell::GruBefore; }
  bool has_state_bias() const { return cell == Cell::Gru; }  // of its own, beside the one of the inputs
  bool has_projection() const { return projected > 0; }
  bool has_straight() const { return cell == Cell::Gru || cell == Cell::GruBefore; }  // from h to h' past the products

  int64_t panels() const { return (units + panel_units() - 1) / panel_units(); }
  int64_t stride() const { return ActivationStride(units); }  // of c, and of h without a projection
  int64_t width() const { return has_projection() ? projected : units; }
  int64_t h_stride() const { return ActivationStride(width()); }
  DenseShape projection() const {
    return {.inputs = units, .units = projected, .input_stride = stride(), .input_gradient = true};
  }
  // As the cells see a panel: rows of h have room for whole vectors of eight.
  CellPanel cells_of(int64_t panel, const float* bias = nullptr) const {
    const int64_t all = panel_units();
    return {.by = activations,
            .lanes = all,
            .units = std::min(all, WholeVectors(units) - panel * all),
            .bias = bias == nullptr ? nullptr : bias + panel * columns()};
  }
  int64_t state_tiles() const { return (width() + kPanelColumns - 1) / kPanelColumns; }
  int64_t input_tiles() const { return (inputs + kPanelColumns - 1) / kPanelColumns; }

  // Floats.
  int64_t input_weights() const { return panels() * inputs * of_input().count; }
  int64_t state_weights() const { return panels() * width() * of_state().count; }
  int64_t reset_weights() const { return panels() * units * of_reset().count; }
  int64_t bias() const { return panels() * of_input().count; }
  int64_t state_bias() const { return has_state_bias() ? panels() * of_state().count : 0; }
  int64_t projection_weights() const { return has_projection() ? projection().weights() : 0; }
  int64_t transposed_state() const { return state_tiles() * panels() * of_state().count * kPanelColumns; }
  int64_t transposed_reset() const { return state_tiles() * panels() * of_reset().count * kPanelColumns; }
  int64_t transposed_input() const { return input_gradient ? input_tiles() * panels() * of_input().count * kPanelColumns : 0; }
  int64_t transposed_projection() const { return has_projection() ? projection().transposed() : 0; }
  int64_t table_products() const { return panels() * table_ids * columns(); }
};

// The product tiles of one layer, by their numbers in the run's ProductSet.
struct RecurrentTiles {
  const ProductSet* set = nullptr;
  int project = 0, recur = 0, recur_reset = 0;       // heights 1 .. kTileRows
  ColumnTiles back_state, back_reset, back_inputs;   // gradients of h', r h' and x: batch over panels
  int sum_inputs = 0, sum_state = 0, sum_reset = 0;  // weight gradients: kSumRows, half of that, ... 1 rows a call
  DenseTiles projection;
};
RecurrentTiles AddRecurrentTiles(ProductSet& set, const RecurrentShape& shape);

// Null: the cell has none.
struct RecurrentWeights {
  float* input = nullptr;       // Wx
  float* state = nullptr;       // Wh
  float* reset = nullptr;       // Wq of GruBefore
  float* bias = nullptr;        // of the columns that x feeds
  float* state_bias = nullptr;  // of the columns that h' feeds
  float* projection = nullptr;  // Wr
};
struct RecurrentTransposed {
  float* state = nullptr;
  float* reset = nullptr;
  float* input = nullptr;  // null without input_gradient
  float* projection = nullptr;
};
// Rewrites the transposed copies from the weights; after every update.
void recurrent_transpose(RecurrentTransposed out, RecurrentWeights weights, const RecurrentShape& shape, ThreadPool& pool);
// The bias of all columns, of cells with two: their sum where both feed a column. out: [P][columns].
void recurrent_sum_biases(float* out, RecurrentWeights weights, const RecurrentShape& shape);

// Forward. `h` has the active rows of h(t-1) at the block's start in front of it: h - rows[0] * h_stride.
// gates: written with the activated gates. c: in and out, the State of the rows. h: written for every row-step.
// bias: that of all columns, [P][columns]. Scratch: reset, [B] rows of r h'; shown, [B] rows of o act(c) on their
// way through a projection. kept: a copy of h, or null. products, ids: in place of x where it is looked up; see below.
// mask: [B] rows that the products' h' is multiplied by, or null; masked: scratch, [B] rows of the result.
struct ForwardBuffers {
  float* gates = nullptr;
  float* c = nullptr;
  float* h = nullptr;
  float* reset = nullptr;
  float* shown = nullptr;
  float* kept = nullptr;
  float* masked = nullptr;
  const float* mask = nullptr;
  const float* x = nullptr;
  const float* products = nullptr;
  const int32_t* ids = nullptr;
  const float* bias = nullptr;
};
void recurrent_block_forward(const ForwardBuffers& at, RecurrentWeights weights, const BlockRows& block,
                             const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool);

// h and c again from the gates and c at the block's start (not changed), bit for bit what forward had. h has the rows of the
// block's start in front, as in forward; cells too: [rows[0] + N] rows of c. Both of c are null where the cell has none. Behind
// a projection h is what forward has kept.
struct ReplayBuffers {
  float* h = nullptr;
  float* cells = nullptr;
  const float* gates = nullptr;
  const float* c_start = nullptr;
  const float* kept = nullptr;
};
void recurrent_block_replay(const ReplayBuffers& at, const BlockRows& block, const RecurrentShape& shape, ThreadPool& pool);

// Backward over time. gates: in the gates, out delta. d_h, d_c: in the gradient that comes from later steps, out the one for
// earlier steps; d_out: gradient of every row-step's h, or null: they have none but what d_h says. h: as in forward. d_x:
// written, when not null.
// cells: as replay left them. Scratch: reset, [N] rows of r h', kept for the weight gradients; d_reset, [B] rows;
// d_shown, [B] rows; offsets, for 4 P numbers, filled here for the tiles.
// mask: as in forward, or null; with one, scratch: masked, [N] rows, kept for the weight gradients; d_masked, [B] rows.
// With a projection d_out is there and gets what later steps say added, and o act(c) is left in place of c; both for the weight
// gradients.
struct BackwardBuffers {
  float* gates = nullptr;
  float* d_h = nullptr;
  float* d_c = nullptr;
  float* d_x = nullptr;
  int64_t d_x_stride = 0;
  float* d_out = nullptr;
  const float* h = nullptr;
  float* cells = nullptr;
  float* reset = nullptr;
  float* d_reset = nullptr;
  float* d_shown = nullptr;
  const float* mask = nullptr;
  float* masked = nullptr;
  float* d_masked = nullptr;
  uint64_t* offsets = nullptr;
  int64_t first_step = 0;  // of the block, in the sequence
  int64_t truncate = 0;    // above 0: at every so many steps of a sequence the gradients of h and c from behind are forgotten
  const int32_t* lengths = nullptr;  // of the rows; with truncate
};
void recurrent_block_backward(const BackwardBuffers& at, RecurrentTransposed transposed, const BlockRows& block,
                              const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool);

// Weight gradients of the block are added: rows in ascending order, one accumulator an element. A bias that is null stays.
// x: as in forward, null where it is looked up: then Wx gets nothing here; at: as backward left it.
void recurrent_block_gradient(RecurrentWeights d_weights, const float* x, const BackwardBuffers& at, const BlockRows& block,
                              const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool);

// Where x are rows of a table with few ids beside the steps of an update, three of the six products shrink to one row an id:
//   products      E Wx of all ids, made once an update; forward copies the rows of its ids, bit for bit what x Wx would be
//   d_products    delta summed up by id, over all blocks of the update in the order of their weight gradients
//   gradient      dWx += E^T d_products;  dE = d_products Wx^T; either may be null
// products, d_products: panel p: [id][columns]. table: E, [id][input_stride], as is dE. bias: as in forward. ids: of the
// block's row-steps. delta: as backward left it. offsets: as in backward.
void recurrent_table_products(float* products, const float* table, RecurrentWeights weights, const float* bias,
                              const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool);
void recurrent_table_add(float* d_products, const int32_t* ids, const float* delta, const BlockRows& block,
                         const RecurrentShape& shape, ThreadPool& pool);
struct TableGradient {
  float* d_input = nullptr;
  float* d_table = nullptr;
};
void recurrent_table_gradient(TableGradient out, const float* d_products, const float* table, RecurrentTransposed transposed,
                              uint64_t* offsets, const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool);

}  // namespace plimsoll
