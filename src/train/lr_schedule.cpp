#include "train/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "model/train_options.h"

namespace plimsoll {
namespace {

constexpr double kInverseSqrtSteps = 10000.0;  // without warm-up
constexpr double kRiseShare = 0.3;             // one_cycle: of the updates
constexpr double kCycleStart = 1.0 / 25.0;     // of the rate
constexpr double kCycleEnd = kCycleStart / 1e4;
constexpr double kDecays = 3.0;  // in a run, where lr_decay_steps is not stated

// From `begin` to `end` along half a cosine; done in [0, 1].
double HalfCosine(double begin, double end, double done) {
  return end + (begin - end) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

// PyTorch's OneCycleLR: the top is at update 0.3 N - 1, the end at N - 1.
double OneCycle(double n, double N) {
  const double top = std::max(kRiseShare * N - 1.0, 0.0);
  if (n < top) return HalfCosine(kCycleStart, 1.0, n / top);
  return HalfCosine(1.0, kCycleEnd, std::min((n - top) / std::max(N - 1.0 - top, 1.0), 1.0));
}

// As a share of the learning rate, n updates behind the warm-up.
double Factor(const TrainOptions& options, double n, double N) {
  const double p = std::min(n / N, 1.0), end = options.lr_end_factor;
  const double decay_steps = options.lr_decay_steps > 0 ? static_cast<double>(options.lr_decay_steps) : N / kDecays;
  switch (options.lr_schedule) {
    case LrSchedule::Constant:
    case LrSchedule::Plateau:
      return 1.0;
    case LrSchedule::Linear:
      return end + (1.0 - end) * (1.0 - p);
    case LrSchedule::Cosine:
      return HalfCosine(1.0, end, p);
    case LrSchedule::Polynomial:
      return end + (1.0 - end) * std::pow(1.0 - p, options.lr_power);
    case LrSchedule::InverseSqrt: {
      const double steps = options.warmup_steps > 0 ? static_cast<double>(options.warmup_steps) : kInverseSqrtSteps;
      return std::sqrt(steps / (n + steps));
    }
    case LrSchedule::Step:
      return std::pow(options.lr_decay_rate, std::floor(n / decay_steps));
    case LrSchedule::Exponential:
      return std::pow(options.lr_decay_rate, n / decay_steps);
    case LrSchedule::OneCycle:
      return OneCycle(n, N);
  }
  __builtin_unreachable();
}

}  // namespace

double LearningRateAt(const TrainOptions& options, int64_t update, int64_t total_updates) {
  const double rate = LearningRateOf(options);
  const int64_t done = update - 1, warmup = options.warmup_steps;
  const auto length = static_cast<double>(std::max<int64_t>(total_updates - warmup, 1));
  if (done < warmup) return rate * Factor(options, 0.0, length) * static_cast<double>(done) / static_cast<double>(warmup);
  return rate * Factor(options, static_cast<double>(done - warmup), length);
}

Plateau::Plateau(const TrainOptions& options)
    : options_(options), state_{.rate = LearningRateOf(options), .best = std::numeric_limits<double>::infinity()} {}

void Plateau::EpochEnded(double value) {
  if (options_.lr_schedule != LrSchedule::Plateau) return;
  if (value < state_.best - options_.plateau_min_delta) {
    state_.best = value;
    state_.waited = 0;
    return;
  }
  if (++state_.waited < options_.plateau_patience) return;
  state_.waited = 0;
  double& rate = state_.rate;
  if (rate > options_.plateau_min_lr) rate = std::max(rate * options_.plateau_factor, options_.plateau_min_lr);
}

}  // namespace plimsoll
