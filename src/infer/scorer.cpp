#include "infer/scorer.h"

#include <algorithm>
#include <span>

#include "infer/examples.h"
#include "infer/place_walk.h"
#include "plimsoll/custom.h"

namespace plimsoll {
namespace {

constexpr int64_t kScoredTrainingSamples = 1024;  // without validation data

// Hands the outputs of a score to its metrics, to the job's own one, to the table of classes and to the examples, while it
// stands.
class Sink final : public OutputSink {
 public:
  Sink(const Setup& setup, const Samples& samples, Metrics& metrics, std::span<int64_t> confusion, ExamplePicker& examples,
       Step& step)
      : plan_(setup.metrics),
        samples_(samples),
        metrics_(metrics),
        own_(setup.job.train.custom_metric.get()),
        confusion_(confusion),
        examples_(examples),
        output_(setup.network->spec().output()),
        step_(step) {
    if (own_ != nullptr) own_->Start();
    metrics_.Start();
    std::fill(confusion_.begin(), confusion_.end(), 0);
    if (wanted()) step_.SetOutputSink(this);
  }
  ~Sink() override {
    if (wanted()) step_.SetOutputSink(nullptr);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void Rows(size_t output, const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) override {
    if (output > 0) return;
    if (examples_.wanted()) examples_.Rows(group, first, count, outputs, stride);
    if (!counts()) return;
    const auto width = static_cast<size_t>(output_.width);
    const bool entities = plan_.counts_entities() && output_.loss != Loss::Crf;
    if (entities) walk_.Go(group, first);
    for (int64_t row = 0; row < count; ++row) {
      const int64_t item = first + row;
      const std::span<const float> y(outputs + row * stride, width);
      if (output_.class_targets()) {
        if (own_ != nullptr) own_->Item(y, group.targets[0].classes[item], {});
        if (output_.loss != Loss::Crf && output_.loss != Loss::Ctc) Class(y, group.targets[0].classes[item]);
      } else {
        const float* values = group.targets[0].values + item * output_.width;
        if (own_ != nullptr) own_->Item(y, -1, {values, width});
        if (plan_.of == MetricPlan::Of::Labels) metrics_.Labels(y.data(), values);
        if (plan_.of == MetricPlan::Of::Values)
          metrics_.Values(y.data(), values, [&](int64_t column) { return samples_.target_unit(column); });
      }
      if (!entities) continue;
      Tag(group, walk_.place(), Largest(y), group.targets[0].classes[item]);
      walk_.Next(group);
    }
  }
  void Decoded(const RowGroup& group, int64_t row, int64_t step, int64_t item, int32_t tag) override {
    const int32_t wanted = group.targets[0].classes[item];
    metrics_.Decided(tag, wanted);
    Confuse(tag, wanted);
    if (plan_.counts_entities()) Tag(group, {row, step}, tag, wanted);
    if (examples_.wanted()) examples_.Decoded(group, row, step, tag);
  }

 private:
  static int32_t Largest(std::span<const float> y) {
    return static_cast<int32_t>(std::max_element(y.begin(), y.end()) - y.begin());
  }
  void Class(std::span<const float> y, int32_t wanted) {
    if (plan_.looks_at_items()) metrics_.Class(y.data(), wanted);
    if (!confusion_.empty()) Confuse(Largest(y), wanted);
  }
  void Confuse(int32_t given, int32_t wanted) {
    if (!confusion_.empty()) ++confusion_[static_cast<size_t>(wanted * output_.width + given)];
  }
  void Tag(const RowGroup& group, const RowGroup::Place& place, int32_t given, int32_t wanted) {
    metrics_.Tag(place.row, place.step == 0, place.step + 1 == group.lengths[place.row], given, wanted);
  }
  bool counts() const { return own_ != nullptr || plan_.looks_at_items() || !confusion_.empty(); }
  bool wanted() const { return counts() || examples_.wanted(); }

  const MetricPlan& plan_;
  const Samples& samples_;
  Metrics& metrics_;
  CustomMetric* own_;
  std::span<int64_t> confusion_;
  ExamplePicker& examples_;
  const ModelOutput& output_;
  Step& step_;
  PlaceWalk walk_;
};

}  // namespace

Score ToScore(const StepSums& sums, const Setup& setup) {
  const Spec& spec = setup.network->spec();
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
  AddLossMetrics(score, setup.metrics, first.loss / static_cast<double>(first.items));
  return score;
}

Result<Score> ScoreSamples(Setup& setup, Engine& engine, ScoredPart part, int64_t count, const ScoreWatch& watch) {
  Samples* samples = part == ScoredPart::ValidationFile ? setup.valid.get() : setup.samples.get();
  Batch batch(samples, engine.batch_buffers(CarriedBy::Scores), setup.plan.group_rows, setup.network->spec().reversed,
              *setup.pool);
  int64_t* numbers = engine.memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  const int64_t batch_size = std::min(setup.job.train.batch_size, setup.samples->count());
  CustomMetric* metric = setup.job.train.custom_metric.get();
  const OwnerMemory& files = engine.memory.owner(NetworkOwner::Files);
  Metrics metrics(setup.metrics, files.Has(MetricCounts) ? files.Bytes(MetricCounts) : nullptr);
  ExamplePicker examples(watch.examples, setup.network->spec(), count);
  const Sink sink(setup, *samples, metrics, watch.confusion, examples, engine.step);
  const auto number_of = [&](int64_t place) {
    if (part == ScoredPart::ValidationFile) return place;
    return part == ScoredPart::Training ? setup.split->train(place) : setup.split->valid(place);
  };
  StepSums sums;
  for (int64_t place = 0; place < count; place += batch_size) {
    if (setup.stop != nullptr && *setup.stop != StatusKind::Ok)
      return Status(*setup.stop, {.message = "stopped while scoring", .hint = ""});
    const int64_t now = std::min(batch_size, count - place);
    for (int64_t i = 0; i < now; ++i) {
      numbers[i] = number_of(place + i);
      examples.Offer(place + i, numbers[i]);
    }
    const int64_t next = place + now;
    ReadAhead(*samples, std::min(batch_size, count - next), [&](int64_t i) { return number_of(next + i); });
    batch.Start(numbers, now, place / batch_size + 1);
    for (int64_t group = 0; group < batch.groups(); ++group) {
      const Result<RowGroup> rows = batch.Read(group);
      if (!rows.ok()) return rows.status();
      engine.step.EvaluateGroup(rows.value(), sums);
    }
    if (watch.observer != nullptr) watch.observer->Work({.what = watch.what, .done = place + now, .total = count});
  }
  Score score = ToScore(sums, setup);
  metrics.AddTo(score);
  if (watch.classes != nullptr) watch.classes->assign(metrics.classes().begin(), metrics.classes().end());
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
