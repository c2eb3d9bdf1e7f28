#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace plimsoll {
namespace {

double Dot(const float* a, const float* b, int64_t count) {
  double sums[4] = {};
  for (int64_t i = 0; i < count; i += 4) {
    for (int64_t k = 0; k < std::min<int64_t>(4, count - i); ++k)
      sums[k] += static_cast<double>(a[i + k]) * static_cast<double>(b[i + k]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Orthonormal rows, as Keras makes a recurrent kernel of [units, gates * units]: row u of it are the weights from unit u to all
// gates, which is column u of our canonical [gates * units, units]. Gram-Schmidt on random rows. Where they are a part of what
// the space holds, one pass is exact to rounding; where they fill it (one gate), little of the last rows is left behind the
// first pass, and a second one mends what it rounded. work: [units][gates * units].
void MakeOrthogonal(float* packed, float* work, const WeightTensor& tensor, uint64_t seed, uint64_t number) {
  const int64_t units = tensor.columns, gates = tensor.rows;
  RandomSequence random(seed, number);
  for (int64_t unit = 0; unit < units; ++unit) {
    float* row = work + unit * gates;
    for (int64_t gate = 0; gate < gates; ++gate) row[gate] = random.Normal();
    for (int pass = 0; pass < (gates == units ? 2 : 1); ++pass) {
      for (int64_t other = 0; other < unit; ++other) {
        const float* before = work + other * gates;
        const auto product = static_cast<float>(Dot(row, before, gates));
        for (int64_t gate = 0; gate < gates; ++gate) row[gate] -= product * before[gate];
      }
      const auto scale = static_cast<float>(1.0 / std::sqrt(Dot(row, row, gates)));
      for (int64_t gate = 0; gate < gates; ++gate) row[gate] *= scale;
    }
    for (int64_t gate = 0; gate < gates; ++gate) packed[tensor.Place(gate, unit)] = row[gate];
  }
}

void Initialise(float* packed, float* work, const WeightTensor& tensor, uint64_t seed, uint64_t number) {
  const auto uniform = [&](double limit) {
    RandomSequence random(seed, number);
    for (int64_t row = 0; row < tensor.rows; ++row) {
      for (int64_t column = 0; column < tensor.columns; ++column) {
        packed[tensor.Place(row, column)] = static_cast<float>((2.0 * static_cast<double>(random.Unit()) - 1.0) * limit);
      }
    }
  };
  switch (tensor.start) {
    case WeightStart::Zero:
      return;
    case WeightStart::One:
      for (int64_t row = 0; row < tensor.rows; ++row) packed[tensor.Place(row, 0)] = 1.0f;
      return;
    case WeightStart::GlorotUniform:
      return uniform(std::sqrt(6.0 / static_cast<double>(tensor.rows + tensor.columns)));
    case WeightStart::SmallUniform:
      return uniform(0.05);
    case WeightStart::Orthogonal:
      return MakeOrthogonal(packed, work, tensor, seed, number);
    case WeightStart::ForgetOne: {
      const int64_t units = tensor.rows / 4;
      for (int64_t unit = 0; unit < units; ++unit) packed[tensor.Place(units + unit, 0)] = 1.0f;
      return;
    }
  }
}

}  // namespace

std::vector<int64_t> WeightPlace::shape() const {
  if (tensor.vector) return {tensor.rows};
  return {tensor.rows, tensor.columns};
}

std::vector<WeightPlace> WeightPlaces(const Network& network) {
  std::vector<WeightPlace> places;
  for (int layer = 0; layer < network.layers(); ++layer) {
    for (WeightTensor& tensor : network.layer(layer).Weights()) {
      places.push_back({network.name(layer) + "." + tensor.name, layer, std::move(tensor)});
    }
  }
  return places;
}

void GatherWeights(float* out, const float* packed, const WeightTensor& tensor, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = packed[tensor.Place((first + i) / tensor.columns, (first + i) % tensor.columns)];
  }
}

void ScatterWeights(float* packed, const float* in, const WeightTensor& tensor, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    packed[tensor.Place((first + i) / tensor.columns, (first + i) % tensor.columns)] = in[i];
  }
}

void InitialiseWeights(const Network& network, const NetworkMemory& memory, uint64_t seed) {
  for (int layer = 0; layer < network.layers(); ++layer) {
    const OwnerMemory& owner = memory.layer(layer);
    if (owner.Has(kWeights)) std::memset(owner.F32(kWeights), 0, static_cast<size_t>(owner.bytes(kWeights)));
  }
  uint64_t number = 0;
  for (const WeightPlace& place : WeightPlaces(network)) {
    const OwnerMemory& owner = memory.layer(place.layer);
    Initialise(owner.F32(kWeights), owner.F32(kGradient), place.tensor, SeedFor(seed, RandomUse::Weights), number++);
  }
}

}  // namespace plimsoll
