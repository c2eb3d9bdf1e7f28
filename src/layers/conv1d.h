// conv1d: a causal convolution over time: y_t = act(b + sum_j W_j x_(t - (taps - 1 - j) dilation)), x before the start being 0.
//   It knows time: the inputs that later blocks still look back at are State. A block's rows are laid side by side with what
//   they look back at, and the rest is a Dense.
#pragma once

#include "kernels/dense.h"
#include "layers/layer.h"
#include "plimsoll/options.h"

namespace plimsoll {

class Conv1D final : public Layer {
 public:
  struct Config {
    int64_t inputs = 0;
    int64_t filters = 0;
    int64_t taps = 1;
    int64_t dilation = 1;
    Activation activation = Activation::Linear;
    bool use_bias = true;
    bool input_gradient = false;
    bool learns = true;
    WeightRule kernel{.start = Initializer::GlorotUniform};
    WeightRule bias;
  };
  explicit Conv1D(const Config& config);

  std::string Describe() const override;
  int64_t width() const override { return shape_.units; }
  void AddTiles(ProductSet& products) override { tiles_ = AddDenseTiles(products, shape_); }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override;
  void Prepare(const OwnerMemory& memory, ThreadPool& pool) const override;
  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void StartBackward(const OwnerMemory& memory, int64_t rows) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  int64_t past() const { return (config_.taps - 1) * config_.dilation; }  // steps that are looked back at
  int64_t past_floats() const { return past() * config_.inputs; }         // of a row
  // Calls function(row, place, tap, step it looks at, from the block's start) for all taps of all row-steps of a share of rows,
  // steps in ascending or descending order.
  template <typename Function>
  void ForEachTap(const Block& block, Share share, bool ascending, const Function& function) const;
  void Gather(const Slice& in, const float* past_rows, const OwnerMemory& memory, ThreadPool& pool) const;
  void Finish(const Slice& out, const OwnerMemory& memory, const RunContext& run) const;

  Config config_;
  DenseShape shape_;
  DenseTiles tiles_;
};

}  // namespace plimsoll
