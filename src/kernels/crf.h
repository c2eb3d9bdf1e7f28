// crf: a linear chain over the tags of a row: alpha forward in time, marginals backward. Highway.
//   alpha_t(k) = log P(steps up to t, tag k) less a constant of the step, so that the alphas of a step are a distribution:
//     v(k) = x_t(k) + log sum_j exp(alpha_{t-1}(j) + T(j, k)), at the start x_0(k) + start(k); alpha = v - log sum exp v
//   p_t(k) is the probability of tag k at step t in the light of the whole row. Backward needs no beta: given the next tag k,
//   the tag before it is j with q(j | k) = exp(alpha_{t-1}(j) + T(j, k) - log sum_j ...), whatever follows, so
//   p_{t-1}(j) = sum_k p_t(k) q(j | k), and a pair's expected count is p_t(k) q(j | k). Nothing of it over- or underflows.
// Widths: `tags` elements; rows of x and alpha lie `stride` floats apart, `width` (a multiple of eight) of them belong to a
// row.
#pragma once

#include <cstdint>

#include "kernels/block_rows.h"

namespace plimsoll {

inline constexpr int64_t kMostTags = 256;

struct CrfShape {
  int64_t tags = 0;
  int64_t width() const { return WholeVectors(tags); }
  int64_t stride() const { return ActivationStride(tags); }
  // One buffer: transitions [tags][width] from a row's tag to a column's, then start [width], then end [width].
  int64_t start() const { return tags * width(); }
  int64_t end() const { return start() + width(); }
  int64_t floats() const { return end() + width(); }
};

// Rows of a block, as packed as everywhere.
struct CrfRows {
  const BlockRows* rows = nullptr;
  int64_t first_step = 0;
  const int32_t* lengths = nullptr;
  const int32_t* tags = nullptr;  // the true ones, packed; those of the step before the block stand in front of them
  int64_t rows_before = 0;        // rows of that step
};

// alpha of every row and step; the rows of the step before the block stand in front of it. `sums` [packed][width]: the
// logarithm that q divides by. To `losses` of each row is added what the step adds to log Z - score of the true tags.
void crf_forward(float* alpha, float* sums, double* losses, const float* x, const float* weights, const CrfRows& rows,
                 const CrfShape& shape, Share share);
// d_x = scale (p - [true tag]), hits += steps whose likeliest tag is the true one. `p` [row][width] comes with the marginals of
// the step behind the block and goes with those of its first step; `marginals` [packed][width] are all of them.
void crf_backward(float* d_x, float* p, float* marginals, int32_t* hits, const float* alpha, const float* sums,
                  const float* weights, float scale, const CrfRows& rows, const CrfShape& shape, Share share);
// Adds to the gradient of the weights in columns [begin, end), multiples of eight; steps and rows in ascending order.
void crf_gradient(float* gradient, const float* marginals, const float* alpha, const float* sums, const float* weights,
                  float scale, const CrfRows& rows, const CrfShape& shape, int64_t begin, int64_t end);
// The likeliest sequence of tags. `best` [row][width] is carried from block to block; `from` [packed][width]: the tag before.
void crf_viterbi(float* best, uint8_t* from, const float* x, const float* weights, const CrfRows& rows, const CrfShape& shape,
                 Share share);

}  // namespace plimsoll
