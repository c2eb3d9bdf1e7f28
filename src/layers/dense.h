// dense: y = act(x W + b) on every row. Keeps no Tape: in a body it is computed again, in the head it lives for one slice.
#pragma once

#include "kernels/dense.h"
#include "layers/layer.h"
#include "plimsoll/options.h"

namespace plimsoll {

class Dense final : public Layer {
 public:
  struct Config {
    int64_t inputs = 0;
    int64_t units = 0;
    int64_t input_stride = 0;
    Activation activation = Activation::Linear;
    bool input_gradient = false;
    bool learns = true;
    WeightRule kernel{.start = Initializer::GlorotUniform};
    WeightRule bias;
    std::string tied_to = {};  // the Embedding whose table, in panels, is the kernel; empty: its own
  };
  explicit Dense(const Config& config);

  std::string Describe() const override;
  int64_t width() const override { return shape_.units; }
  void AddTiles(ProductSet& products) override { tiles_ = AddDenseTiles(products, shape_); }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override;
  void Prepare(const OwnerMemory& memory, ThreadPool& pool) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  bool tied() const { return !tied_to_.empty(); }
  int64_t own_weights() const { return tied() ? 0 : shape_.weights(); }  // floats before the bias
  const float* Kernel(const OwnerMemory& memory) const { return memory.F32(tied() ? kTiedWeights : kWeights); }

  DenseShape shape_;
  Activation activation_;
  bool learns_;
  WeightRule kernel_, bias_;
  std::string tied_to_;
  DenseTiles tiles_;
};

}  // namespace plimsoll
