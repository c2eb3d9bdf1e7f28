#include "infer/scorer.h"

#include <algorithm>
#include <span>

#include "plimsoll/custom.h"

namespace plimsoll {
namespace {

constexpr int64_t kScoredTrainingSamples = 1024;  // without validation data

// Hands the outputs of a score to the job's own metric and to the table of classes, while it stands.
class Sink final : public OutputSink {
 public:
  Sink(CustomMetric* metric, std::span<int64_t> confusion, const Spec& spec, Step& step)
      : metric_(metric), confusion_(confusion), spec_(spec), step_(step) {
    if (metric_ != nullptr) metric_->Start();
    std::fill(confusion_.begin(), confusion_.end(), 0);
    if (wanted()) step_.SetOutputSink(this);
  }
  ~Sink() override {
    if (wanted()) step_.SetOutputSink(nullptr);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void Rows(size_t /*output*/, const RowGroup& group, int64_t first, int64_t count, const float* outputs,
            int64_t stride) override {
    const auto width = static_cast<size_t>(spec_.output().width);
    for (int64_t row = 0; row < count; ++row) {
      const int64_t item = first + row;
      const std::span<const float> y(outputs + row * stride, width);
      if (!confusion_.empty()) {
        const auto largest = static_cast<size_t>(std::max_element(y.begin(), y.end()) - y.begin());
        ++confusion_[static_cast<size_t>(group.targets[0].classes[item]) * width + largest];
      }
      if (metric_ == nullptr) continue;
      if (spec_.output().class_targets()) {
        metric_->Item(y, group.targets[0].classes[item], {});
      } else {
        metric_->Item(y, -1, {group.targets[0].values + item * spec_.output().width, width});
      }
    }
  }

 private:
  bool wanted() const { return metric_ != nullptr || !confusion_.empty(); }
  CustomMetric* metric_;
  std::span<int64_t> confusion_;
  const Spec& spec_;
  Step& step_;
};

}  // namespace

Score ToScore(const StepSums& sums, const Spec& spec) {
  Score score{.loss = sums.MeanLoss(spec)};
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const OutputSums& own = sums.outputs[i];
    const auto items = static_cast<double>(own.items);
    const bool judged = spec.outputs[i].class_targets() && spec.outputs[i].loss != Loss::Ctc;
    score.outputs[i] = {.loss = own.loss / items, .accuracy = judged ? own.hits / items : -1.0};
    score.items += own.items;
  }
  const OutputSums& first = sums.outputs[0];
  if (first.labels > 0) score.label_error_rate = static_cast<double>(first.label_errors) / static_cast<double>(first.labels);
  if (spec.outputs.size() == 1) score.accuracy = score.outputs[0].accuracy;
  return score;
}

Result<Score> ScoreSamples(Setup& setup, Engine& engine, ScoredPart part, int64_t count, const ScoreWatch& watch) {
  Samples* samples = part == ScoredPart::ValidationFile ? setup.valid.get() : setup.samples.get();
  Batch batch(samples, engine.batch_buffers(CarriedBy::Scores), setup.plan.group_rows, setup.network->spec().reversed);
  int64_t* numbers = engine.memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  const int64_t batch_size = std::min(setup.job.train.batch_size, setup.samples->count());
  CustomMetric* metric = setup.job.train.custom_metric.get();
  const Sink sink(metric, watch.confusion, setup.network->spec(), engine.step);
  StepSums sums;
  for (int64_t place = 0; place < count; place += batch_size) {
    if (setup.stop != nullptr && *setup.stop != StatusKind::Ok)
      return Status(*setup.stop, {.message = "stopped while scoring", .hint = ""});
    const int64_t now = std::min(batch_size, count - place);
    for (int64_t i = 0; i < now; ++i) {
      switch (part) {
        case ScoredPart::Training:
          numbers[i] = setup.split->train(place + i);
          break;
        case ScoredPart::ValidationShare:
          numbers[i] = setup.split->valid(place + i);
          break;
        case ScoredPart::ValidationFile:
          numbers[i] = place + i;
          break;
      }
    }
    batch.Start(numbers, now, place / batch_size + 1);
    for (int64_t group = 0; group < batch.groups(); ++group) {
      const Result<RowGroup> rows = batch.Read(group);
      if (!rows.ok()) return rows.status();
      engine.step.EvaluateGroup(rows.value(), sums);
    }
    if (watch.observer != nullptr) watch.observer->Work({.what = "validation", .done = place + now, .total = count});
  }
  Score score = ToScore(sums, setup.network->spec());
  score.loss += engine.penalty.Value();
  if (metric != nullptr) score.metric = metric->Value();
  return score;
}

Result<Score> ScoreRun(Setup& setup, Engine& engine, const ScoreWatch& watch) {
  if (setup.valid != nullptr) return ScoreSamples(setup, engine, ScoredPart::ValidationFile, setup.valid->count(), watch);
  if (setup.split->valid_count() > 0)
    return ScoreSamples(setup, engine, ScoredPart::ValidationShare, setup.split->valid_count(), watch);
  return ScoreSamples(setup, engine, ScoredPart::Training, std::min(kScoredTrainingSamples, setup.split->train_count()), watch);
}

}  // namespace plimsoll
