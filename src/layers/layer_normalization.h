// layer_normalization: each row to mean 0 and variance 1 over its width, then scaled and shifted by learned vectors. Keeps no
//   Tape: mean and variance of a row are computed again.
#pragma once

#include "layers/layer.h"

namespace plimsoll {

class LayerNormalization final : public Layer {
 public:
  struct Config {
    int64_t width = 0;
    double epsilon = 1e-3;
    bool learns = true;
  };
  explicit LayerNormalization(const Config& config) : config_(config) {}

  std::string Describe() const override;
  int64_t width() const override { return config_.width; }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override {
    return {.forward = 60.0 * static_cast<double>(width()), .backward = 180.0 * static_cast<double>(width())};
  }
  std::vector<WeightTensor> Weights() const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  int64_t beta() const { return WholeVectors(config_.width); }  // behind gamma
  Config config_;
};

}  // namespace plimsoll
