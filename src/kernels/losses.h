// losses: of a slice of rows, and their gradients in place of the outputs. Highway; a row's bits do not depend on its
//   neighbours or on the thread. Widths are given in elements, strides in floats; columns from `width` up to the next multiple
//   of eight become zero.
//   scale: what every gradient is multiplied with: 1 / items of the batch. losses: one a row, written, without it.
//   targets: [row][width] without padding.
#pragma once

#include <cstdint>

namespace plimsoll {

// Cross-entropy of softmax(logits). hits: one a row, written: 1 where the first largest logit is the class. smoothing: share of
// each target that is spread evenly over all classes.
void softmax_cross_entropy(float* logits, double* losses, double* hits, const int32_t* classes, float smoothing, float scale,
                           int64_t rows, int64_t width, int64_t stride);

// Means over the width of a row, d being y - target.
// d^2
void mean_squared_error(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width,
                        int64_t stride);
// |d|
void mean_absolute_error(float* y, double* losses, const float* targets, float scale, int64_t rows, int64_t width,
                         int64_t stride);
// d^2 / 2 up to |d| = delta, and from there on the straight line that goes on from it
void huber_loss(float* y, double* losses, const float* targets, float delta, float scale, int64_t rows, int64_t width,
                int64_t stride);
// Of sigmoid(logits) against targets from 0 to 1. smoothing: share of each target that is moved to 1/2.
void binary_cross_entropy(float* logits, double* losses, const float* targets, float smoothing, float scale, int64_t rows,
                          int64_t width, int64_t stride);

}  // namespace plimsoll
