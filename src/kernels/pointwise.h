// pointwise: everything that is done element by element: activations and sums. Highway; a float's bits do not
//   depend on its neighbours or on the thread. Widths are given in elements, strides in floats; columns from `width` up to the
//   next multiple of eight belong to the row and may be written.
#pragma once

#include <cstdint>

#include "plimsoll/options.h"

namespace plimsoll {

// Every row of out = values. width: a multiple of eight.
void fill_rows(float* out, const float* values, int64_t rows, int64_t width, int64_t stride);
// sum += the rows, ascending. width: a multiple of eight.
void add_rows(float* sum, const float* in, int64_t rows, int64_t width, int64_t stride);
// By ids of a table's rows: row i of out = table[ids[i]]; table[ids[i]] += row i of in, ascending. width: a multiple of eight.
void copy_rows_at(float* out, const float* table, const int32_t* ids, int64_t rows, int64_t width, int64_t stride);
void add_rows_at(float* table, const int32_t* ids, const float* in, int64_t rows, int64_t width, int64_t stride);

// out += in, element by element.
void add_elements(float* out, const float* in, int64_t rows, int64_t width, int64_t stride);
// out = in * factors, element by element. out may be in.
void multiply_elements(float* out, const float* in, const float* factors, int64_t rows, int64_t width, int64_t stride);

// y = act(y) in place. Softmax is not an activation here: the loss applies it.
void activation_forward(float* y, Activation activation, int64_t rows, int64_t width, int64_t stride);
// d = d * act'(y), y being the activated output.
void activation_backward(float* d, const float* y, Activation activation, int64_t rows, int64_t width, int64_t stride);

// Sum of squares, in double, in one fixed order.
double square_sum(const float* values, int64_t count);
// No infinity and no NaN among them.
bool all_finite(const float* values, int64_t count);

}  // namespace plimsoll
