// crf: a linear-chain conditional random field over the tags that the Dense below it scores. The last layer, and its own loss.
//   It knows time: alpha is State, so it lies in the body, and the loss of a row is there at the end of forward.
//   Loss: the negative log-likelihood of the true tags, log Z - score; the step divides by the number of steps.
//   Scores (evaluation) follow the likeliest sequence (Viterbi), whose way back is kept, a byte a tag and step; the hits that a
//   training step counts follow each step's likeliest tag, which backward has at hand.
#pragma once

#include "kernels/crf.h"
#include "layers/layer.h"

namespace plimsoll {

class Crf final : public Layer {
 public:
  struct Config {
    int64_t tags = 0;
    bool learns = true;
  };
  explicit Crf(const Config& config) : shape_{.tags = config.tags}, learns_(config.learns) {}

  std::string Describe() const override;
  int64_t width() const override { return shape_.tags; }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  std::vector<WeightTensor> Weights() const override;
  bool carries_rows() const override { return true; }

  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void StartBackward(const OwnerMemory& memory, int64_t rows) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

  // At the end of forward: the loss of a row.
  double LossOf(const OwnerMemory& memory, int64_t row) const;
  // After all of Backward: steps of a row whose likeliest tag was the true one.
  int64_t HitsOf(const OwnerMemory& memory, int64_t row) const;
  // At the end of forward without training, once: finds the likeliest sequence of a row, whose tags TagAt then gives.
  // `packed(t)` is where the row's step t lies.
  template <typename Packed>
  void Decode(const OwnerMemory& memory, int64_t row, int64_t steps, const Packed& packed) const;
  int32_t TagAt(const OwnerMemory& memory, int64_t place) const { return BeforeAt(memory, place)[0]; }

 private:
  uint8_t* BeforeAt(const OwnerMemory& memory, int64_t place) const;
  int64_t LastTag(const OwnerMemory& memory, int64_t row) const;
  CrfRows RowsOf(const Block& block) const;

  CrfShape shape_;
  bool learns_;
};

template <typename Packed>
void Crf::Decode(const OwnerMemory& memory, int64_t row, int64_t steps, const Packed& packed) const {
  uint8_t tag = static_cast<uint8_t>(LastTag(memory, row));
  for (int64_t t = steps - 1; t >= 0; --t) {
    uint8_t* before = BeforeAt(memory, packed(t));
    const uint8_t earlier = before[tag];
    before[0] = tag;  // the way back is not gone again
    tag = earlier;
  }
}

}  // namespace plimsoll
