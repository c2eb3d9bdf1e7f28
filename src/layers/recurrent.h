// recurrent: the LSTM, GRU and SimpleRNN layers. State h, and c of the LSTM; Tape what the cell made of its sums at every
//   row-step and State at each block's start, from which h and c come back by a pointwise scan (Replay), exactly.
#pragma once

#include "kernels/recurrent.h"
#include "layers/layer.h"

namespace plimsoll {

class Recurrent final : public Layer {
 public:
  struct Config {
    Cell cell = Cell::Lstm;
    int64_t inputs = 0;
    int64_t units = 0;
    int64_t input_stride = 0;
    bool input_gradient = false;  // false for a first layer fed with plain data
    bool learns = true;
    CellActivations activations;
    bool use_bias = true;
    bool forget_one = true;  // Lstm: the forget gate's bias begins at 1
    int64_t projected = 0;   // Lstm: width of h where it is a projection; 0: none
    double dropout = 0.0;    // of x, and of h before its products: one mask for all steps of a sequence
    double recurrent_dropout = 0.0;
    uint32_t number = 0;    // of the node, so that two layers do not share masks
    int64_t truncate = 0;   // steps after which gradients of State are forgotten; 0: never
    int32_t lanes = 8;      // of the machine's vectors
    int64_t table_ids = 0;  // it reads ids, and looks up the products of their vectors in the table that it is tied to
    WeightRule kernel{.start = Initializer::GlorotUniform};
    WeightRule recurrent{.start = Initializer::Orthogonal};
    WeightRule bias;
  };
  explicit Recurrent(const Config& config);

  std::string Describe() const override;
  int64_t width() const override { return shape_.width(); }
  void AddTiles(ProductSet& products) override { tiles_ = AddRecurrentTiles(products, shape_); }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override;
  bool carries_rows() const override { return true; }
  StateParts state() const override;
  bool hears_through_state() const override { return !shape_.has_projection(); }
  void Prepare(const OwnerMemory& memory, ThreadPool& pool) const override;
  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void StartBackward(const OwnerMemory& memory, int64_t rows) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;
  void FinishGradients(const OwnerMemory& memory, ThreadPool& pool) const override;

 private:
  bool masks_inputs(const RunContext& run) const { return run.training && dropout_ > 0.0; }
  bool masks_state(const RunContext& run) const { return run.training && recurrent_dropout_ > 0.0; }
  const float* MaskInputs(const Slice& in, const OwnerMemory& memory, const RunContext& run) const;
  const float* MaskOfState(const Block& block, const OwnerMemory& memory, const RunContext& run) const;
  RecurrentWeights Split(float* weights) const;
  const float* StartBiasOf(const OwnerMemory& memory) const;
  RecurrentTransposed Transposed(const OwnerMemory& memory) const;
  bool looks_up() const { return shape_.table_ids > 0; }
  bool has_backward() const { return learns_ || shape_.input_gradient; }
  RecurrentShape shape_;
  bool learns_;
  bool use_bias_;
  bool forget_one_;
  double dropout_, recurrent_dropout_;
  uint32_t number_;
  int64_t truncate_;
  WeightRule kernel_, recurrent_, bias_;
  RecurrentTiles tiles_;
};

}  // namespace plimsoll
