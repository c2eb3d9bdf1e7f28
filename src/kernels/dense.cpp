#include "kernels/dense.h"

#include <cstring>

#include "kernels/pointwise.h"

namespace plimsoll {

namespace {

// Units [first, end) of the weights of some tiles of inputs, unit after unit in each; `first` is that of a panel. A tile begins
// tile_floats behind the one before.
void TransposeUnits(float* to, int64_t tile_floats, const float* weights, Share tiles, int64_t first, int64_t end,
                    const DenseShape& shape) {
  for (int64_t unit = first; unit < end; unit += kPanelColumns) {
    const int64_t columns = std::min<int64_t>(kPanelColumns, end - unit);
    for (int64_t q = tiles.begin; q < tiles.end; ++q) {
      const int64_t input = q * kPanelColumns;
      TransposeTile(to + q * tile_floats + (unit - first) * kPanelColumns,
                    weights + unit * shape.inputs + input * kPanelColumns, shape.inputs - input, columns, kPanelColumns);
    }
  }
}

}  // namespace

DenseTiles AddDenseTiles(ProductSet& set, const DenseShape& shape) {
  const auto inputs = static_cast<int32_t>(shape.inputs), units = static_cast<int32_t>(shape.units);
  const auto input_stride = static_cast<int32_t>(shape.input_stride), stride = static_cast<int32_t>(shape.stride());
  DenseTiles tiles;
  tiles.set = &set;
  const auto heights = [&](const TileShape& tile) { return set.AddHeights(tile); };
  tiles.forward =
      AddColumnTiles({.k = inputs, .lda = kPanelColumns, .ldb = input_stride, .ldc = stride, .add = true}, units, heights);
  if (shape.input_gradient) {
    const auto input_width = static_cast<int32_t>(ActivationStride(inputs));
    TileShape tile{.k = static_cast<int32_t>(shape.transposed_units()),
                   .lda = kPanelColumns,
                   .ldb = stride,
                   .ldc = input_width,
                   .add = shape.in_chunks};
    tiles.back = AddColumnTiles(tile, inputs, heights);
    tile.k = static_cast<int32_t>(shape.units % DenseShape::kChunkUnits);
    if (shape.in_chunks && tile.k > 0) tiles.back_rest = AddColumnTiles(tile, inputs, heights);
  }
  tiles.sum =
      AddColumnTiles({.n = inputs, .lda = stride, .ldb = input_stride, .ldc = kPanelColumns, .add = true, .transposed = true},
                     units, [&](const TileShape& tile) { return AddSumTiles(set, tile); });
  return tiles;
}

void dense_transpose(float* transposed, const float* weights, const DenseShape& shape, ThreadPool& pool) {
  pool.Run([&](int part) {
    const Share share = ShareOf(shape.input_tiles(), part, pool.size());
    TransposeUnits(transposed, shape.units * kPanelColumns, weights, share, 0, shape.units, shape);
  });
}

void dense_forward(float* out, const float* x, const float* weights, const float* bias, int64_t rows, const DenseShape& shape,
                   const DenseTiles& tiles, ThreadPool& pool) {
  pool.Run([&](int part) {
    const Share share = ShareOf(rows, part, pool.size());
    dense_rows_forward(out + share.begin * shape.stride(), x + share.begin * shape.input_stride, weights, bias,
                       share.end - share.begin, shape, tiles);
  });
}

void dense_rows_forward(float* out, const float* x, const float* weights, const float* bias, int64_t rows,
                        const DenseShape& shape, const DenseTiles& tiles) {
  constexpr float kNoBias[kPanelColumns] = {};
  const int64_t stride = shape.stride(), panels = shape.panels();
  for (int64_t panel = 0; panel < panels; ++panel) {
    const float* start = bias == nullptr ? kNoBias : bias + panel * kPanelColumns;
    const bool last = panel + 1 == panels;
    ForTiles(rows, [&](int64_t row, int64_t n) {
      float* tile_out = out + row * stride + panel * kPanelColumns;
      fill_rows(tile_out, start, n, last ? TailColumns(shape.units) : kPanelColumns, stride);
      (*tiles.set)[tiles.forward.at(panel, panels) + static_cast<int>(n) - 1](tile_out, x + row * shape.input_stride,
                                                                              weights + panel * shape.inputs * kPanelColumns);
    });
  }
}

void dense_backward(float* d_x, const float* delta, const float* transposed, int64_t rows, const DenseShape& shape,
                    const DenseTiles& tiles, ThreadPool& pool) {
  pool.Run([&](int part) {
    const Share share = ShareOf(rows, part, pool.size());
    dense_rows_backward(d_x + share.begin * ActivationStride(shape.inputs), delta + share.begin * shape.stride(), transposed,
                        share.end - share.begin, shape, tiles);
  });
}

void dense_rows_backward(float* d_x, const float* delta, const float* transposed, int64_t rows, const DenseShape& shape,
                         const DenseTiles& tiles) {
  const int64_t d_stride = ActivationStride(shape.inputs), column_tiles = shape.input_tiles();
  for (int64_t q = 0; q < column_tiles; ++q) {
    const int first = tiles.back.at(q, column_tiles);
    ForTiles(rows, [&](int64_t row, int64_t n) {
      (*tiles.set)[first + static_cast<int>(n) - 1](d_x + row * d_stride + q * kPanelColumns, delta + row * shape.stride(),
                                                    transposed + q * shape.units * kPanelColumns);
    });
  }
}

// A thread has its own tiles of inputs, so that no weight is transposed twice; a sum goes on from chunk to chunk in one order.
void dense_backward_in_chunks(float* d_x, const float* delta, const float* weights, float* transposed, int64_t rows,
                              const DenseShape& shape, const DenseTiles& tiles, ThreadPool& pool) {
  const int64_t d_stride = ActivationStride(shape.inputs), column_tiles = shape.input_tiles();
  pool.Run([&](int part) {
    const Share share = ShareOf(column_tiles, part, pool.size());
    if (share.begin == share.end) return;
    const int64_t column = share.begin * kPanelColumns, end = std::min(share.end * kPanelColumns, WholeVectors(shape.inputs));
    for (int64_t row = 0; row < rows; ++row) {
      std::memset(d_x + row * d_stride + column, 0, static_cast<size_t>(end - column) * sizeof(float));
    }
    for (int64_t first = 0; first < shape.units; first += DenseShape::kChunkUnits) {
      const int64_t behind = std::min(first + DenseShape::kChunkUnits, shape.units);
      const ColumnTiles& back = behind - first == shape.transposed_units() ? tiles.back : tiles.back_rest;
      const int64_t chunk = shape.transposed_units() * kPanelColumns;
      TransposeUnits(transposed, chunk, weights, share, first, behind, shape);
      ForTiles(rows, [&](int64_t row, int64_t n) {
        for (int64_t q = share.begin; q < share.end; ++q) {
          (*tiles.set)[back.at(q, column_tiles) + static_cast<int>(n) - 1](
              d_x + row * d_stride + q * kPanelColumns, delta + row * shape.stride() + first, transposed + q * chunk);
        }
      });
    }
  });
}

void dense_gradient(float* d_weights, float* d_bias, const float* delta, const float* x, int64_t rows, const DenseShape& shape,
                    const DenseTiles& tiles, ThreadPool& pool) {
  const int64_t stride = shape.stride(), panels = shape.panels();
  pool.Run([&](int part) {
    const Share share = ShareOf(panels, part, pool.size());
    for (int64_t panel = share.begin; panel < share.end; ++panel) {
      const bool last = panel + 1 == panels;
      const float* panel_delta = delta + panel * kPanelColumns;
      if (d_bias != nullptr) {
        add_rows(d_bias + panel * kPanelColumns, panel_delta, rows, last ? TailColumns(shape.units) : kPanelColumns, stride);
      }
      SumRows(d_weights + panel * shape.inputs * kPanelColumns, panel_delta, stride, x, shape.input_stride, rows,
              tiles.sum.at(panel, panels), *tiles.set);
    }
  });
}

}  // namespace plimsoll
