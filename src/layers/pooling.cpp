#include "layers/pooling.h"

#include <fmt/format.h>

#include <cstring>

#include "layers/rows.h"

namespace plimsoll {
namespace {

enum Key { Value = kFirstOwnKey, Gradient, Winner, FinalWinner };

// Calls on_row(row, packed place, time) for every row of every step of the block, in time's order; a thread has its own rows.
template <typename OnRow>
void ForEachRowStep(const Block& block, ThreadPool& pool, const OnRow& on_row) {
  pool.Run([&](int part) {
    const Share share = RowShare(block.rows, part, pool.size());
    for (int step = 0; step < block.rows.steps; ++step) {
      const int64_t end = share.begin + ActiveIn(block.rows, step, share);
      const auto time = static_cast<int32_t>(block.first_step + step);
      for (int64_t row = share.begin; row < end; ++row) on_row(row, block.rows.first[step] + row, time);
    }
  });
}

// Calls on_row(row, packed place) for the rows that end in the block; most blocks have none, and then nobody is woken.
template <typename OnRow>
void ForEachEnd(const Block& block, ThreadPool& pool, const OnRow& on_row) {
  const BlockRows& rows = block.rows;
  const int64_t going_on = GoingOn(block.lengths, 0, rows.rows[0], block.first_step + rows.steps);
  if (going_on == rows.rows[0]) return;
  ForRows(pool, rows.rows[0] - going_on, [&](int64_t first, int64_t count) {
    for (int64_t row = going_on + first; row < going_on + first + count; ++row) {
      on_row(row, rows.first[block.lengths[row] - 1 - block.first_step] + row);
    }
  });
}

}  // namespace

const char* PoolingName(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::Last:
      return "last";
    case PoolingMode::Mean:
      return "mean";
    case PoolingMode::Max:
      return "max";
    case PoolingMode::State:
      return "state";
  }
  __builtin_unreachable();
}

Pooling::Pooling(const Config& config) : config_(config), stride_(ActivationStride(config.width + config.cell.width)) {}

std::string Pooling::Describe() const { return fmt::format("Pooling(mode={})", PoolingName(config_.mode)); }

void Pooling::Declare(NeedList& needs, bool training) const {
  const int64_t row = stride_ * static_cast<int64_t>(sizeof(float));
  needs.Running(Value, "pooled", row);
  if (training) needs.StateGradient(Gradient, "gradient of pooled", row);
  if (config_.mode == PoolingMode::Max) {
    needs.Running(Winner, "step of the maximum", row);
    if (training) needs.StateGradient(FinalWinner, "step of the final maximum", row);  // running again changes the other
  }
}

float* Pooling::Pooled(const OwnerMemory& memory) const { return memory.F32(Value); }
float* Pooling::PooledGradient(const OwnerMemory& memory) const { return memory.F32(Gradient); }

void Pooling::StartForward(const OwnerMemory& memory, int64_t rows) const {
  std::memset(memory.F32(Value), 0, static_cast<size_t>(rows * stride_) * sizeof(float));
}

void Pooling::StartBackward(const OwnerMemory& memory, int64_t rows) const {
  if (config_.mode != PoolingMode::Max) return;
  std::memcpy(memory.I32(FinalWinner), memory.I32(Winner), static_cast<size_t>(rows * stride_) * sizeof(int32_t));
}

void Pooling::Forward(const Slice& in, const Slice&, const OwnerMemory& memory, const RunContext& run) const {
  const Block& block = *in.block;
  float* value = memory.F32(Value);
  if (ReadsLastStep(config_.mode)) {
    return ForEachEnd(block, *run.pool, [&](int64_t row, int64_t place) {
      float* v = value + row * stride_;
      std::memcpy(v, in.data + place * in.stride, static_cast<size_t>(config_.width) * sizeof(float));
      if (const StatePart& cell = config_.cell; cell.width > 0) {
        const float* c = run.layers[config_.of_number].F32(cell.state) + row * cell.stride;
        std::memcpy(v + config_.width, c, static_cast<size_t>(cell.width) * sizeof(float));
      }
    });
  }
  int32_t* winner = config_.mode == PoolingMode::Max ? memory.I32(Winner) : nullptr;
  ForEachRowStep(block, *run.pool, [&](int64_t row, int64_t place, int32_t time) {
    const float* x = in.data + place * in.stride;
    float* v = value + row * stride_;
    if (winner == nullptr) {
      for (int64_t u = 0; u < config_.width; ++u) v[u] += x[u];
      if (time + 1 != block.lengths[row]) return;
      const float share_of_step = 1.0f / static_cast<float>(block.lengths[row]);
      for (int64_t u = 0; u < config_.width; ++u) v[u] *= share_of_step;
      return;
    }
    int32_t* w = winner + row * stride_;
    for (int64_t u = 0; u < config_.width; ++u) {
      if (time == 0 || !(x[u] <= v[u])) {  // NaN wins, so that it is found
        v[u] = x[u];
        w[u] = time;
      }
    }
  });
}

void Pooling::Backward(const Slice& in, const Slice&, const Slice&, const Slice& d_in, const OwnerMemory& memory,
                       const RunContext& run) const {
  const Block& block = *in.block;
  const float* gradient = memory.F32(Gradient);
  // The layer that is read has not been there yet on its way back.
  const auto add_to_state = [&](const StatePart& part, int64_t row, const float* g) {
    if (part.width == 0) return;
    float* d = run.layers[config_.of_number].F32(part.gradient) + row * part.stride;
    for (int64_t u = 0; u < part.width; ++u) d[u] += g[u];
  };
  if (leaves_gradient_in_state()) {
    if (!run.layers[config_.of_number].Has(config_.h.gradient)) return;  // it does not learn
    return ForEachEnd(block, *run.pool, [&](int64_t row, int64_t) {
      const float* g = gradient + row * stride_;
      add_to_state(config_.h, row, g);
      add_to_state(config_.cell, row, g + config_.width);
    });
  }
  if (d_in.data == nullptr) return;
  const int32_t* winner = config_.mode == PoolingMode::Max ? memory.I32(FinalWinner) : nullptr;
  const int64_t padded = WholeVectors(config_.width);
  ForEachRowStep(block, *run.pool, [&](int64_t row, int64_t place, int32_t time) {
    float* d = d_in.data + place * d_in.stride;
    const float* g = gradient + row * stride_;
    std::memset(d, 0, static_cast<size_t>(padded) * sizeof(float));
    switch (config_.mode) {
      case PoolingMode::Last:
      case PoolingMode::State:
        if (time + 1 != block.lengths[row]) break;
        std::memcpy(d, g, static_cast<size_t>(config_.width) * sizeof(float));
        add_to_state(config_.cell, row, g + config_.width);
        break;
      case PoolingMode::Mean: {
        const float share_of_step = 1.0f / static_cast<float>(block.lengths[row]);
        for (int64_t u = 0; u < config_.width; ++u) d[u] = g[u] * share_of_step;
        break;
      }
      case PoolingMode::Max:
        for (int64_t u = 0; u < config_.width; ++u) d[u] = winner[row * stride_ + u] == time ? g[u] : 0.0f;
        break;
    }
  });
}

}  // namespace plimsoll
