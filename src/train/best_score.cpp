#include "train/best_score.h"

#include "base/check.h"

namespace plimsoll {
namespace {

Monitor Resolved(const TrainOptions& options, const ScoreFacts& facts) {
  if (options.monitor != Monitor::Auto) return options.monitor;
  return facts.valid ? Monitor::ValLoss : Monitor::Loss;
}

}  // namespace

Status BestScore::Check(const TrainOptions& options, const ScoreFacts& facts) {
  const Monitor monitor = options.monitor;
  const bool of_valid = monitor == Monitor::ValLoss || monitor == Monitor::ValAccuracy || monitor >= Monitor::ValLabelErrorRate;
  if (of_valid && !facts.valid)
    return Status::Usage("train.monitor: a score of validation, and the job has no validation data",
                         "set data.valid to a share or a file, or monitor loss");
  if ((monitor == Monitor::Accuracy || monitor == Monitor::ValAccuracy) && !facts.classes)
    return Status::Usage("train.monitor: the job's scores have no accuracy", "monitor val_loss");
  if (monitor == Monitor::ValLabelErrorRate && !facts.labels)
    return Status::Usage("train.monitor: a label error rate is a score of the loss ctc alone", "monitor val_loss");
  return Status::Ok();
}

BestScore::BestScore(const TrainOptions& options, const ScoreFacts& facts)
    : monitor_(Resolved(options, facts)), patience_(options.patience), min_delta_(options.min_delta) {}

double BestScore::ValueOf(const EpochReport& report) const {
  switch (monitor_) {
    case Monitor::Auto:
    case Monitor::Loss:
      return report.train.loss;
    case Monitor::Accuracy:
      return -report.train.accuracy;
    case Monitor::ValLoss:
      return report.valid.loss;
    case Monitor::ValAccuracy:
      return -report.valid.accuracy;
    case Monitor::ValLabelErrorRate:
      return report.valid.label_error_rate;
    case Monitor::FirstMetric:
      break;
  }
  const Metric metric = *MetricOf(monitor_);
  const double* value = report.valid.metrics.Find(metric);
  PLIMSOLL_CHECK(value != nullptr, "what is monitored is among the metrics");
  return FactsOf(metric).lower_is_better ? *value : -*value;
}

bool BestScore::EpochEnded(int64_t epoch, double value) {
  const bool better = IsBetter(value);
  if (better) {
    state_ = {.best = value, .epoch = epoch, .waited = 0};
  } else {
    ++state_.waited;
  }
  return better;
}

}  // namespace plimsoll
