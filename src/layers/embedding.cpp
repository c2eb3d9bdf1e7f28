#include "layers/embedding.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/pointwise.h"

namespace plimsoll {

std::string Embedding::Describe() const {
  return fmt::format("Embedding(input_dim={}, output_dim={})", config_.ids, config_.width);
}

void Embedding::Declare(NeedList& needs, bool /*training*/) const {
  needs.Param(kWeights, "weights", floats() * static_cast<int64_t>(sizeof(float)));
}

int64_t Embedding::floats() const {
  if (!config_.panels) return config_.ids * stride_;
  return (config_.ids + kPanelColumns - 1) / kPanelColumns * kPanelColumns * config_.width;
}

std::vector<WeightTensor> Embedding::Weights() const {
  return {{.name = "weight",
           .rows = config_.ids,
           .columns = config_.width,
           .order = config_.panels ? WeightTensor::Order::Panels : WeightTensor::Order::Rows,
           .stride = stride_,
           .rule = config_.table,
           .rows_are_inputs = true}};
}

void Embedding::Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const {
  const float* table = memory.F32(kWeights);
  run.pool->Run([&](int part) {
    const Share share = ShareOf(out.count, part, run.pool->size());
    float* vectors = out.data + share.begin * stride_;
    if (!config_.panels) {
      return copy_rows_at(vectors, table, in.ids + share.begin, share.end - share.begin, stride_, stride_);
    }
    for (int64_t row = share.begin; row < share.end; ++row, vectors += stride_) {
      const float* first = table + FirstInPanel(in.ids[row]);
      for (int64_t column = 0; column < config_.width; ++column) vectors[column] = first[column * kPanelColumns];
      std::fill(vectors + config_.width, vectors + stride_, 0.0f);
    }
  });
}

void Embedding::Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice&, const OwnerMemory& memory,
                         const RunContext& run) const {
  if (memory.Has(kTouched)) {
    uint64_t* touched = memory.U64(kTouched);
    for (int64_t row = 0; row < out.count; ++row) touched[in.ids[row] / 64] |= uint64_t{1} << in.ids[row] % 64;
  }
  // Threads own columns, so that the rows of one id are added in one fixed order.
  float* gradient = memory.F32(kGradient);
  run.pool->Run([&](int part) {
    const Share columns = ShareOf(WholeVectors(config_.width), part, run.pool->size(), 8);
    if (!config_.panels) {
      return add_rows_at(gradient + columns.begin, in.ids, d_out.data + columns.begin, out.count, columns.end - columns.begin,
                         stride_);
    }
    const int64_t end = std::min(columns.end, config_.width);
    for (int64_t row = 0; row < out.count; ++row) {
      float* first = gradient + FirstInPanel(in.ids[row]);
      const float* vector = d_out.data + row * stride_;
      for (int64_t column = columns.begin; column < end; ++column) first[column * kPanelColumns] += vector[column];
    }
  });
}

}  // namespace plimsoll
