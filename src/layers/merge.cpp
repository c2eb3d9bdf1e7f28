#include "layers/merge.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "layers/rows.h"

namespace plimsoll {
namespace {

const char* MergeName(MergeMode mode) {
  switch (mode) {
    case MergeMode::Concatenate:
      return "Concatenate";
    case MergeMode::Add:
      return "Add";
    case MergeMode::Multiply:
      return "Multiply";
  }
  __builtin_unreachable();
}

void CopyRow(float* to, const float* from, int64_t width) { std::memcpy(to, from, static_cast<size_t>(width) * sizeof(float)); }

// Zeros fill up the last vector.
void CloseRow(float* row, int64_t width) {
  for (int64_t at = width; at < WholeVectors(width); ++at) row[at] = 0.0f;
}

}  // namespace

Merge::Merge(Config config) : config_(std::move(config)), width_(config_.widths.front()) {
  if (config_.mode != MergeMode::Concatenate) return;
  width_ = 0;
  for (const int64_t width : config_.widths) width_ += width;
}

std::string Merge::Describe() const { return fmt::format("{}(inputs={})", MergeName(config_.mode), config_.widths.size()); }

void Merge::ForwardAll(std::span<const Slice> ins, const Slice& out, const OwnerMemory&, const RunContext& run) const {
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    for (int64_t row = first; row < first + rows; ++row) {
      float* y = out.data + row * out.stride;
      int64_t column = 0;
      for (size_t i = 0; i < ins.size(); ++i) {
        const float* x = ins[i].data + row * ins[i].stride;
        if (config_.mode == MergeMode::Concatenate) {
          CopyRow(y + column, x, config_.widths[i]);
          column += config_.widths[i];
        } else if (i == 0) {
          CopyRow(y, x, width_);
        } else if (config_.mode == MergeMode::Add) {
          for (int64_t u = 0; u < width_; ++u) y[u] += x[u];
        } else {
          for (int64_t u = 0; u < width_; ++u) y[u] *= x[u];
        }
      }
      CloseRow(y, width_);
    }
  });
}

void Merge::BackwardAll(std::span<const Slice> ins, const Slice& out, const Slice& d_out, std::span<const Slice> d_ins,
                        const OwnerMemory&, const RunContext& run) const {
  ForRows(*run.pool, out.count, [&](int64_t first, int64_t rows) {
    int64_t column = 0;
    for (size_t i = 0; i < ins.size(); ++i) {
      const int64_t width = config_.widths[i], from = column;
      if (config_.mode == MergeMode::Concatenate) column += width;
      if (d_ins[i].data == nullptr) continue;
      for (int64_t row = first; row < first + rows; ++row) {
        float* d = d_ins[i].data + row * d_ins[i].stride;
        CopyRow(d, d_out.data + row * d_out.stride + from, width);
        CloseRow(d, width);
        if (config_.mode != MergeMode::Multiply) continue;
        for (size_t other = 0; other < ins.size(); ++other) {
          if (other == i) continue;
          const float* x = ins[other].data + row * ins[other].stride;
          for (int64_t u = 0; u < width; ++u) d[u] *= x[u];
        }
      }
    }
  });
}

}  // namespace plimsoll
