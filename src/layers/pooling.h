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
    StatePart cell = {};  // State: c of the layer that is read, where it has one
    int of_number = 0;    // and the layer's number
  };
  explicit Pooling(const Config& config);

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

}  // namespace plimsoll
