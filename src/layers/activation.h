// activation: y = act(x), element by element. Keeps no Tape: computed again in backward.
#pragma once

#include "layers/layer.h"
#include "plimsoll/options.h"

namespace plimsoll {

class ActivationLayer final : public Layer {
 public:
  struct Config {
    Activation activation = Activation::Linear;
    int64_t width = 0;
  };
  explicit ActivationLayer(const Config& config) : config_(config) {}

  std::string Describe() const override;
  int64_t width() const override { return config_.width; }
  void Declare(NeedList&, bool) const override {}
  LayerWork Work() const override {
    return {.forward = 50.0 * static_cast<double>(width()), .backward = 70.0 * static_cast<double>(width())};
  }
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  Config config_;
};

}  // namespace plimsoll
