// tiles: how stretches of rows are cut into calls of product tiles; shared by the layers' kernels. No cut changes a bit.
#pragma once

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

// One tile of a transposed copy: rows [first, first + 32) of a panel, `stride` apart, become columns, zeros beyond `rows`.
inline void TransposeTile(float* out, const float* panel, int64_t first, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t m = 0; m < kPanelColumns; ++m) {
    const float* from = panel + (first + m) * stride;
    const bool inside = first + m < rows;
    for (int64_t column = 0; column < columns; ++column) out[column * kPanelColumns + m] = inside ? from[column] : 0.0f;
  }
}

}  // namespace plimsoll
