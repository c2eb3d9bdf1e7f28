// embedding: ids to rows of a table.
#pragma once

#include "layers/layer.h"

namespace plimsoll {

class Embedding final : public Layer {
 public:
  struct Config {
    int64_t ids = 0;  // in [0, ids)
    int64_t width = 0;
    bool learns = true;   // false: there is no backward, as nothing lies below
    bool panels = false;  // the table lies as a Dense keeps its kernel, because one is tied to it
    WeightRule table{.start = Initializer::RandomUniform};
  };
  explicit Embedding(const Config& config) : config_(config), stride_(ActivationStride(config.width)) {}

  std::string Describe() const override;
  int64_t width() const override { return config_.width; }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override {
    const double forward = 10.0 * static_cast<double>(width());
    return {.forward = forward, .backward = config_.learns ? 2.0 * forward : forward};
  }
  std::vector<WeightTensor> Weights() const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  int64_t floats() const;  // of the table, padding included
  // The first element of a vector in panels; the others follow kPanelColumns apart.
  int64_t FirstInPanel(int64_t id) const { return id / kPanelColumns * kPanelColumns * config_.width + id % kPanelColumns; }
  Config config_;
  int64_t stride_;
};

}  // namespace plimsoll
