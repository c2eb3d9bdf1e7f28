// ctc: the loss ctc as the last layer behind the Dense that gives the outputs. It has no weights.
//   It knows time: alpha is State, so it lies in the body, and the loss of a row is there at the end of forward.
//   Loss: -log P(labels) of a row, neither divided by its steps nor by its labels; the step divides by the number of rows.
//   Scores (evaluation): the edit distance of the labels to what the likeliest output of each step spells.
#pragma once

#include "kernels/ctc.h"
#include "layers/layer.h"

namespace plimsoll {

class Ctc final : public Layer {
 public:
  struct Config {
    int64_t classes = 0;
    int64_t longest = 0;  // labels
  };
  explicit Ctc(const Config& config) : shape_{.classes = config.classes, .longest = config.longest} {}

  std::string Describe() const override;
  int64_t width() const override { return shape_.places(); }
  void Declare(NeedList& needs, bool training) const override;
  LayerWork Work() const override;
  bool carries_rows() const override { return true; }

  void StartForward(const OwnerMemory& memory, int64_t rows) const override;
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Replay(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override;
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override;

  // At the end of forward: the loss of a row.
  double LossOf(const OwnerMemory& memory, int64_t row) const;
  // At the end of forward without training: labels of a row, of so many, that are put in, left out or wrong.
  int64_t ErrorsOf(const OwnerMemory& memory, int64_t row, int64_t labels) const;

 private:
  CtcShape shape_;
};

}  // namespace plimsoll
