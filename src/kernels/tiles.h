// tiles: how stretches of rows are cut into calls of product tiles; shared by the layers' kernels. No cut changes a bit.
#pragma once

#include <xmmintrin.h>

#include <cstdint>

#include "kernels/block_rows.h"
#include "kernels/product.h"

namespace plimsoll {

inline constexpr int kSumRows = 128;  // most rows of one weight-gradient call; a power of two

// Columns of the last tile of 32, in whole vectors.
constexpr int32_t TailColumns(int64_t width) {
  const int64_t tail = width % kPanelColumns;
  return static_cast<int32_t>(tail == 0 ? kPanelColumns : WholeVectors(tail));
}

// Two families of tiles for the columns [0, width) of an output: of 32 columns, and of the last ones. Where all columns are
// the last ones there is no other family.
struct ColumnTiles {
  int whole = 0, tail = 0;  // numbers of the tiles with one row
  int at(int64_t tile, int64_t tiles) const { return tile + 1 == tiles ? tail : whole; }
};
template <typename Add>
ColumnTiles AddColumnTiles(TileShape shape, int64_t width, const Add& add) {
  ColumnTiles tiles;
  shape.m = TailColumns(width);
  tiles.tail = add(shape);
  shape.m = kPanelColumns;
  tiles.whole = width <= kPanelColumns ? tiles.tail : add(shape);
  return tiles;
}

// Calls function(first row, rows) for even tiles of at most kTileRows.
template <typename Function>
void ForTiles(int64_t rows, const Function& function) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t begin = rows * tile / tiles, end = rows * (tile + 1) / tiles;
    function(begin, end - begin);
  }
}

// Tiles that add the products of kSumRows, half of that, ... 1 rows; gives the number of the first.
inline int AddSumTiles(ProductSet& set, TileShape shape) {
  int first = -1;
  for (int rows = kSumRows; rows >= 1; rows /= 2) {
    shape.k = rows;
    const int number = set.AddNew(shape);
    if (first < 0) first = number;
  }
  return first;
}

// out += delta^T rows over `count` rows, ascending. Strides in floats.
inline void SumRows(float* out, const float* delta, int64_t delta_stride, const float* rows, int64_t stride, int64_t count,
                    int first_tile, const ProductSet& set) {
  int tile = first_tile;
  for (int step = kSumRows; count > 0; step /= 2, ++tile) {
    for (; count >= step; count -= step) {
      set[tile](out, rows, delta);
      delta += step * delta_stride;
      rows += step * stride;
    }
  }
}

// One tile of a transposed copy: row r of a panel becomes column r of 32, zeros where the panel has fewer rows left.
inline void TransposeTile(float* out, const float* panel, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t row = 0; row < kPanelColumns; row += 4) {
    const float* from = panel + row * stride;
    int64_t column = 0;
    for (; row + 4 <= rows && column + 4 <= columns; column += 4) {  // squares of four in registers
      __m128 a = _mm_loadu_ps(from + column), b = _mm_loadu_ps(from + stride + column);
      __m128 c = _mm_loadu_ps(from + 2 * stride + column), d = _mm_loadu_ps(from + 3 * stride + column);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      float* to = out + column * kPanelColumns + row;
      _mm_storeu_ps(to, a);
      _mm_storeu_ps(to + kPanelColumns, b);
      _mm_storeu_ps(to + 2 * kPanelColumns, c);
      _mm_storeu_ps(to + 3 * kPanelColumns, d);
    }
    for (; column < columns; ++column) {
      for (int64_t i = 0; i < 4; ++i) {
        out[column * kPanelColumns + row + i] = row + i < rows ? from[i * stride + column] : 0.0f;
      }
    }
  }
}

}  // namespace plimsoll
