#include "train/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/pointwise.h"
#include "model/train_options.h"

namespace plimsoll {
namespace {

int64_t Floats(const OwnerMemory& memory) { return memory.bytes(kGradient) / static_cast<int64_t>(sizeof(float)); }

// Biases lie behind all other weights of a layer.
int64_t FirstBias(const Layer& layer, int64_t floats) {
  const std::vector<WeightTensor> tensors = layer.Weights();
  int64_t first = floats;
  for (const WeightTensor& tensor : tensors) {
    if (tensor.vector) first = std::min(first, tensor.offset);
  }
  for (const WeightTensor& tensor : tensors) {
    PLIMSOLL_CHECK(tensor.vector || tensor.offset < first, "a layer's biases are its last weights");
  }
  return first;
}

}  // namespace

Optimizer::Optimizer(const TrainOptions& options, const Network& network, const NetworkMemory& memory, ThreadPool& pool)
    : options_(options), network_(network), memory_(memory), pool_(pool), moments_(MomentsOf(options)) {
  for (int layer = 0; layer < network.layers(); ++layer) {
    const OwnerMemory& own = memory.layer(layer);
    first_bias_.push_back(own.Has(kGradient) ? FirstBias(network.layer(layer), Floats(own)) : 0);
  }
}

void Optimizer::Start() {
  const float start =
      options_.optimizer == OptimizerKind::Adagrad ? static_cast<float>(options_.initial_accumulator_value) : 0.0f;
  const OwnerMemory& moments = memory_.owner(NetworkOwner::Optimizer);
  for (int layer = 0; layer < network_.layers(); ++layer) {
    if (!memory_.layer(layer).Has(kGradient)) continue;
    for (int moment = 0; moment < moments_; ++moment) {
      std::fill_n(moments.F32(MomentKey(layer, moment)), Floats(memory_.layer(layer)), start);
    }
    if (options_.use_ema) {
      std::copy_n(memory_.layer(layer).F32(kWeights), Floats(memory_.layer(layer)), moments.F32(MomentKey(layer, kAverage)));
    }
  }
}

double Optimizer::SquareSum(int layer) const {
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

Status Optimizer::Update(int64_t update, double learning_rate) {
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
  const auto power = static_cast<double>(update);
  const double alpha =
      learning_rate * std::sqrt(1.0 - std::pow(options_.beta_2, power)) / (1.0 - std::pow(options_.beta_1, power));
  const bool decays = options_.optimizer == OptimizerKind::AdamW;
  Pace pace{.rate = static_cast<float>(learning_rate),
            .alpha = static_cast<float>(alpha),
            .decay = decays ? static_cast<float>(learning_rate * options_.weight_decay) : 0.0f,
            .clip = {}};
  const double norm = std::sqrt(squares);
  if (options_.clip_norm > 0.0 && norm > options_.clip_norm) pace.clip.scale = static_cast<float>(options_.clip_norm / norm);
  if (options_.clip_value > 0.0) pace.clip.bound = static_cast<float>(options_.clip_value);
  for (int layer = 0; layer < network_.layers(); ++layer) {
    if (!memory_.layer(layer).Has(kGradient)) continue;
    pool_.Run([&](int part) {
      const Share share = ShareOf(Floats(memory_.layer(layer)), part, pool_.size(), 1024);
      const int64_t bias = std::clamp(first_bias_[static_cast<size_t>(layer)], share.begin, share.end);
      Pace without_decay = pace;
      without_decay.decay = 0.0f;
      Move(layer, share.begin, bias, pace);
      Move(layer, bias, share.end, without_decay);
      if (!options_.use_ema) return;
      // The first weights that were trained at all are the first average, as in Keras.
      average_update(memory_.owner(NetworkOwner::Optimizer).F32(MomentKey(layer, kAverage)) + share.begin,
                     memory_.layer(layer).F32(kWeights) + share.begin, share.end - share.begin,
                     update == 1 ? 0.0f : static_cast<float>(options_.ema_momentum));
    });
  }
  return Status::Ok();
}

void Optimizer::SwapAverages() {
  if (!options_.use_ema) return;
  for (int layer = 0; layer < network_.layers(); ++layer) {
    if (!memory_.layer(layer).Has(kGradient)) continue;
    float* weights = memory_.layer(layer).F32(kWeights);
    std::swap_ranges(weights, weights + Floats(memory_.layer(layer)),
                     memory_.owner(NetworkOwner::Optimizer).F32(MomentKey(layer, kAverage)));
  }
}

// Weights [begin, end) of a layer.
void Optimizer::Move(int layer, int64_t begin, int64_t end, const Pace& pace) const {
  const OwnerMemory& memory = memory_.layer(layer);
  const OwnerMemory& moments = memory_.owner(NetworkOwner::Optimizer);
  const auto moment = [&](int number) { return moments.F32(MomentKey(layer, number)) + begin; };
  float* weights = memory.F32(kWeights) + begin;
  const float* gradient = memory.F32(kGradient) + begin;
  const int64_t count = end - begin;
  const auto epsilon = static_cast<float>(options_.epsilon);
  switch (options_.optimizer) {
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW:
      return adam_update(weights, moment(0), moment(1), gradient, count,
                         {.alpha = pace.alpha,
                          .beta_1 = static_cast<float>(options_.beta_1),
                          .beta_2 = static_cast<float>(options_.beta_2),
                          .epsilon = epsilon,
                          .decay = pace.decay},
                         pace.clip);
    case OptimizerKind::Sgd:
      if (moments_ == 0) return sgd_update(weights, gradient, count, pace.rate, pace.clip);
      return momentum_update(
          weights, moment(0), gradient, count,
          {.rate = pace.rate, .momentum = static_cast<float>(options_.momentum), .nesterov = options_.nesterov}, pace.clip);
    case OptimizerKind::RmsProp:
      return rmsprop_update(weights, moment(0), gradient, count,
                            {.rate = pace.rate, .rho = static_cast<float>(options_.rho), .epsilon = epsilon}, pace.clip);
    case OptimizerKind::Adagrad:
      return adagrad_update(weights, moment(0), gradient, count, {.rate = pace.rate, .epsilon = epsilon}, pace.clip);
  }
}

}  // namespace plimsoll
