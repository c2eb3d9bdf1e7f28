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

// What brings a gradient of this norm down to the bound.
float ScaleTo(double bound, double squares) {
  const double norm = std::sqrt(squares);
  return norm > bound ? static_cast<float>(bound / norm) : 1.0f;
}

}  // namespace

Optimizer::Optimizer(const TrainOptions& options, const Network& network, const NetworkMemory& memory, ThreadPool& pool)
    : options_(options), network_(network), memory_(memory), pool_(pool), moments_(MomentsOf(options)) {
  for (int layer = 0; layer < network.layers(); ++layer) {
    std::vector<Part>& parts = parts_.emplace_back();
    if (!memory.layer(layer).Has(kGradient)) continue;
    const std::vector<WeightTensor> tensors = network.layer(layer).Weights();
    const std::vector<PackedSpan> spans = PackedSpans(tensors, Floats(memory.layer(layer)));
    for (size_t i = 0; i < tensors.size(); ++i) {
      parts.push_back({.span = spans[i], .decays = !tensors[i].vector});
      if (memory.layer(layer).Has(kTouched)) parts.back().row_floats = tensors[i].stride;
    }
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

double Optimizer::SquareSum(int layer, const PackedSpan& span) const {
  const float* gradient = memory_.layer(layer).F32(kGradient) + span.begin;
  const int64_t floats = span.end - span.begin, chunks = (floats + kSumChunk - 1) / kSumChunk;
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
    const double sum = SquareSum(layer, {0, Floats(memory_.layer(layer))});
    if (!std::isfinite(sum)) {
      return Status::Diverged(
          fmt::format("the gradient of layer '{}' is not finite at update {}", network_.name(layer), update),
          "lower train.learning_rate or set train.clip_norm (1.0 is usual)");
    }
    squares += sum;
    if (options_.clip_tensor_norm == 0.0) continue;
    for (Part& part : parts_[static_cast<size_t>(layer)]) {
      part.scale = ScaleTo(options_.clip_tensor_norm, SquareSum(layer, part.span));
    }
  }
  const auto power = static_cast<double>(update);
  const double alpha =
      learning_rate * std::sqrt(1.0 - std::pow(options_.beta_2, power)) / (1.0 - std::pow(options_.beta_1, power));
  const bool decays = options_.optimizer == OptimizerKind::AdamW;
  Pace pace{.rate = static_cast<float>(learning_rate),
            .alpha = static_cast<float>(alpha),
            .decay = decays ? static_cast<float>(learning_rate * options_.weight_decay) : 0.0f,
            .clip = {}};
  if (options_.clip_norm > 0.0) pace.clip.scale = ScaleTo(options_.clip_norm, squares);
  if (options_.clip_value > 0.0) pace.clip.bound = static_cast<float>(options_.clip_value);
  for (int layer = 0; layer < network_.layers(); ++layer) {
    if (!memory_.layer(layer).Has(kGradient)) continue;
    pool_.Run([&](int part) {
      const Share share = ShareOf(Floats(memory_.layer(layer)), part, pool_.size(), 1024);
      for (const Part& tensor : parts_[static_cast<size_t>(layer)]) {
        Pace own = pace;
        if (!tensor.decays) own.decay = 0.0f;
        own.clip.scale *= tensor.scale;
        const int64_t begin = std::clamp(tensor.span.begin, share.begin, share.end);
        const int64_t end = std::clamp(tensor.span.end, share.begin, share.end);
        if (tensor.row_floats > 0) {
          MoveTouched(layer, begin, end, tensor.row_floats, own);
        } else {
          MoveAndLook(layer, begin, end, own);
        }
      }
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

// Of weights [begin, end) of a table: those in rows that the batch has looked up.
void Optimizer::MoveTouched(int layer, int64_t begin, int64_t end, int64_t row_floats, const Pace& pace) {
  const uint64_t* touched = memory_.layer(layer).U64(kTouched);
  for (int64_t at = begin; at < end;) {
    const int64_t row = at / row_floats, next = std::min(end, (row + 1) * row_floats);
    if ((touched[row / 64] >> row % 64 & 1) != 0) MoveAndLook(layer, at, next, pace);
    at = next;
  }
}

void Optimizer::MoveAndLook(int layer, int64_t begin, int64_t end, const Pace& pace) {
  constexpr int64_t kFloatsAtOnce = 2048;
  const OwnerMemory& moments = memory_.owner(NetworkOwner::Optimizer);
  for (int64_t at = begin; at < end; at += kFloatsAtOnce) {
    const int64_t next = std::min(end, at + kFloatsAtOnce);
    Move(layer, at, next, pace);
    bool finite = all_finite(memory_.layer(layer).F32(kWeights) + at, next - at);
    for (int moment = 0; moment < moments_; ++moment) {
      finite = finite && all_finite(moments.F32(MomentKey(layer, moment)) + at, next - at);
    }
    if (finite) continue;
    int first = not_finite_;
    while (layer < first && !not_finite_.compare_exchange_weak(first, layer)) {
    }
  }
}

Status Optimizer::CheckFinite(int64_t update) const {
  if (not_finite_ == kNone) return Status::Ok();
  return Status::Diverged(
      fmt::format("the weights or moments of layer '{}' are not finite after update {}", network_.name(not_finite_), update),
      "lower train.learning_rate or set train.clip_norm (1.0 is usual)");
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
    case OptimizerKind::LazyAdam:
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
