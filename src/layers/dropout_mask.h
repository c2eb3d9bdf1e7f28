// dropout_mask: which elements of a row a dropout keeps. A function of (seed, update, layer, sample, time, unit), so that
//   backward and every repeat ask for it again and nobody stores it.
#pragma once

#include "base/random.h"
#include "layers/layer.h"

namespace plimsoll {

// The mask of one row; those of a layer differ by sample and time.
class DropoutMask {
 public:
  DropoutMask(const RunContext& run, uint32_t layer, double rate)
      : run_(run), layer_(layer), threshold_(DropoutThreshold(rate)), scale_(static_cast<float>(1.0 / (1.0 - rate))) {}

  // out = in with dropped elements zero and the others scaled up. out may be in.
  void Apply(float* out, const float* in, int64_t width, int64_t sample, int64_t time) const {
    for (int64_t unit = 0; unit < width; unit += 4) {
      const RandomWords words = DropoutWords(run_.dropout_seed, run_.update, layer_, static_cast<uint64_t>(sample),
                                             static_cast<uint64_t>(time), static_cast<uint32_t>(unit / 4));
      for (int64_t k = 0; k < 4 && unit + k < width; ++k) {
        out[unit + k] = words[static_cast<size_t>(k)] < threshold_ ? 0.0f : in[unit + k] * scale_;
      }
    }
  }

 private:
  const RunContext& run_;
  uint32_t layer_;
  uint32_t threshold_;
  float scale_;
};

// What a recurrent layer masks has one mask for all steps of a sequence; these are their times.
inline constexpr int64_t kInputMaskTime = 0, kStateMaskTime = 1;

}  // namespace plimsoll
