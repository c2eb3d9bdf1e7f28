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

// Orthonormal vectors along the longer side of the tensor, as many as the shorter has, as Keras makes them. A recurrent kernel
// of [units, gates * units] has orthonormal rows there, which are the columns of our canonical [gates * units, units].
// Gram-Schmidt on random vectors. Where they are a part of what the space holds, one pass is exact to rounding; where they
// fill it (one gate), little of the last ones is left behind the first pass, and a second one mends what it rounded.
// work: [shorter][longer].
void MakeOrthogonal(float* packed, float* work, const WeightTensor& tensor, RandomSequence& random) {
  const bool tall = tensor.rows >= tensor.columns;
  const int64_t longer = tall ? tensor.rows : tensor.columns, shorter = tall ? tensor.columns : tensor.rows;
  for (int64_t number = 0; number < shorter; ++number) {
    float* row = work + number * longer;
    for (int64_t i = 0; i < longer; ++i) row[i] = random.Normal();
    for (int pass = 0; pass < (2 * shorter > longer ? 2 : 1); ++pass) {
      for (int64_t other = 0; other < number; ++other) {
        const float* before = work + other * longer;
        const auto product = static_cast<float>(Dot(row, before, longer));
        for (int64_t i = 0; i < longer; ++i) row[i] -= product * before[i];
      }
      const auto scale = static_cast<float>(1.0 / std::sqrt(Dot(row, row, longer)));
      for (int64_t i = 0; i < longer; ++i) row[i] *= scale;
    }
    for (int64_t i = 0; i < longer; ++i) packed[tall ? tensor.Place(i, number) : tensor.Place(number, i)] = row[i];
  }
}

// Inputs and outputs of a tensor as Keras counts them: a vector has its length of each.
struct Fans {
  double in = 0.0;
  double out = 0.0;
};
Fans FansOf(const WeightTensor& tensor) {
  const auto rows = static_cast<double>(tensor.rows), columns = static_cast<double>(tensor.columns);
  if (tensor.vector) return {rows, rows};
  return tensor.rows_are_inputs ? Fans{rows, columns} : Fans{columns, rows * static_cast<double>(tensor.taps)};
}

// Of normal numbers that are drawn again beyond 2: their deviation.
constexpr double kTruncatedDeviation = 0.87962566103423978;
constexpr double kSmall = 0.05;  // range or deviation of the plain random ones

void Draw(float* packed, float* work, const WeightTensor& tensor, uint64_t seed, uint64_t number) {
  RandomSequence random(seed, number);
  const Fans fans = FansOf(tensor);
  const auto fill = [&](const auto& next) {
    for (int64_t row = 0; row < tensor.rows; ++row) {
      for (int64_t column = 0; column < tensor.columns; ++column) {
        packed[tensor.Place(row, column)] = static_cast<float>(next());
      }
    }
  };
  const auto uniform = [&](double limit) { fill([&] { return (2.0 * static_cast<double>(random.Unit()) - 1.0) * limit; }); };
  const auto truncated = [&](double deviation) {
    fill([&] {
      double drawn = random.Normal();
      while (std::abs(drawn) > 2.0) drawn = random.Normal();
      return drawn * deviation;
    });
  };
  switch (tensor.rule.start) {
    case Initializer::GlorotUniform:
      return uniform(std::sqrt(6.0 / (fans.in + fans.out)));
    case Initializer::GlorotNormal:
      return truncated(std::sqrt(2.0 / (fans.in + fans.out)) / kTruncatedDeviation);
    case Initializer::HeUniform:
      return uniform(std::sqrt(6.0 / fans.in));
    case Initializer::HeNormal:
      return truncated(std::sqrt(2.0 / fans.in) / kTruncatedDeviation);
    case Initializer::LecunUniform:
      return uniform(std::sqrt(3.0 / fans.in));
    case Initializer::LecunNormal:
      return truncated(std::sqrt(1.0 / fans.in) / kTruncatedDeviation);
    case Initializer::Orthogonal:
      return MakeOrthogonal(packed, work, tensor, random);
    case Initializer::RandomUniform:
      return uniform(kSmall);
    case Initializer::RandomNormal:
      return fill([&] { return static_cast<double>(random.Normal()) * kSmall; });
    case Initializer::TruncatedNormal:
      return truncated(kSmall);
    case Initializer::Zeros:
      return;
    case Initializer::Ones:
      return fill([] { return 1.0; });
    case Initializer::Identity:
      for (int64_t i = 0; i < std::min(tensor.rows, tensor.columns); ++i) packed[tensor.Place(i, i)] = 1.0f;
      return;
  }
}

void Initialise(float* packed, float* work, const WeightTensor& tensor, uint64_t seed, uint64_t number) {
  Draw(packed, work, tensor, seed, number);
  if (!tensor.forget_one) return;
  const int64_t units = tensor.rows / 4;
  for (int64_t unit = 0; unit < units; ++unit) packed[tensor.Place(units + unit, 0)] = 1.0f;
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
      places.push_back({network.name(layer) + "." + tensor.name, layer, std::move(tensor), network.learns(layer)});
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
    const OwnerMemory& files = memory.owner(NetworkOwner::Files);
    float* work = place.learns ? owner.F32(kGradient) : files.Has(StartRows) ? files.F32(StartRows) : nullptr;
    Initialise(owner.F32(kWeights), work, place.tensor, SeedFor(seed, RandomUse::Weights), number++);
  }
}

}  // namespace plimsoll
