// dropout: sets elements to zero and scales the others by 1 / (1 - rate), so that the expected value stays.
//   The mask is a function of (seed, update, layer, sample, step, unit): forward and backward ask for it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "reference/rows.h"

namespace plimsoll::reference {

struct DropoutPlace {
  uint64_t seed = 0;  // from SeedFor(job seed, RandomUse::Dropout)
  uint64_t update = 0;
  uint32_t layer = 0;    // index in Spec::nodes
  uint64_t sample = 0;   // number in the data set
  bool spatial = false;  // the mask of step 0 for all steps
};

// What the element is multiplied by. Behind a pooling layer `step` is 0.
template <typename T>
T DropoutScale(double rate, const DropoutPlace& place, int64_t step, int64_t unit) {
  const RandomWords words = DropoutWords(place.seed, place.update, place.layer, place.sample,
                                         static_cast<uint64_t>(place.spatial ? 0 : step), static_cast<uint32_t>(unit / 4));
  const bool keep = words[static_cast<size_t>(unit % 4)] >= DropoutThreshold(rate);
  return keep ? static_cast<T>(1.0 / (1.0 - rate)) : T(0);
}

// Inside a recurrent layer: what x (step 0) or h before its products (step 1) is multiplied by at all steps; empty: by one.
template <typename T>
std::vector<T> RecurrentScales(double rate, const DropoutPlace& place, int64_t step, int64_t width) {
  std::vector<T> scales;
  for (int64_t unit = 0; rate > 0.0 && unit < width; ++unit) scales.push_back(DropoutScale<T>(rate, place, step, unit));
  return scales;
}
template <typename T>
T ScaleAt(const std::vector<T>& scales, int64_t unit) {
  return scales.empty() ? T(1) : scales[static_cast<size_t>(unit)];
}

template <typename T>
void DropoutForward(Rows<T>& out, const Rows<T>& in, double rate, const DropoutPlace& place) {
  for (int64_t r = 0; r < in.count; ++r)
    for (int64_t w = 0; w < in.width; ++w) out.row(r)[w] = in.row(r)[w] * DropoutScale<T>(rate, place, r, w);
}

// Adds to d_in.
template <typename T>
void DropoutBackward(Rows<T>& d_in, const Rows<T>& d_out, double rate, const DropoutPlace& place) {
  for (int64_t r = 0; r < d_out.count; ++r)
    for (int64_t w = 0; w < d_out.width; ++w) d_in.row(r)[w] += d_out.row(r)[w] * DropoutScale<T>(rate, place, r, w);
}

}  // namespace plimsoll::reference
