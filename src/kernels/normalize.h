// normalize: layer normalisation of rows. Highway; a row's bits do not depend on its neighbours or on the thread.
//   y = gamma (x - mean) / sqrt(variance + epsilon) + beta, mean and variance over the width of the row
//   Widths in elements, strides in floats. y, d_x and d_y: columns from `width` up to the next multiple of eight belong to the
//   row and may be written; rows of x may lie close together.
#pragma once

#include <cstdint>

namespace plimsoll {

struct NormalRows {
  int64_t rows = 0;
  int64_t width = 0;
  int64_t x_stride = 0;
};

// Of each row the mean and 1 / sqrt(variance + epsilon): [rows][2].
void normal_statistics(float* statistics, const float* x, float epsilon, const NormalRows& shape);
// gamma, beta: zero behind the width.
void normalize_forward(float* y, int64_t y_stride, const float* x, const float* statistics, const float* gamma,
                       const float* beta, const NormalRows& shape);
void normalize_backward(float* d_x, int64_t d_x_stride, const float* d_y, int64_t d_y_stride, const float* x,
                        const float* statistics, const float* gamma, const NormalRows& shape);
// Adds to the gradients of gamma and beta in the columns from `begin` to `end`, multiples of eight; rows in ascending order.
void normalize_gradient(float* d_gamma, float* d_beta, const float* d_y, int64_t d_y_stride, const float* x,
                        const float* statistics, int64_t begin, int64_t end, const NormalRows& shape);

}  // namespace plimsoll
