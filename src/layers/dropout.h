// dropout: while training, sets a share of the elements to zero and scales the others up by 1 / (1 - rate). The mask is a
//   function of (seed, update, layer, sample, step, unit): computed again in backward and in every repeat, never stored.
#pragma once

#include "layers/layer.h"

namespace plimsoll {

class Dropout final : public Layer {
 public:
  struct Config {
    double rate = 0.0;
    bool spatial = false;  // one mask for all steps of a sequence
    int64_t width = 0;
    uint32_t number = 0;  // of the node, so that two layers do not share masks
  };
  explicit Dropout(const Config& config) : config_(config) {}

  std::string Describe() const override;
  int64_t width() const override { return config_.width; }
  void Declare(NeedList&, bool) const override {}
  LayerWork Work() const override {
    return {.forward = 50.0 * static_cast<double>(width()), .backward = 100.0 * static_cast<double>(width())};
  }
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  void Apply(const Slice& from, const Slice& to, const RunContext& run) const;
  Config config_;
};

}  // namespace plimsoll
