// normalized_lstm: the order of work of one layer in one Block. Threads own rows in forward and backward and run them through
// all
//   steps of the block without meeting; for weight gradients they own columns. See normalized_lstm.h for layouts.
#include "kernels/normalized_lstm.h"

#include <cstring>

#include "kernels/normalize.h"
#include "kernels/normalized_cell.h"
#include "kernels/pointwise.h"

namespace plimsoll {
namespace {

// One layer's block with its sizes at hand, for the functions below.
struct Frame {
  const BlockRows& block;
  const NormalizedShape& shape;
  int64_t stride = shape.stride();
  int64_t sum_stride = shape.sum_stride();
  int64_t gate_stride = shape.gate_stride();

  NormalRows OfSums(int64_t rows) const { return {.rows = rows, .width = shape.sums(), .x_stride = sum_stride}; }
  NormalRows OfCells(int64_t rows) const { return {.rows = rows, .width = shape.units, .x_stride = stride}; }
  NormalizedRows Rows(int64_t rows) const {
    return {.rows = rows, .units = shape.units, .gate_stride = gate_stride, .stride = stride};
  }
  // The rows before a step: those of the block's start, which lie in front of the steps, or of the step before.
  template <typename Float>
  Float* Before(Float* of_steps, int step) const {
    return step == 0 ? of_steps - block.rows[0] * stride : of_steps + block.first[step - 1] * stride;
  }
};

// sums of row-steps [to, to + n) = rows W, with their statistics.
struct SumsTo {
  float* sums;
  float* statistics;
};
void Sum(const Frame& frame, const SumsTo& out, const float* rows, const float* weights, const DenseShape& shape,
         const DenseTiles& tiles, int64_t to, int64_t n) {
  float* sums = out.sums + to * frame.sum_stride;
  dense_rows_forward(sums, rows, weights, nullptr, n, shape, tiles);
  normal_statistics(out.statistics + 2 * to, sums, frame.shape.epsilon, frame.OfSums(n));
}

// h = o act(LN(c)) of n rows.
void Output(const Frame& frame, float* h, const float* c, float* statistics, const float* gates,
            const NormalizedWeights& weights, int64_t n) {
  normal_statistics(statistics, c, frame.shape.epsilon, frame.OfCells(n));
  normalize_forward(h, frame.stride, c, statistics, weights.gamma_c, weights.beta_c, frame.OfCells(n));
  normalized_output(frame.shape.activations, h, gates, frame.Rows(n));
}

// Over time, of the rows of a share: delta of all row-steps in the gates, that of h' U in delta, and the gradients of State.
void BackOverTime(const Frame& frame, const NormalizedBackward& at, const NormalizedWeights& weights, const float* transposed,
                  const NormalizedTiles& tiles, const Share& share) {
  const auto& [block, shape, stride, sum_stride, gate_stride] = frame;
  const int64_t own = share.begin * stride;
  float* cells = at.cells + block.rows[0] * stride;  // behind c at the block's start
  std::memcpy(at.cells + own, at.c_start + own, static_cast<size_t>((share.end - share.begin) * stride) * sizeof(float));
  for (int step = 0; step < block.steps; ++step) {
    const int64_t n = ActiveIn(block, step, share), to = block.first[step] + share.begin;
    normalized_rescan(cells + to * stride, frame.Before(cells, step) + own, at.gates + to * gate_stride, frame.Rows(n));
  }
  for (int step = block.steps - 1; step >= 0; --step) {
    const int64_t n = ActiveIn(block, step, share), to = block.first[step] + share.begin;
    if (n == 0) continue;
    float *gates = at.gates + to * gate_stride, *d_out = at.d_out + to * stride, *delta = at.delta + to * sum_stride;
    float *d_h = at.d_h + own, *d_c = at.d_c + own, *normal_c = at.normal_c + own, *d_cell = at.d_cell + own;
    float* cell_statistics = at.cell_statistics + 2 * to;
    const float* c = cells + to * stride;
    if (const int64_t end = at.first_step + step + 1; at.truncate > 0 && end % at.truncate == 0) {
      const auto bytes = static_cast<size_t>(GoingOn(at.lengths, share.begin, n, end) * stride) * sizeof(float);
      std::memset(d_h, 0, bytes);
      std::memset(d_c, 0, bytes);
    }
    normal_statistics(cell_statistics, c, shape.epsilon, frame.OfCells(n));
    normalize_forward(normal_c, stride, c, cell_statistics, weights.gamma_c, weights.beta_c, frame.OfCells(n));
    normalized_output_backward(shape.activations, gates, d_out, d_h, normal_c, frame.Rows(n));
    normalize_backward(d_cell, stride, d_out, stride, c, cell_statistics, weights.gamma_c, frame.OfCells(n));
    normalized_gates_backward(shape.activations, gates, d_c, d_cell, frame.Before(cells, step) + own, frame.Rows(n));
    Sum(frame, {at.sums, at.statistics}, frame.Before(at.h, step) + own, weights.state, shape.of_state(), tiles.state, to, n);
    normalize_backward(delta, sum_stride, gates, gate_stride, at.sums + to * sum_stride, at.statistics + 2 * to,
                       weights.gamma_h, frame.OfSums(n));
    dense_rows_backward(d_h, delta, transposed, n, shape.of_state(), tiles.state);
  }
}

// The side of x, of row-steps [begin, end): sums, delta and statistics are now its own.
void BackToInputs(const Frame& frame, const NormalizedBackward& at, const NormalizedWeights& weights, const float* transposed,
                  const NormalizedTiles& tiles, const Share& share) {
  const NormalizedShape& shape = frame.shape;
  const int64_t begin = share.begin, n = share.end - share.begin, sums = begin * frame.sum_stride;
  Sum(frame, {at.sums, at.statistics}, at.x + begin * shape.input_stride, weights.input, shape.of_input(), tiles.input, begin,
      n);
  normalize_backward(at.delta + sums, frame.sum_stride, at.gates + begin * frame.gate_stride, frame.gate_stride, at.sums + sums,
                     at.statistics + 2 * begin, weights.gamma_x, frame.OfSums(n));
  if (at.d_x == nullptr) return;
  dense_rows_backward(at.d_x + begin * ActivationStride(shape.inputs), at.delta + sums, transposed, n, shape.of_input(),
                      tiles.input);
}

// Gradients of gamma and beta of the sums as they now are; a thread owns columns.
void SumsGradient(const Frame& frame, const NormalizedBackward& at, float* d_gamma, float* d_beta, ThreadPool& pool) {
  pool.Run([&](int part) {
    const Share share = ShareOf(frame.gate_stride, part, pool.size(), 8);
    normalize_gradient(d_gamma, d_beta, at.gates, frame.gate_stride, at.sums, at.statistics, share.begin, share.end,
                       frame.OfSums(frame.block.row_steps()));
  });
}

}  // namespace

NormalizedTiles AddNormalizedTiles(ProductSet& set, const NormalizedShape& shape) {
  return {.input = AddDenseTiles(set, shape.of_input()), .state = AddDenseTiles(set, shape.of_state())};
}

void normalized_block_forward(const NormalizedForward& at, const NormalizedWeights& weights, const BlockRows& block,
                              const NormalizedShape& shape, const NormalizedTiles& tiles, ThreadPool& pool) {
  const Frame frame{block, shape};
  pool.Run([&](int part) {
    const Share share = RowShare(block, part, pool.size());
    const int64_t own = share.begin * frame.stride;
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share), to = block.first[step] + share.begin;
      if (n == 0) continue;
      float *gates = at.gates + to * frame.gate_stride, *sums = at.sums + to * frame.sum_stride;
      float *c = at.c + own, *h = at.h + to * frame.stride, *statistics = at.statistics + 2 * to;
      Sum(frame, {at.sums, at.statistics}, at.x + to * shape.input_stride, weights.input, shape.of_input(), tiles.input, to, n);
      normalize_forward(gates, frame.gate_stride, sums, statistics, weights.gamma_x, at.start, frame.OfSums(n));
      Sum(frame, {at.sums, at.statistics}, frame.Before(at.h, step) + own, weights.state, shape.of_state(), tiles.state, to, n);
      normalized_gates_forward(shape.activations, gates, c, sums, frame.sum_stride, statistics, weights.gamma_h, frame.Rows(n));
      Output(frame, h, c, statistics, gates, weights, n);
    }
  });
}

void normalized_block_replay(const NormalizedReplay& at, const NormalizedWeights& weights, const BlockRows& block,
                             const NormalizedShape& shape, ThreadPool& pool) {
  const Frame frame{block, shape};
  pool.Run([&](int part) {
    const Share share = RowShare(block, part, pool.size());
    float* c = at.c_work + share.begin * frame.stride;
    std::memcpy(c, at.c_start + share.begin * frame.stride,
                static_cast<size_t>((share.end - share.begin) * frame.stride) * sizeof(float));
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share), to = block.first[step] + share.begin;
      const float* gates = at.gates + to * frame.gate_stride;
      normalized_rescan(c, c, gates, frame.Rows(n));
      Output(frame, at.h + to * frame.stride, c, at.statistics + 2 * to, gates, weights, n);
    }
  });
}

void normalized_block_backward(const NormalizedBackward& at, const NormalizedWeights* d_weights,
                               const NormalizedWeights& weights, const NormalizedTransposed& transposed, const BlockRows& block,
                               const NormalizedShape& shape, const NormalizedTiles& tiles, ThreadPool& pool) {
  const Frame frame{block, shape};
  const int64_t row_steps = block.row_steps();
  pool.Run([&](int part) { BackOverTime(frame, at, weights, transposed.state, tiles, RowShare(block, part, pool.size())); });
  if (d_weights != nullptr) {
    SumsGradient(frame, at, d_weights->gamma_h, d_weights->beta_h, pool);
    for (int step = 0; step < block.steps; ++step) {  // pairs (h(t-1), delta(t))
      dense_gradient(d_weights->state, nullptr, at.delta + block.first[step] * frame.sum_stride, frame.Before(at.h, step),
                     block.rows[step], shape.of_state(), tiles.state, pool);
    }
    normalize_gradient(d_weights->gamma_c, d_weights->beta_c, at.d_out, frame.stride, at.cells + block.rows[0] * frame.stride,
                       at.cell_statistics, 0, WholeVectors(shape.units), frame.OfCells(row_steps));
    if (d_weights->bias != nullptr) add_rows(d_weights->bias, at.gates, row_steps, frame.gate_stride, frame.gate_stride);
  } else if (at.d_x == nullptr) {
    return;
  }
  pool.Run([&](int part) { BackToInputs(frame, at, weights, transposed.input, tiles, ShareOf(row_steps, part, pool.size())); });
  if (d_weights == nullptr) return;
  SumsGradient(frame, at, d_weights->gamma_x, d_weights->beta_x, pool);
  dense_gradient(d_weights->input, nullptr, at.delta, at.x, row_steps, shape.of_input(), tiles.input, pool);
}

}  // namespace plimsoll
