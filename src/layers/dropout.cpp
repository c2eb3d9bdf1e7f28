#include "layers/dropout.h"

#include <fmt/format.h>

#include <cstring>

#include "layers/dropout_mask.h"

namespace plimsoll {

std::string Dropout::Describe() const {
  return fmt::format("{}(rate={})", config_.spatial ? "SpatialDropout1D" : "Dropout", config_.rate);
}

void Dropout::Forward(const Slice& in, const Slice& out, const OwnerMemory&, const RunContext& run) const {
  Apply(in, out, run);
}

void Dropout::Backward(const Slice&, const Slice&, const Slice& d_out, const Slice& d_in, const OwnerMemory&,
                       const RunContext& run) const {
  if (d_in.data != nullptr) Apply(d_out, d_in, run);
}

void Dropout::Apply(const Slice& from, const Slice& to, const RunContext& run) const {
  const BlockRows& rows = to.block->rows;
  const bool active = run.training && config_.rate > 0.0;
  const DropoutMask mask(run, config_.number, config_.rate);
  run.pool->Run([&](int part) {
    const Share share = ShareOf(to.count, part, run.pool->size());
    int step = 0;
    for (int64_t item = share.begin; item < share.end; ++item) {
      const float* source = from.data + item * from.stride;
      float* target = to.data + item * to.stride;
      for (int64_t unit = config_.width; unit < WholeVectors(config_.width); ++unit) target[unit] = 0.0f;
      if (!active) {
        std::memcpy(target, source, static_cast<size_t>(config_.width) * sizeof(float));
        continue;
      }
      const int64_t at = to.begin + item;  // in the block
      while (at >= rows.first[step + 1]) ++step;
      mask.Apply(target, source, config_.width, to.block->samples[at - rows.first[step]],
                 config_.spatial ? 0 : to.block->first_step + step);
    }
  });
}

}  // namespace plimsoll
