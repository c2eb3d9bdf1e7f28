#include "train/adam.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "kernels/pointwise.h"

namespace plimsoll {
namespace {

int64_t Floats(const OwnerMemory& memory) { return memory.bytes(kGradient) / static_cast<int64_t>(sizeof(float)); }

}  // namespace

void Adam::Start() {
  const OwnerMemory& moments = memory_.owner(NetworkOwner::Optimizer);
  for (int layer = 0; layer < network_.layers(); ++layer) {
    if (!memory_.layer(layer).Has(kGradient)) continue;
    for (const int key : {FirstMoment + 2 * layer, FirstMoment + 2 * layer + 1}) {
      std::memset(moments.F32(key), 0, static_cast<size_t>(moments.bytes(key)));
    }
  }
}

double Adam::SquareSum(int layer) const {
  const float* gradient = memory_.layer(layer).F32(kGradient);
  const int64_t floats = Floats(memory_.layer(layer)), chunks = (floats + kSumChunk - 1) / kSumChunk;
  double* partial = memory_.owner(NetworkOwner::Optimizer).F64(PartialSums);
  pool_.Run([&](int part) {
    const Share share = ShareOf(chunks, part, pool_.size());
    for (int64_t chunk = share.begin; chunk < share.end; ++chunk) {
      partial[chunk] = square_sum(gradient + chunk * kSumChunk, std::min(kSumChunk, floats - chunk * kSumChunk));
    }
  });
  double sum = 0.0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk];
  return sum;
}

Status Adam::Update(int64_t update) {
  double squares = 0.0;
  for (int layer = 0; layer < network_.layers(); ++layer) {
    if (!memory_.layer(layer).Has(kGradient)) continue;
    const double sum = SquareSum(layer);
    if (!std::isfinite(sum)) {
      return Status::Diverged(
          fmt::format("the gradient of layer '{}' is not finite at update {}", network_.name(layer), update),
          "lower train.learning_rate or set train.clip_norm (1.0 is usual)");
    }
    squares += sum;
  }
  const double norm = std::sqrt(squares);
  const bool clip = options_.clip_norm > 0.0 && norm > options_.clip_norm;
  const auto power = static_cast<double>(update);
  const double alpha =
      options_.learning_rate * std::sqrt(1.0 - std::pow(options_.beta_2, power)) / (1.0 - std::pow(options_.beta_1, power));
  const AdamStep step{.alpha = static_cast<float>(alpha),
                      .beta_1 = static_cast<float>(options_.beta_1),
                      .beta_2 = static_cast<float>(options_.beta_2),
                      .epsilon = static_cast<float>(options_.epsilon),
                      .gradient_scale = clip ? static_cast<float>(options_.clip_norm / norm) : 1.0f};
  const OwnerMemory& moments = memory_.owner(NetworkOwner::Optimizer);
  for (int layer = 0; layer < network_.layers(); ++layer) {
    const OwnerMemory& memory = memory_.layer(layer);
    if (!memory.Has(kGradient)) continue;
    pool_.Run([&](int part) {
      const Share share = ShareOf(Floats(memory), part, pool_.size(), 1024);
      adam_update(memory.F32(kWeights) + share.begin, moments.F32(FirstMoment + 2 * layer) + share.begin,
                  moments.F32(FirstMoment + 2 * layer + 1) + share.begin, memory.F32(kGradient) + share.begin,
                  share.end - share.begin, step);
    });
  }
  return Status::Ok();
}

}  // namespace plimsoll
