// custom: a layer that the program brought along (plimsoll/custom.h), row by row. Keeps no Tape.
#pragma once

#include "layers/layer.h"
#include "plimsoll/custom.h"

namespace plimsoll {

class Custom final : public Layer {
 public:
  struct Config {
    const CustomLayer* layer = nullptr;  // outlives this one
    std::string function;                // its name, for Describe
    int64_t inputs = 0;
    bool learns = true;
  };
  static constexpr size_t kMostTensors = 16;

  explicit Custom(Config config);

  std::string Describe() const override;
  int64_t width() const override { return width_; }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override { return tensors_; }
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

 private:
  CustomForward<float> RowsOf(const Slice& in, const Slice& out, int64_t first, int64_t rows) const;

  Config config_;
  int64_t width_;
  std::vector<WeightTensor> tensors_;
  int64_t floats_ = 0;  // of all tensors
};

}  // namespace plimsoll
