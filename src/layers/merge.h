// merge: several inputs become one row: side by side (concatenate), or element by element (add, multiply).
#pragma once

#include "layers/layer.h"
#include "plimsoll/options.h"

namespace plimsoll {

class Merge final : public Layer {
 public:
  struct Config {
    MergeMode mode = MergeMode::Concatenate;
    std::vector<int64_t> widths;  // of the inputs; all the same but for Concatenate
  };
  explicit Merge(Config config);

  std::string Describe() const override;
  int64_t width() const override { return width_; }
  void Declare(NeedList&, bool) const override {}
  LayerWork Work() const override {
    return {.forward = 20.0 * static_cast<double>(width()), .backward = 20.0 * static_cast<double>(width())};
  }
  void Forward(const Slice& in, const Slice& out, const OwnerMemory& memory, const RunContext& run) const override {
    ForwardAll({&in, 1}, out, memory, run);
  }
  void Backward(const Slice& in, const Slice& out, const Slice& d_out, const Slice& d_in, const OwnerMemory& memory,
                const RunContext& run) const override {
    BackwardAll({&in, 1}, out, d_out, {&d_in, 1}, memory, run);
  }
  void ForwardAll(std::span<const Slice> ins, const Slice& out, const OwnerMemory& memory,
                  const RunContext& run) const override;
  void ReplayAll(std::span<const Slice> ins, const Slice& out, const OwnerMemory& memory,
                 const RunContext& run) const override {
    ForwardAll(ins, out, memory, run);
  }
  void BackwardAll(std::span<const Slice> ins, const Slice& out, const Slice& d_out, std::span<const Slice> d_ins,
                   const OwnerMemory& memory, const RunContext& run) const override;

 private:
  Config config_;
  int64_t width_ = 0;
};

}  // namespace plimsoll
