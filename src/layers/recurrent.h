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
    CellActivations activations;
    bool use_bias = true;
    bool forget_one = true;  // Lstm: the forget gate's bias begins at 1
  };
  explicit Recurrent(const Config& config);

  std::string Describe() const override;
  int64_t width() const override { return shape_.units; }
  void AddTiles(ProductSet& products) override { tiles_ = AddRecurrentTiles(products, shape_); }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override;
  bool carries_rows() const override { return true; }
  void Prepare(const OwnerMemory& memory, ThreadPool& pool) const override;
  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void StartBackward(const OwnerMemory& memory, int64_t rows) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  RecurrentWeights Split(float* weights) const;
  RecurrentTransposed Transposed(const OwnerMemory& memory) const;
  RecurrentShape shape_;
  bool use_bias_;
  bool forget_one_;
  RecurrentTiles tiles_;
};

}  // namespace plimsoll
