// ctc: connectionist temporal classification, the sum over all ways in which the steps of a row spell its labels. Highway.
//   A row with n labels has 2 n + 1 places: a blank before, between and behind the labels, which are the odd places. From step
//   to step a way stays where it is, goes on by one place, or by two from a label to the next where they differ. It begins in
//   one of the first two places and ends in one of the last two. The blank is class 0. alpha_t(s) = log P(steps up to t, place
//   s) less a constant of the step, so that the alphas of a step are a distribution:
//     v(s) = log softmax(x_t)(class of s) + log sum exp alpha_{t-1} over the places that lead to s; alpha = v - log sum exp v
//   p_t(s) is the probability of place s at step t in the light of the whole row. Backward needs no beta (see crf.h): given the
//   next place s, the place before it is r with exp(alpha_{t-1}(r) - log sum exp ...), whatever follows.
// Rows of alpha lie `stride` floats apart, `width` (a multiple of eight) of them belong to a row; rows of x lie `x_stride`
// apart.
#pragma once

#include <cstdint>

#include "kernels/block_rows.h"

namespace plimsoll {

struct CtcShape {
  int64_t classes = 0;  // the blank among them
  int64_t longest = 0;  // labels of any row
  int64_t places() const { return 2 * longest + 1; }
  int64_t width() const { return WholeVectors(places()); }
  int64_t stride() const { return ActivationStride(places()); }
  int64_t x_stride() const { return ActivationStride(classes); }
};

// Rows of a block, as packed as everywhere.
struct CtcRows {
  const BlockRows* rows = nullptr;
  int64_t first_step = 0;
  const int32_t* lengths = nullptr;
  const int32_t* labels = nullptr;        // [row][label_stride]
  const int32_t* label_counts = nullptr;  // [row]
  int64_t label_stride = 0;
  const float* weights = nullptr;  // [row] what it counts; null: 1
};

// alpha of every row and step; the rows of the step before the block stand in front of it. `sums` [packed][width]: the
// logarithm that the shares of the places before are divided by. To `losses` of each row is added what the step adds to
// -log P(labels).
void ctc_forward(float* alpha, float* sums, double* losses, const float* x, const CtcRows& rows, const CtcShape& shape,
                 Share share);
// d_x = scale weight (softmax(x) - p of the class). `p` [row][width] comes with the places of the step behind the block and
// goes with those of the step before it.
void ctc_backward(float* d_x, float* p, const float* alpha, const float* sums, const float* x, float scale, const CtcRows& rows,
                  const CtcShape& shape, Share share);
// Edit distance between the labels and what the largest output of each step spells: repeats and blanks left out. Carried from
// block to block: `distances` [row][longest + 1] to the first labels of the row, `last` [row] the class of the step before.
void ctc_distances(int32_t* distances, int32_t* last, const float* x, const CtcRows& rows, const CtcShape& shape, Share share);

}  // namespace plimsoll
