// pooling: all steps of a row to one row: the last, the mean or the maximum, or what a recurrent layer carries on behind the
//   last. Causal: the running value is State, final when the row ends, so the head behind it runs once, on the State of all
//   rows.
#pragma once

#include "layers/layer.h"
#include "plimsoll/options.h"

namespace plimsoll {

class Pooling final : public Layer {
 public:
  struct Config {
    PoolingMode mode = PoolingMode::Last;
    int64_t width = 0;    // of the input
    int of_number = 0;    // of the layer that is read
    StatePart cell = {};  // State: its c, where it has one
    StatePart h = {};     // Last, State: of a layer that hears of the gradient of its last step there
  };
  explicit Pooling(const Config& config);

  // The gradient of what is read goes into that layer's State: d_in of Backward is not written.
  bool leaves_gradient_in_state() const { return config_.h.width > 0; }
  std::string Describe() const override;
  int64_t width() const override { return config_.width + config_.cell.width; }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override {
    return {.forward = 10.0 * static_cast<double>(width()), .backward = 20.0 * static_cast<double>(width())};
  }
  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void StartBackward(const OwnerMemory& memory, int64_t rows) const override;
  // `out` is not used: the value is State.
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice&, const Slice&, const OwnerMemory&, const RunContext&) const override {}
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

  // The pooled rows and their gradient, [rows][ActivationStride(width)].
  float* Pooled(const OwnerMemory& memory) const;
  float* PooledGradient(const OwnerMemory& memory) const;

 private:
  Config config_;
  int64_t stride_;
};

const char* PoolingName(PoolingMode mode);
inline bool ReadsLastStep(PoolingMode mode) { return mode == PoolingMode::Last || mode == PoolingMode::State; }

}  // namespace plimsoll
