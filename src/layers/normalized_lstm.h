// normalized_lstm: the LSTM layer with layer_normalization. State h and c; Tape the gates of every row-step and State at each
//   block's start. The sums of the two products, which backward needs again, are computed again and not kept.
#pragma once

#include "kernels/normalized_lstm.h"
#include "layers/layer.h"

namespace plimsoll {

class NormalizedLstm final : public Layer {
 public:
  struct Config {
    int64_t inputs = 0;
    int64_t units = 0;
    int64_t input_stride = 0;
    bool input_gradient = false;  // false for a first layer fed with plain data
    bool learns = true;
    CellActivations activations;
    double epsilon = 1e-3;
    bool use_bias = true;
    bool forget_one = true;  // the forget gate's bias begins at 1
    int64_t truncate = 0;    // steps after which gradients of State are forgotten; 0: never
    WeightRule kernel{.start = Initializer::GlorotUniform};
    WeightRule recurrent{.start = Initializer::Orthogonal};
    WeightRule bias;
  };
  explicit NormalizedLstm(const Config& config);

  std::string Describe() const override;
  int64_t width() const override { return shape_.units; }
  void AddTiles(ProductSet& products) override { tiles_ = AddNormalizedTiles(products, shape_); }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override;
  bool carries_rows() const override { return true; }
  StateParts state() const override;
  void Prepare(const OwnerMemory& memory, ThreadPool& pool) const override;
  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void StartBackward(const OwnerMemory& memory, int64_t rows) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  // Floats from the start of the layer's weights; W lies at 0.
  struct Places {
    int64_t state = 0;
    int64_t gamma_x = 0, beta_x = 0;
    int64_t gamma_h = 0, beta_h = 0;
    int64_t gamma_c = 0, beta_c = 0;
    int64_t bias = 0;
    int64_t end = 0;
  };
  Places places() const;
  NormalizedWeights Split(float* weights) const;
  NormalizedTransposed Transposed(const OwnerMemory& memory) const;
  bool has_backward() const { return config_.learns || shape_.input_gradient; }
  Config config_;
  NormalizedShape shape_;
  NormalizedTiles tiles_;
};

}  // namespace plimsoll
