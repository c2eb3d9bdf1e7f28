// recurrent: the order of work of one layer in one Block. Threads own rows in forward and backward and run them through all
//   steps of the block without meeting; where units go up evenly or rows are few they own units instead and meet once a step,
//   as long as nobody comes late. For weight gradients they own panels. See recurrent.h for layouts.
#include "kernels/recurrent.h"

#include <algorithm>
#include <cstring>

#include "kernels/pointwise.h"
#include "kernels/prefetch.h"

namespace plimsoll {
namespace {

constexpr int64_t kFewRows = 8;               // fewer rows a thread: threads own units, however uneven
constexpr int64_t kCachedBytes = 512 * 1024;  // rows that all panels of a weight gradient read: a core's own cache holds them

// One layer's block with its sizes at hand, for the functions below.
struct Frame {
  const BlockRows& block;
  const RecurrentShape& shape;
  const RecurrentTiles* tiles;
  int64_t row_steps = block.row_steps();
  int64_t stride = shape.stride();
  int64_t h_stride = shape.h_stride();
  int64_t panels = shape.panels();
  int64_t columns = shape.columns();

  // Row-step `at` of a panel of gates.
  int64_t Gates(int64_t panel, int64_t at) const { return (panel * row_steps + at) * columns; }
  int64_t Unit(int64_t panel) const { return panel * shape.panel_units(); }
};

// What one thread has of a layer's block: some rows with all units, or all rows with some units.
struct Own {
  Share rows, panels, state_tiles, input_tiles;
  Share floats;  // of a row of c
  bool meets;    // others have the other units of its rows
};
Own OwnRows(const Frame& frame, int part, int parts) {
  const RecurrentShape& shape = frame.shape;
  return {.rows = RowShare(frame.block, part, parts),
          .panels = {0, frame.panels},
          .state_tiles = {0, shape.state_tiles()},
          .input_tiles = {0, shape.input_tiles()},
          .floats = {0, frame.stride},
          .meets = false};
}
// Whole tiles of h' with the panels of the same units, so that what a tile says of h' is read by its own thread alone.
Own OwnUnits(const Frame& frame, int part, int parts) {
  const RecurrentShape& shape = frame.shape;
  const Share tiles = ShareOf(shape.state_tiles(), part, parts);
  const int64_t panels_of_tile = kPanelColumns / shape.panel_units();
  const int64_t first = tiles.begin * kPanelColumns;
  return {.rows = {0, frame.block.rows[0]},
          .panels = {tiles.begin * panels_of_tile, std::min(tiles.end * panels_of_tile, frame.panels)},
          .state_tiles = tiles,
          .input_tiles = ShareOf(shape.input_tiles(), part, parts),
          .floats = {first, tiles.end == shape.state_tiles() ? frame.stride : tiles.end * kPanelColumns},
          .meets = true};
}
// Where each has so few rows, or where all weights of the State are more than a core keeps for itself and units go up evenly.
// Not behind a projection: there a column of h' is no unit.
bool SharesUnits(const Frame& frame, const ThreadPool& pool) {
  const RecurrentShape& shape = frame.shape;
  if (pool.size() == 1 || shape.has_projection()) return false;
  if (frame.block.rows[0] < kFewRows * pool.size()) return true;
  const int64_t weights = frame.panels * shape.of_state().count * shape.width();
  return weights * static_cast<int64_t>(sizeof(float)) > kCachedBytes && shape.width() % (kPanelColumns * pool.size()) == 0;
}
// Masks and the reset of h' read all units of a row between two meetings.
bool StepsByUnits(const Frame& frame, const float* mask, ThreadPool& pool) {
  if (mask != nullptr || frame.shape.has_reset()) return false;
  return SharesUnits(frame, pool) && pool.MeetsPromptly();
}

// gates of row-steps [begin, begin + count) = x Wx. What x does not feed begins with its bias; the cell adds that of the
// others. Where x is looked up all of that is a row of its products.
void Project(const Frame& frame, const ForwardBuffers& at, const float* weights, int64_t begin, int64_t count, int64_t panel) {
  const RecurrentShape& shape = frame.shape;
  const Columns fed = shape.of_input();
  if (at.products != nullptr) {
    const float* products = at.products + panel * shape.table_ids * frame.columns;
    float* out = at.gates + frame.Gates(panel, begin);
    return copy_rows_at(out, products, at.ids + begin, count, frame.columns, frame.columns);
  }
  ForTiles(count, [&](int64_t row, int64_t n) {
    float* out = at.gates + frame.Gates(panel, begin + row);
    if (fed.count < frame.columns) {
      fill_rows(out + fed.count, at.bias + panel * frame.columns + fed.count, n, frame.columns - fed.count, frame.columns);
    }
    (*frame.tiles->set)[frame.tiles->project + static_cast<int>(n) - 1](
        out + fed.begin, at.x + (begin + row) * shape.input_stride, weights + panel * shape.inputs * fed.count);
  });
}

// What one operand of the State adds to its columns, for n rows from row-step `to` of a panel.
void Recur(const Frame& frame, float* gates, const float* state, const float* weights, Columns fed, int first_tile,
           int64_t panel, int64_t to, int64_t n) {
  (*frame.tiles->set)[first_tile + static_cast<int>(n) - 1](gates + frame.Gates(panel, to) + fed.begin, state,
                                                            weights + panel * frame.shape.width() * fed.count);
}

// d (+)= delta x transposed weights, for `count` rows from row-step `begin`, own column tiles. Pairs of the reduction: panels.
struct Reduction {
  const float* transposed;
  Columns fed;
  const ColumnTiles& tiles;
  int64_t column_tiles;
  const uint64_t* panel_bytes;
  const uint64_t* rows_bytes;
};
void Back(const Frame& frame, float* d, int64_t d_stride, Share own, const float* delta, int64_t begin, int64_t count,
          const Reduction& over) {
  const int64_t tile_floats = frame.panels * over.fed.count * kPanelColumns;
  for (int64_t q = own.begin; q < own.end; ++q) {
    const int first = over.tiles.at(q, over.column_tiles);
    ForTiles(count, [&](int64_t row, int64_t n) {
      (*frame.tiles->set)[first + static_cast<int>(n) - 1].Batch(
          d + row * d_stride + q * kPanelColumns, delta + (begin + row) * frame.columns + over.fed.begin,
          over.transposed + q * tile_floats, static_cast<uint64_t>(frame.panels), over.panel_bytes, over.rows_bytes);
    });
  }
}

void CopyFloats(float* to, const float* from, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

// Own rows of c, or of the like.
void CopyOwn(float* to, const float* from, const Own& own, int64_t stride) {
  for (int64_t row = own.rows.begin; row < own.rows.end; ++row) {
    const int64_t at = row * stride + own.floats.begin;
    CopyFloats(to + at, from + at, own.floats.end - own.floats.begin);
  }
}

// Bytes from the first panel to each.
const uint64_t* FillOffsets(uint64_t* offsets, int64_t panels, int64_t panel_floats) {
  for (int64_t panel = 0; panel < panels; ++panel) {
    offsets[panel] = static_cast<uint64_t>(panel * panel_floats) * sizeof(float);
  }
  return offsets;
}

// The first pointwise part of a step, of n rows of a panel: all of it but for GruBefore, whose n waits for r h'.
// unit: of the panel in the first of the rows. h: with a projection, o act(c). fed: h' as the products read it.
void CellForward(const Frame& frame, const ForwardBuffers& at, float* gates, float* h, const float* h_before, const float* fed,
                 int64_t unit, int64_t panel, int64_t n) {
  const CellPanel cells = frame.shape.cells_of(panel, at.bias);
  switch (frame.shape.cell) {
    case Cell::Lstm:
      return lstm_cell_forward(cells, gates, at.c + unit, h + unit, n, frame.stride);
    case Cell::Gru:
      return gru_cell_forward(cells, gates, h + unit, h_before + unit, n, frame.stride);
    case Cell::GruBefore:
      return gru_before_reset(cells, gates, at.reset + unit, fed + unit, n, frame.stride);
    case Cell::Rnn:
      return rnn_cell_forward(cells, gates, h + unit, n, frame.stride);
  }
}

// c, h: of a step and of the one before, each from a panel's first unit on. Behind a projection h is there already.
void CellReplay(const Frame& frame, float* c, const float* c_before, float* h, const float* h_before, const float* gates,
                int64_t panel, int64_t n) {
  const CellPanel cells = frame.shape.cells_of(panel);
  switch (frame.shape.cell) {
    case Cell::Lstm:
      if (frame.shape.has_projection()) return lstm_cell_rescan(cells, c, c_before, gates, n, frame.stride);
      return lstm_cell_replay(cells, c, c_before, h, gates, n, frame.stride);
    case Cell::Gru:
    case Cell::GruBefore:
      return gru_cell_replay(cells, h, h_before, gates, frame.columns / cells.lanes, n, frame.stride);
    case Cell::Rnn:
      return rnn_cell_replay(cells, h, gates, n, frame.stride);
  }
}

}  // namespace

int32_t RecurrentShape::columns() const {
  switch (cell) {
    case Cell::Lstm:
    case Cell::Gru:
      return 4 * lanes;
    case Cell::GruBefore:
      return 3 * lanes;
    case Cell::Rnn:
      return kPanelColumns;
  }
  __builtin_unreachable();
}

Columns RecurrentShape::of_input() const { return {0, cell == Cell::Gru ? 3 * lanes : columns()}; }

Columns RecurrentShape::of_state() const {
  switch (cell) {
    case Cell::Gru:
      return {lanes, 3 * lanes};
    case Cell::GruBefore:
      return {lanes, 2 * lanes};
    case Cell::Lstm:
    case Cell::Rnn:
      return {0, columns()};
  }
  __builtin_unreachable();
}

RecurrentTiles AddRecurrentTiles(ProductSet& set, const RecurrentShape& shape) {
  const auto inputs = static_cast<int32_t>(shape.inputs), width = static_cast<int32_t>(shape.width());
  const auto input_stride = static_cast<int32_t>(shape.input_stride), h_stride = static_cast<int32_t>(shape.h_stride());
  const int32_t columns = shape.columns();
  const auto heights = [&](const TileShape& tile) { return set.AddHeights(tile); };
  RecurrentTiles tiles;
  tiles.set = &set;

  const auto forward = [&](Columns fed, int32_t k, int32_t ldb, bool add) {
    return heights({.m = fed.count, .k = k, .lda = fed.count, .ldb = ldb, .ldc = columns, .add = add});
  };
  tiles.project = forward(shape.of_input(), inputs, input_stride, false);
  tiles.recur = forward(shape.of_state(), width, h_stride, true);
  if (shape.has_reset()) tiles.recur_reset = forward(shape.of_reset(), width, h_stride, true);

  const auto back = [&](Columns fed, int64_t to, bool add) {
    const TileShape tile{.k = fed.count,
                         .lda = kPanelColumns,
                         .ldb = columns,
                         .ldc = static_cast<int32_t>(ActivationStride(to)),
                         .add = add,
                         .batch = true};
    return AddColumnTiles(tile, to, heights);
  };
  tiles.back_state = back(shape.of_state(), width, shape.has_straight());
  if (shape.has_reset()) tiles.back_reset = back(shape.of_reset(), width, false);
  if (shape.input_gradient) tiles.back_inputs = back(shape.of_input(), inputs, false);

  const auto sum = [&](Columns fed, int32_t n, int32_t ldb) {
    return AddSumTiles(set,
                       {.m = fed.count, .n = n, .lda = columns, .ldb = ldb, .ldc = fed.count, .add = true, .transposed = true});
  };
  tiles.sum_inputs = sum(shape.of_input(), inputs, input_stride);
  tiles.sum_state = sum(shape.of_state(), width, h_stride);
  if (shape.has_reset()) tiles.sum_reset = sum(shape.of_reset(), width, h_stride);
  if (shape.has_projection()) tiles.projection = AddDenseTiles(set, shape.projection());
  return tiles;
}

void recurrent_transpose(RecurrentTransposed out, RecurrentWeights weights, const RecurrentShape& shape, ThreadPool& pool) {
  const int64_t panels = shape.panels();
  if (out.projection != nullptr) dense_transpose(out.projection, weights.projection, shape.projection(), pool);
  const auto transpose = [&](float* to, const float* from, int64_t panel, int64_t rows, Columns fed) {
    for (int64_t q = 0; q * kPanelColumns < rows; ++q) {
      const int64_t first = q * kPanelColumns;
      TransposeTile(to + (q * panels + panel) * fed.count * kPanelColumns, from + (panel * rows + first) * fed.count,
                    rows - first, fed.count, fed.count);
    }
  };
  pool.Run([&](int part) {
    const Share share = ShareOf(panels, part, pool.size());
    for (int64_t panel = share.begin; panel < share.end; ++panel) {
      transpose(out.state, weights.state, panel, shape.width(), shape.of_state());
      if (out.reset != nullptr) transpose(out.reset, weights.reset, panel, shape.width(), shape.of_reset());
      if (out.input != nullptr) transpose(out.input, weights.input, panel, shape.inputs, shape.of_input());
    }
  });
}

void recurrent_sum_biases(float* out, RecurrentWeights weights, const RecurrentShape& shape) {
  const Columns input = shape.of_input(), state = shape.of_state();
  for (int64_t panel = 0; panel < shape.panels(); ++panel, out += shape.columns()) {
    std::memset(out, 0, static_cast<size_t>(shape.columns()) * sizeof(float));
    add_rows(out + input.begin, weights.bias + panel * input.count, 1, input.count, input.count);
    add_rows(out + state.begin, weights.state_bias + panel * state.count, 1, state.count, state.count);
  }
}

void recurrent_block_forward(const ForwardBuffers& at, RecurrentWeights weights, const BlockRows& block,
                             const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool) {
  const Frame frame{block, shape, &tiles};
  const int64_t stride = frame.stride, h_stride = frame.h_stride;
  const bool by_units = StepsByUnits(frame, at.mask, pool);
  pool.Run([&](int part) {
    const Own mine = by_units ? OwnUnits(frame, part, pool.size()) : OwnRows(frame, part, pool.size());
    const Share share = mine.rows;
    for (int64_t panel = mine.panels.begin; panel < mine.panels.end; ++panel) {
      if (pool.size() == 1 || by_units) {
        Project(frame, at, weights.input, 0, frame.row_steps, panel);
        continue;
      }
      for (int step = 0; step < block.steps; ++step) {
        Project(frame, at, weights.input, block.first[step] + share.begin, ActiveIn(block, step, share), panel);
      }
    }
    const float* h_before = at.h - block.rows[0] * h_stride;
    for (int step = 0; step < block.steps; ++step) {
      const int64_t active = ActiveIn(block, step, share);
      float* h_now = at.h + block.first[step] * h_stride;
      float* shown = shape.has_projection() ? at.shown : h_now;
      const float* fed = h_before;
      if (at.mask != nullptr) {
        const int64_t own = share.begin * h_stride;
        multiply_elements(at.masked + own, h_before + own, at.mask + own, active, shape.width(), h_stride);
        fed = at.masked;
      }
      for (int64_t panel = mine.panels.begin; panel < mine.panels.end; ++panel) {
        ForTiles(active, [&](int64_t row, int64_t n) {
          row += share.begin;
          const int64_t to = block.first[step] + row, unit = row * stride + frame.Unit(panel);
          // What the next panel's tile adds to is far away by now.
          if (panel + 1 < mine.panels.end) Prefetch(at.gates + frame.Gates(panel + 1, to), n * frame.columns);
          Recur(frame, at.gates, fed + row * h_stride, weights.state, shape.of_state(), tiles.recur, panel, to, n);
          CellForward(frame, at, at.gates + frame.Gates(panel, to), shown, h_before, fed, unit, panel, n);
        });
      }
      if (shape.has_projection()) {
        const int64_t own = share.begin * h_stride;
        dense_rows_forward(h_now + own, shown + share.begin * stride, weights.projection, nullptr, active, shape.projection(),
                           tiles.projection);
        if (at.kept != nullptr) CopyFloats(at.kept + block.first[step] * h_stride + own, h_now + own, active * h_stride);
      }
      for (int64_t panel = 0; panel < frame.panels && shape.has_reset(); ++panel) {
        ForTiles(active, [&](int64_t row, int64_t n) {
          row += share.begin;
          const int64_t to = block.first[step] + row, unit = row * stride + frame.Unit(panel);
          Recur(frame, at.gates, at.reset + row * stride, weights.reset, shape.of_reset(), tiles.recur_reset, panel, to, n);
          gru_before_forward(shape.cells_of(panel, at.bias), at.gates + frame.Gates(panel, to), h_now + unit, h_before + unit,
                             n, stride);
        });
      }
      if (mine.meets) pool.Meet();
      h_before = h_now;
    }
  });
}

void recurrent_block_replay(const ReplayBuffers& at, const BlockRows& block, const RecurrentShape& shape, ThreadPool& pool) {
  const Frame frame{block, shape, nullptr};
  const int64_t stride = frame.stride;
  const bool by_units = SharesUnits(frame, pool);
  pool.Run([&](int part) {
    if (shape.has_projection()) {
      const Share steps = ShareOf(frame.row_steps, part, pool.size());
      const int64_t first = steps.begin * frame.h_stride;
      CopyFloats(at.h + first, at.kept + first, (steps.end - steps.begin) * frame.h_stride);
    }
    const Own mine = by_units ? OwnUnits(frame, part, pool.size()) : OwnRows(frame, part, pool.size());
    const int64_t row = mine.rows.begin;
    if (shape.has_c()) CopyOwn(at.cells, at.c_start, mine, stride);
    // Units do not hear of each other here: panel by panel, whose gates lie one behind the other through all steps.
    for (int64_t panel = mine.panels.begin; panel < mine.panels.end; ++panel) {
      const int64_t unit = row * stride + frame.Unit(panel), start = block.rows[0] * stride;
      const float *h_before = at.h - start + unit, *c_before = shape.has_c() ? at.cells + unit : nullptr;
      for (int step = 0; step < block.steps; ++step) {
        const int64_t to = block.first[step] * stride + unit;
        float *h = at.h + to, *c = shape.has_c() ? at.cells + start + to : nullptr;
        CellReplay(frame, c, c_before, h, h_before, at.gates + frame.Gates(panel, block.first[step] + row), panel,
                   ActiveIn(block, step, mine.rows));
        h_before = h;
        c_before = c;
      }
    }
  });
}

void recurrent_block_backward(const BackwardBuffers& at, RecurrentTransposed transposed, const BlockRows& block,
                              const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool) {
  const Frame frame{block, shape, &tiles};
  const int64_t stride = frame.stride, h_stride = frame.h_stride, panels = frame.panels;
  const uint64_t* rows_bytes = FillOffsets(at.offsets, panels, frame.row_steps * frame.columns);
  const auto reduction = [&](int64_t place, const float* weights, Columns fed, const ColumnTiles& families, int64_t count) {
    const uint64_t* panel_bytes = FillOffsets(at.offsets + place * panels, panels, fed.count * kPanelColumns);
    return Reduction{weights, fed, families, count, panel_bytes, rows_bytes};
  };
  const Reduction of_state = reduction(1, transposed.state, shape.of_state(), tiles.back_state, shape.state_tiles());
  const Reduction of_reset = reduction(2, transposed.reset, shape.of_reset(), tiles.back_reset, shape.state_tiles());
  const Reduction of_input = reduction(3, transposed.input, shape.of_input(), tiles.back_inputs, shape.input_tiles());
  const bool by_units = at.truncate == 0 && StepsByUnits(frame, at.mask, pool);
  const float* h_start = at.h - block.rows[0] * h_stride;
  float* c_of_steps = shape.has_c() ? at.cells + block.rows[0] * stride : nullptr;  // behind c at the block's start
  pool.Run([&](int part) {
    const Own mine = by_units ? OwnUnits(frame, part, pool.size()) : OwnRows(frame, part, pool.size());
    const Share share = mine.rows;
    const int64_t own = share.begin * stride, own_h = share.begin * h_stride;
    // Of the rows before a step: those of the block's start, or of the step before.
    const auto before = [&](const float* start, const float* of_steps, int64_t row_stride, int step) {
      return (step == 0 ? start : of_steps + block.first[step - 1] * row_stride) + share.begin * row_stride;
    };
    for (int step = block.steps - 1; step >= 0; --step) {
      const int64_t n = ActiveIn(block, step, share), to = block.first[step] + share.begin;
      if (n == 0) continue;
      if (const int64_t end = at.first_step + step + 1; at.truncate > 0 && end % at.truncate == 0) {
        const int64_t going_on = GoingOn(at.lengths, share.begin, n, end);
        std::memset(at.d_h + own_h, 0, static_cast<size_t>(going_on * h_stride) * sizeof(float));
        if (shape.has_c()) std::memset(at.d_c + own, 0, static_cast<size_t>(going_on * stride) * sizeof(float));
      }
      const float *h_before = before(h_start, at.h, h_stride, step), *fed = h_before;
      float* d_fed = at.d_h + own_h;
      if (at.mask != nullptr) {
        float* masked = at.masked + to * h_stride;
        multiply_elements(masked, h_before, at.mask + own_h, n, shape.width(), h_stride);
        fed = masked;
        d_fed = at.d_masked + own_h;
        std::memset(d_fed, 0, static_cast<size_t>(n * h_stride) * sizeof(float));
      }
      if (shape.has_projection()) {
        float* d_out = at.d_out + to * h_stride;
        add_elements(d_out, at.d_h + own_h, n, shape.width(), h_stride);
        dense_rows_backward(at.d_shown + own, d_out, transposed.projection, n, shape.projection(), tiles.projection);
      }
      for (int64_t panel = mine.panels.begin; panel < mine.panels.end; ++panel) {
        const int64_t unit = frame.Unit(panel);
        float *gates = at.gates + frame.Gates(panel, to), *d_h = at.d_h + own_h + unit;
        const float* d_out = at.d_out == nullptr ? nullptr : at.d_out + to * h_stride + unit;
        const CellPanel cells = shape.cells_of(panel);
        switch (shape.cell) {
          case Cell::Lstm: {
            float *d_c = at.d_c + own + unit, *c = c_of_steps + to * stride + unit;
            const float* c_before = before(at.cells, c_of_steps, stride, step) + unit;
            if (shape.has_projection()) {
              lstm_projected_backward(cells, gates, d_c, at.d_shown + own + unit, c, c_before, n, stride);
            } else {
              lstm_cell_backward(cells, gates, d_c, d_h, d_out, c, c_before, n, stride);
            }
            break;
          }
          case Cell::Gru:
            gru_cell_backward(cells, gates, d_h, d_out, h_before + unit, n, stride);
            break;
          case Cell::GruBefore:
            gru_before_backward(cells, gates, d_h, d_out, h_before + unit, n, stride);
            break;
          case Cell::Rnn:
            rnn_cell_backward(cells, gates, d_h, d_out, n, stride);
            break;
        }
      }
      if (shape.has_reset()) {
        Back(frame, at.d_reset + own, stride, mine.state_tiles, at.gates, to, n, of_reset);
        for (int64_t panel = 0; panel < panels; ++panel) {
          const int64_t unit = frame.Unit(panel);
          gru_before_backward_reset(shape.cells_of(panel), at.gates + frame.Gates(panel, to), d_fed + unit,
                                    at.reset + to * stride + unit, at.d_reset + own + unit, fed + unit, n, stride);
        }
      }
      if (mine.meets) pool.Meet();
      Back(frame, d_fed, h_stride, mine.state_tiles, at.gates, to, n, of_state);
      if (at.mask != nullptr) {
        float* d_h = at.d_h + own_h;
        if (!shape.has_straight()) std::memset(d_h, 0, static_cast<size_t>(n * h_stride) * sizeof(float));
        multiply_elements(d_fed, d_fed, at.mask + own_h, n, shape.width(), h_stride);
        add_elements(d_h, d_fed, n, shape.width(), h_stride);
      }
    }
    if (at.d_x == nullptr) return;
    if (pool.size() == 1 || by_units) {
      Back(frame, at.d_x, at.d_x_stride, mine.input_tiles, at.gates, 0, frame.row_steps, of_input);
      return;
    }
    for (int step = 0; step < block.steps; ++step) {
      const int64_t n = ActiveIn(block, step, share), to = block.first[step] + share.begin;
      Back(frame, at.d_x + to * at.d_x_stride, at.d_x_stride, mine.input_tiles, at.gates, to, n, of_input);
    }
  });
}

void recurrent_block_gradient(RecurrentWeights d_weights, const float* x, const BackwardBuffers& at, const BlockRows& block,
                              const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool) {
  const Frame frame{block, shape, &tiles};
  const int64_t h_stride = frame.h_stride, columns = frame.columns;
  const Columns input = shape.of_input(), state = shape.of_state(), candidate = shape.of_reset();
  const float* h_start = at.h - block.rows[0] * h_stride;
  if (shape.has_projection()) {
    dense_gradient(d_weights.projection, nullptr, at.d_out, at.cells + block.rows[0] * frame.stride, frame.row_steps,
                   shape.projection(), tiles.projection, pool);
  }
  // The rows of steps [first, end) of one panel.
  const auto add_steps = [&](int64_t panel, int first, int end) {
    const int64_t begin = block.first[first], count = block.first[end] - begin;
    const float* own = at.gates + frame.Gates(panel, begin);
    if (d_weights.bias != nullptr) {
      add_rows(d_weights.bias + panel * input.count, own + input.begin, count, input.count, columns);
    }
    if (d_weights.state_bias != nullptr) {
      add_rows(d_weights.state_bias + panel * state.count, own + state.begin, count, state.count, columns);
    }
    if (x != nullptr) {
      SumRows(d_weights.input + panel * shape.inputs * input.count, own + input.begin, columns, x + begin * shape.input_stride,
              shape.input_stride, count, tiles.sum_inputs, *tiles.set);
    }
    if (shape.has_reset()) {
      SumRows(d_weights.reset + panel * shape.width() * candidate.count, own + candidate.begin, columns,
              at.reset + begin * h_stride, h_stride, count, tiles.sum_reset, *tiles.set);
    }
    float* d_state = d_weights.state + panel * shape.width() * state.count;
    if (at.mask != nullptr) {
      SumRows(d_state, own + state.begin, columns, at.masked + begin * h_stride, h_stride, count, tiles.sum_state, *tiles.set);
      return;
    }
    // Pairs (h(t-1), delta(t)): the first rows[t] of the rows[t-1] rows before. Where no row stops, the pairs of following
    // steps lie together and go in one stretch.
    for (int step = first, next = first; step < end; step = next) {
      const float* before = step == 0 ? h_start : at.h + block.first[step - 1] * h_stride;
      next = step + 1;
      if (step == 0 || block.rows[step - 1] == block.rows[step]) {
        while (next < end && block.rows[next] == block.rows[step]) ++next;
      }
      SumRows(d_state, own + (block.first[step] - begin) * columns + state.begin, columns, before, h_stride,
              block.first[next] - block.first[step], tiles.sum_state, *tiles.set);
    }
  };
  // All panels read the same rows of x and h: as many steps of them as the cache holds, then the next ones.
  const int64_t row_bytes = (shape.input_stride + h_stride) * static_cast<int64_t>(sizeof(float));
  const int64_t cached_rows = std::max<int64_t>(kSumRows, kCachedBytes / row_bytes);
  pool.Run([&](int part) {
    const Share share = ShareOf(frame.panels, part, pool.size());
    for (int first = 0, end = 0; first < block.steps; first = end) {
      for (end = first + 1; end < block.steps && block.first[end + 1] - block.first[first] <= cached_rows;) ++end;
      for (int64_t panel = share.begin; panel < share.end; ++panel) add_steps(panel, first, end);
    }
  });
}

void recurrent_table_products(float* products, const float* table, RecurrentWeights weights, const float* bias,
                              const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool) {
  const BlockRows rows = OneStep(shape.table_ids);
  const Frame frame{rows, shape, &tiles};
  const ForwardBuffers at{.gates = products, .x = table, .bias = bias};
  pool.Run([&](int part) {
    const Share share = ShareOf(frame.panels, part, pool.size());
    for (int64_t panel = share.begin; panel < share.end; ++panel) {
      Project(frame, at, weights.input, 0, shape.table_ids, panel);
    }
  });
}

void recurrent_table_add(float* d_products, const int32_t* ids, const float* delta, const BlockRows& block,
                         const RecurrentShape& shape, ThreadPool& pool) {
  const Frame frame{block, shape, nullptr};
  const Columns input = shape.of_input();
  pool.Run([&](int part) {
    const Share share = ShareOf(frame.panels, part, pool.size());
    for (int64_t panel = share.begin; panel < share.end; ++panel) {
      float* sums = d_products + panel * shape.table_ids * frame.columns + input.begin;
      add_rows_at(sums, ids, delta + frame.Gates(panel, 0) + input.begin, frame.row_steps, input.count, frame.columns);
    }
  });
}

void recurrent_table_gradient(TableGradient out, const float* d_products, const float* table, RecurrentTransposed transposed,
                              uint64_t* offsets, const RecurrentShape& shape, const RecurrentTiles& tiles, ThreadPool& pool) {
  const BlockRows rows = OneStep(shape.table_ids);
  const Frame frame{rows, shape, &tiles};
  const Columns input = shape.of_input();
  const uint64_t* rows_bytes = FillOffsets(offsets, frame.panels, shape.table_ids * frame.columns);
  const uint64_t* panel_bytes = FillOffsets(offsets + frame.panels, frame.panels, input.count * kPanelColumns);
  const Reduction of_input{transposed.input, input, tiles.back_inputs, shape.input_tiles(), panel_bytes, rows_bytes};
  pool.Run([&](int part) {
    if (out.d_input != nullptr) {
      const Share share = ShareOf(frame.panels, part, pool.size());
      for (int64_t panel = share.begin; panel < share.end; ++panel) {
        SumRows(out.d_input + panel * shape.inputs * input.count, d_products + frame.Gates(panel, 0) + input.begin,
                frame.columns, table, shape.input_stride, shape.table_ids, tiles.sum_inputs, *tiles.set);
      }
    }
    if (out.d_table != nullptr) {
      Back(frame, out.d_table, shape.input_stride, ShareOf(shape.input_tiles(), part, pool.size()), d_products, 0,
           shape.table_ids, of_input);
    }
  });
}

}  // namespace plimsoll
