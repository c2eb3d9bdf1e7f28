#include "model/train_options.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "plimsoll/text.h"

namespace plimsoll {
namespace {

// A setting that only some choices have.
struct OwnSetting {
  std::string_view key;
  double TrainOptions::*member;
  bool chosen;
  std::string_view of;
};

}  // namespace

double LearningRateOf(const TrainOptions& options) {
  return options.learning_rate.value_or(options.optimizer == OptimizerKind::Sgd ? 0.01 : 0.001);
}

int MomentsOf(const TrainOptions& options) {
  switch (options.optimizer) {
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW:
    case OptimizerKind::LazyAdam:
      return 2;
    case OptimizerKind::Sgd:
      return options.momentum > 0.0 ? 1 : 0;
    case OptimizerKind::RmsProp:
    case OptimizerKind::Adagrad:
      return 1;
  }
  __builtin_unreachable();
}

Result<SaveInterval> ReadSaveInterval(const std::string& text) {
  constexpr int64_t kMostUpdates = 1'000'000'000'000;
  SaveInterval interval;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, interval.updates);
  if (error == std::errc() && stop == end && interval.updates >= 0 && interval.updates <= kMostUpdates) return interval;
  const Result<double> seconds = ReadDuration(text);
  const bool number = error == std::errc() && stop == end;
  if (number || !seconds.ok() || seconds.value() <= 0.0)
    return Status::Usage(fmt::format("wanted a stretch of time such as 10m, or a number of updates, got {}", text));
  return SaveInterval{.seconds = seconds.value(), .updates = 0};
}

bool RestoresBest(const TrainOptions& options) { return options.restore_best.value_or(options.patience > 0); }

Status CheckTrainOptions(const TrainOptions& options) {
  using T = TrainOptions;
  const OptimizerKind kind = options.optimizer;
  const bool sgd = kind == OptimizerKind::Sgd;
  const bool adam = kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW || kind == OptimizerKind::LazyAdam;
  const LrSchedule schedule = options.lr_schedule;
  const bool decays = schedule == LrSchedule::Step || schedule == LrSchedule::Exponential;
  const std::array settings = {
      OwnSetting{"beta_1", &T::beta_1, adam, "optimizers adam, adamw and lazy_adam"},
      OwnSetting{"beta_2", &T::beta_2, adam, "optimizers adam, adamw and lazy_adam"},
      OwnSetting{"epsilon", &T::epsilon, !sgd, "optimizers adam, adamw, lazy_adam, rmsprop and adagrad"},
      OwnSetting{"weight_decay", &T::weight_decay, kind == OptimizerKind::AdamW, "optimizer adamw"},
      OwnSetting{"momentum", &T::momentum, sgd, "optimizer sgd"},
      OwnSetting{"rho", &T::rho, kind == OptimizerKind::RmsProp, "optimizer rmsprop"},
      OwnSetting{"initial_accumulator_value", &T::initial_accumulator_value, kind == OptimizerKind::Adagrad,
                 "optimizer adagrad"},
      OwnSetting{"lr_end_factor", &T::lr_end_factor,
                 schedule == LrSchedule::Linear || schedule == LrSchedule::Cosine || schedule == LrSchedule::Polynomial,
                 "lr_schedule linear, cosine and polynomial"},
      OwnSetting{"lr_power", &T::lr_power, schedule == LrSchedule::Polynomial, "lr_schedule polynomial"},
      OwnSetting{"plateau_factor", &T::plateau_factor, schedule == LrSchedule::Plateau, "lr_schedule plateau"},
      OwnSetting{"plateau_min_delta", &T::plateau_min_delta, schedule == LrSchedule::Plateau, "lr_schedule plateau"},
      OwnSetting{"plateau_min_lr", &T::plateau_min_lr, schedule == LrSchedule::Plateau, "lr_schedule plateau"},
      OwnSetting{"lr_decay_rate", &T::lr_decay_rate, decays, "lr_schedule step and exponential"},
  };
  const TrainOptions defaults;
  for (const OwnSetting& setting : settings) {
    if (setting.chosen || options.*setting.member == defaults.*setting.member) continue;
    return Status::Usage(fmt::format("train.{} = {}: a setting of {} alone", setting.key, options.*setting.member, setting.of),
                         "leave it out, or choose what it belongs to");
  }
  if (!options.use_ema && options.ema_momentum != defaults.ema_momentum) {
    return Status::Usage(fmt::format("train.ema_momentum = {}: a setting of use_ema = true alone", options.ema_momentum),
                         "leave it out, or set train.use_ema = true");
  }
  if (options.nesterov && !(sgd && options.momentum > 0.0)) {
    return Status::Usage("train.nesterov = true: a setting of optimizer sgd with momentum alone",
                         "leave it out, or set train.momentum (0.9 is usual)");
  }
  if (options.plateau_patience != defaults.plateau_patience && schedule != LrSchedule::Plateau) {
    return Status::Usage(
        fmt::format("train.plateau_patience = {}: a setting of lr_schedule plateau alone", options.plateau_patience),
        "leave it out, or choose what it belongs to");
  }
  if (options.min_delta != defaults.min_delta && options.patience == 0 && !RestoresBest(options)) {
    return Status::Usage(fmt::format("train.min_delta = {}: a setting of patience alone", options.min_delta),
                         "leave it out, or set train.patience");
  }
  if (const Result<SaveInterval> interval = ReadSaveInterval(options.save_every); !interval.ok())
    return Status::Usage("train.save_every: " + interval.status().message());
  if (options.keep < 2) return Status::Usage(fmt::format("train.keep = {}: wanted at least 2", options.keep));
  if (options.lr_decay_steps != 0 && !decays) {
    return Status::Usage(
        fmt::format("train.lr_decay_steps = {}: a setting of lr_schedule step and exponential alone", options.lr_decay_steps),
        "leave it out, or choose what it belongs to");
  }
  const std::pair<std::string_view, double> clips[] = {
      {"clip_norm", options.clip_norm}, {"clip_value", options.clip_value}, {"clip_tensor_norm", options.clip_tensor_norm}};
  const std::pair<std::string_view, double>* chosen = nullptr;
  for (const auto& clip : clips) {
    if (clip.second == 0.0) continue;
    if (chosen != nullptr) {
      return Status::Usage(fmt::format("train.{} = {} and train.{} = {}: a gradient is clipped by one of them", chosen->first,
                                       chosen->second, clip.first, clip.second),
                           "set the other to 0");
    }
    chosen = &clip;
  }
  return Status::Ok();
}

}  // namespace plimsoll
