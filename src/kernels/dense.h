// dense: y = act(x W + b) on rows, and its gradients. Weights lie in panels of 32 units: panel p is [inputs][32].
//   y, delta: [row][stride] with stride = ActivationStride(units); columns beyond the units hold what zero weights give.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"
#include "kernels/block_rows.h"
#include "kernels/product.h"
#include "kernels/tiles.h"

namespace plimsoll {

struct DenseShape {
  int64_t inputs = 0;
  int64_t units = 0;
  int64_t input_stride = 0;
  bool input_gradient = false;
  bool in_chunks = false;  // backward transposes the weights a chunk of units at a time: no second copy of them is kept

  static constexpr int64_t kChunkUnits = 512;
  int64_t panels() const { return (units + kPanelColumns - 1) / kPanelColumns; }
  int64_t stride() const { return ActivationStride(units); }
  int64_t input_tiles() const { return (inputs + kPanelColumns - 1) / kPanelColumns; }
  int64_t weights() const { return panels() * inputs * kPanelColumns; }  // floats
  int64_t bias() const { return panels() * kPanelColumns; }
  int64_t transposed_units() const { return in_chunks ? std::min(units, kChunkUnits) : units; }
  int64_t transposed() const { return input_gradient ? input_tiles() * transposed_units() * kPanelColumns : 0; }
};

struct DenseTiles {
  const ProductSet* set = nullptr;
  ColumnTiles forward, back;  // heights 1 .. kTileRows; with in_chunks `back` is of a whole chunk, and added
  ColumnTiles back_rest;      // of the last chunk
  ColumnTiles sum;            // kSumRows, half of that, ... 1 rows
};
DenseTiles AddDenseTiles(ProductSet& set, const DenseShape& shape);

void dense_transpose(float* transposed, const float* weights, const DenseShape& shape, ThreadPool& pool);
// out = b + x W, without activation.
void dense_forward(float* out, const float* x, const float* weights, const float* bias, int64_t rows, const DenseShape& shape,
                   const DenseTiles& tiles, ThreadPool& pool);
// The same on the calling thread; bias null: out = x W.
void dense_rows_forward(float* out, const float* x, const float* weights, const float* bias, int64_t rows,
                        const DenseShape& shape, const DenseTiles& tiles);
// d_x = delta W^T; rows of d_x are ActivationStride(inputs) apart.
void dense_backward(float* d_x, const float* delta, const float* transposed, int64_t rows, const DenseShape& shape,
                    const DenseTiles& tiles, ThreadPool& pool);
void dense_rows_backward(float* d_x, const float* delta, const float* transposed, int64_t rows, const DenseShape& shape,
                         const DenseTiles& tiles);
// The same from the weights themselves, with in_chunks; transposed: room for a chunk.
void dense_backward_in_chunks(float* d_x, const float* delta, const float* weights, float* transposed, int64_t rows,
                              const DenseShape& shape, const DenseTiles& tiles, ThreadPool& pool);
// d_weights += x^T delta, d_bias += sum of delta; rows ascending. d_bias null: there is none.
void dense_gradient(float* d_weights, float* d_bias, const float* delta, const float* x, int64_t rows, const DenseShape& shape,
                    const DenseTiles& tiles, ThreadPool& pool);

}  // namespace plimsoll
