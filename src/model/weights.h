// weights: a network's weights as canonical tensors, and their first values. Packed places are known to WeightTensor alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/network.h"

namespace plimsoll {

// One canonical tensor of a network and where it lies.
struct WeightPlace {
  std::string name;  // "lstm.weight_ih"
  int layer = 0;
  WeightTensor tensor;
  bool learns = true;  // there is a gradient of it

  int64_t elements() const { return tensor.rows * tensor.columns; }
  std::vector<int64_t> shape() const;
};
std::vector<WeightPlace> WeightPlaces(const Network& network);

// Elements [first, first + count) of the tensor, row-major, out of or into packed floats (weights, gradient or moment).
void GatherWeights(float* out, const float* packed, const WeightTensor& tensor, int64_t first, int64_t count);
void ScatterWeights(float* packed, const float* in, const WeightTensor& tensor, int64_t first, int64_t count);

// The first values that each tensor's rule asks for, drawn as Keras draws them. A function of the seed, the tensor's number and
// its rule alone. Padding becomes zero and stays so.
// The gradient buffers are used as scratch; a layer that does not learn has StartRows instead.
void InitialiseWeights(const Network& network, const NetworkMemory& memory, uint64_t seed);

}  // namespace plimsoll
