// lstm: the order of work of one layer in one Block. Threads own rows in forward and backward and run them through all steps
//   of the block without meeting; for weight gradients they own panels. See lstm.h for layouts.
#include "kernels/lstm.h"

#include <cstring>

#include "kernels/lstm_cell.h"
#include "kernels/pointwise.h"

namespace plimsoll {
namespace {

constexpr int64_t kFewRows = 8;  // fewer rows a thread: the projection is cut over row-steps instead of rows

// gates of row-steps [begin, begin + count) = bias + x Wx.
void Project(float* gates, const float* x, LstmWeights weights, int64_t begin, int64_t count, int64_t block_rows,
             const LstmShape& shape, const LstmTiles& tiles, int64_t panel) {
  ForTiles(count, [&](int64_t row, int64_t n) {
    float* out = gates + (panel * block_rows + begin + row) * kPanelColumns;
    fill_rows(out, weights.bias + panel * kPanelColumns, n, kPanelColumns, kPanelColumns);
    (*tiles.set)[tiles.project + static_cast<int>(n) - 1](out, x + (begin + row) * shape.input_stride,
                                                          weights.input + panel * shape.inputs * kPanelColumns);
  });
}

// d = delta x transposed weights, for `count` rows from `begin`, all column tiles.
void Back(float* d, int64_t d_stride, const float* delta, int64_t begin, int64_t count, int64_t width, const float* transposed,
          const uint64_t* panel_bytes, const uint64_t* rows_bytes, const ColumnTiles& tiles, const LstmShape& shape,
          const ProductSet& set) {
  const int64_t column_tiles = (width + kPanelColumns - 1) / kPanelColumns;
  const int64_t tile_floats = shape.panels() * kPanelColumns * kPanelColumns;
  for (int64_t q = 0; q < column_tiles; ++q) {
    const int first = tiles.at(q, column_tiles);
    ForTiles(count, [&](int64_t row, int64_t n) {
      set[first + static_cast<int>(n) - 1].Batch(d + row * d_stride + q * kPanelColumns, delta + (begin + row) * kPanelColumns,
                                                 transposed + q * tile_floats, static_cast<uint64_t>(shape.panels()),
                                                 panel_bytes, rows_bytes);
    });
  }
}

}  // namespace

LstmTiles AddLstmTiles(ProductSet& set, const LstmShape& shape) {
  const auto inputs = static_cast<int32_t>(shape.inputs), units = static_cast<int32_t>(shape.units);
  const auto input_stride = static_cast<int32_t>(shape.input_stride), stride = static_cast<int32_t>(shape.stride());
  LstmTiles tiles;
  tiles.set = &set;
  const TileShape rows{.m = kPanelColumns, .lda = kPanelColumns, .ldc = kPanelColumns, .add = true};
  TileShape project = rows, recur = rows;
  project.k = inputs;
  project.ldb = input_stride;
  recur.k = units;
  recur.ldb = stride;
  tiles.project = set.AddHeights(project);
  tiles.recur = set.AddHeights(recur);

  const auto heights = [&](const TileShape& tile) { return set.AddHeights(tile); };
  TileShape back{.k = kPanelColumns, .lda = kPanelColumns, .ldb = kPanelColumns, .ldc = stride, .batch = true};
  tiles.back_units = AddColumnTiles(back, units, heights);
  if (shape.input_gradient) {
    back.ldc = static_cast<int32_t>(ActivationStride(inputs));
    tiles.back_inputs = AddColumnTiles(back, inputs, heights);
  }

  TileShape sum{.m = kPanelColumns,
                .n = inputs,
                .lda = kPanelColumns,
                .ldb = input_stride,
                .ldc = kPanelColumns,
                .add = true,
                .transposed = true};
  tiles.sum_inputs = AddSumTiles(set, sum);
  sum.n = units;
  sum.ldb = stride;
  tiles.sum_units = AddSumTiles(set, sum);
  return tiles;
}

void lstm_transpose(LstmTransposed out, LstmWeights weights, const LstmShape& shape, ThreadPool& pool) {
  const int64_t panels = shape.panels();
  const int64_t unit_tiles = shape.unit_tiles();
  const int64_t input_tiles = out.input == nullptr ? 0 : shape.input_tiles();
  constexpr int64_t kTile = kPanelColumns * kPanelColumns;
  pool.Run([&](int part) {
    const Share share = ShareOf(panels, part, pool.size());
    for (int64_t panel = share.begin; panel < share.end; ++panel) {
      for (int64_t q = 0; q < unit_tiles; ++q) {
        TransposeTile(out.recurrent + (q * panels + panel) * kTile, weights.recurrent + panel * shape.units * kPanelColumns,
                      q * kPanelColumns, shape.units, kPanelColumns);
      }
      for (int64_t q = 0; q < input_tiles; ++q) {
        TransposeTile(out.input + (q * panels + panel) * kTile, weights.input + panel * shape.inputs * kPanelColumns,
                      q * kPanelColumns, shape.inputs, kPanelColumns);
      }
    }
  });
}

void lstm_block_forward(float* gates, float* c, float* h, const float* x, LstmWeights weights, const BlockRows& block,
                        const LstmShape& shape, const LstmTiles& tiles, ThreadPool& pool) {
  const int64_t row_steps = block.row_steps(), stride = shape.stride(), panels = shape.panels();
  const bool few_rows = block.rows[0] < kFewRows * pool.size();
  if (few_rows) {
    pool.Run([&](int part) {
      const Share share = ShareOf(row_steps, part, pool.size());
      for (int64_t panel = 0; panel < panels; ++panel) {
        Project(gates, x, weights, share.begin, share.end - share.begin, row_steps, shape, tiles, panel);
      }
    });
  }
  pool.Run([&](int part) {
    const Share share = RowShare(block, part, pool.size());
    if (!few_rows) {
      for (int64_t panel = 0; panel < panels; ++panel) {
        if (pool.size() == 1) {
          Project(gates, x, weights, 0, row_steps, row_steps, shape, tiles, panel);
          continue;
        }
        for (int step = 0; step < block.steps; ++step) {
          Project(gates, x, weights, block.first[step] + share.begin, ActiveIn(block, step, share), row_steps, shape, tiles,
                  panel);
        }
      }
    }
    const float* h_before = h - block.rows[0] * stride;
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share);
      float* h_now = h + block.first[step] * stride;
      for (int64_t panel = 0; panel < panels; ++panel) {
        ForTiles(n, [&](int64_t row, int64_t count) {
          row += share.begin;
          float* out = gates + (panel * row_steps + block.first[step] + row) * kPanelColumns;
          (*tiles.set)[tiles.recur + static_cast<int>(count) - 1](out, h_before + row * stride,
                                                                  weights.recurrent + panel * shape.units * kPanelColumns);
          lstm_cell_forward(out, c + row * stride + panel * 8, h_now + row * stride + panel * 8, count, stride);
        });
      }
      h_before = h_now;
    }
  });
}

void lstm_block_replay(float* h, float* c_work, const float* gates, const float* c_start, const BlockRows& block,
                       const LstmShape& shape, ThreadPool& pool) {
  const int64_t row_steps = block.row_steps(), stride = shape.stride(), panels = shape.panels();
  pool.Run([&](int part) {
    const Share share = RowShare(block, part, pool.size());
    std::memcpy(c_work + share.begin * stride, c_start + share.begin * stride,
                static_cast<size_t>((share.end - share.begin) * stride) * sizeof(float));
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share), at = block.first[step] + share.begin;
      for (int64_t panel = 0; panel < panels; ++panel) {
        lstm_cell_replay(c_work + share.begin * stride + panel * 8, h + at * stride + panel * 8,
                         gates + (panel * row_steps + at) * kPanelColumns, n, stride);
      }
    }
  });
}

void lstm_block_backward(float* gates, float* d_h, float* d_c, float* d_x, int64_t d_x_stride, const float* d_out, float* cells,
                         uint64_t* offsets, const float* c_start, LstmTransposed transposed, const BlockRows& block,
                         const LstmShape& shape, const LstmTiles& tiles, ThreadPool& pool) {
  const int64_t row_steps = block.row_steps(), stride = shape.stride(), panels = shape.panels();
  uint64_t *panel_bytes = offsets, *rows_bytes = offsets + panels;
  for (int64_t panel = 0; panel < panels; ++panel) {
    panel_bytes[panel] = static_cast<uint64_t>(panel * kPanelColumns * kPanelColumns) * sizeof(float);
    rows_bytes[panel] = static_cast<uint64_t>(panel * row_steps * kPanelColumns) * sizeof(float);
  }
  float* c_of_steps = cells + block.rows[0] * stride;  // behind the rows of c at the block's start
  pool.Run([&](int part) {
    const Share share = RowShare(block, part, pool.size());
    const int64_t own = share.begin;
    std::memcpy(cells + own * stride, c_start + own * stride, static_cast<size_t>((share.end - own) * stride) * sizeof(float));
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share), at = block.first[step] + own;
      const float* before = step == 0 ? cells : c_of_steps + block.first[step - 1] * stride;
      for (int64_t panel = 0; panel < panels; ++panel) {
        lstm_cell_rescan(c_of_steps + at * stride + panel * 8, before + own * stride + panel * 8,
                         gates + (panel * row_steps + at) * kPanelColumns, n, stride);
      }
    }
    for (int step = block.steps - 1; step >= 0; --step) {
      const int64_t n = ActiveIn(block, step, share), at = block.first[step] + own;
      if (n == 0) continue;
      const float* before = step == 0 ? cells : c_of_steps + block.first[step - 1] * stride;
      for (int64_t panel = 0; panel < panels; ++panel) {
        const int64_t unit = panel * 8;
        lstm_cell_backward(gates + (panel * row_steps + at) * kPanelColumns, d_c + own * stride + unit,
                           d_h + own * stride + unit, d_out + at * stride + unit, c_of_steps + at * stride + unit,
                           before + own * stride + unit, n, stride);
      }
      Back(d_h + own * stride, stride, gates, at, n, shape.units, transposed.recurrent, panel_bytes, rows_bytes,
           tiles.back_units, shape, *tiles.set);
    }
    if (d_x == nullptr) return;
    if (pool.size() == 1) {
      Back(d_x, d_x_stride, gates, 0, row_steps, shape.inputs, transposed.input, panel_bytes, rows_bytes, tiles.back_inputs,
           shape, *tiles.set);
      return;
    }
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share), at = block.first[step] + own;
      Back(d_x + at * d_x_stride, d_x_stride, gates, at, n, shape.inputs, transposed.input, panel_bytes, rows_bytes,
           tiles.back_inputs, shape, *tiles.set);
    }
  });
}

void lstm_block_gradient(LstmWeights d_weights, const float* delta, const float* x, const float* h_before,
                         const BlockRows& block, const LstmShape& shape, const LstmTiles& tiles, ThreadPool& pool) {
  const int64_t row_steps = block.row_steps(), stride = shape.stride();
  pool.Run([&](int part) {
    const Share share = ShareOf(shape.panels(), part, pool.size());
    for (int64_t panel = share.begin; panel < share.end; ++panel) {
      const float* panel_delta = delta + panel * row_steps * kPanelColumns;
      add_rows(d_weights.bias + panel * kPanelColumns, panel_delta, row_steps, kPanelColumns, kPanelColumns);
      SumRows(d_weights.input + panel * shape.inputs * kPanelColumns, panel_delta, kPanelColumns, x, shape.input_stride,
              row_steps, tiles.sum_inputs, *tiles.set);
      // Pairs (h(t-1), delta(t)): the first rows[t] of the rows[t-1] rows before. Where no row stops, the pairs of
      // following steps lie together and go in one stretch.
      float* d_recurrent = d_weights.recurrent + panel * shape.units * kPanelColumns;
      for (int step = 0; step < block.steps;) {
        const float* before = step == 0 ? h_before : h_before + (block.rows[0] + block.first[step - 1]) * stride;
        int end = step + 1;
        if (step == 0 || block.rows[step - 1] == block.rows[step]) {
          while (end < block.steps && block.rows[end] == block.rows[step]) ++end;
        }
        SumRows(d_recurrent, panel_delta + block.first[step] * kPanelColumns, kPanelColumns, before, stride,
                block.first[end] - block.first[step], tiles.sum_units, *tiles.set);
        step = end;
      }
    }
  });
}

}  // namespace plimsoll
