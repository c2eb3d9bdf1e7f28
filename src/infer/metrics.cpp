#include "infer/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"

namespace plimsoll {
namespace {

constexpr int64_t kClassesOfDefault = 1000;  // beyond them nobody looks at a mean over classes unasked

double Ratio(double above, double below) { return below == 0.0 ? 0.0 : above / below; }

bool FollowsFromLoss(Metric metric) { return metric == Metric::Perplexity || metric == Metric::BitsPerCharacter; }
bool IsOfValues(Metric metric) { return metric >= Metric::Mae; }
bool IsOfEntities(Metric metric) { return metric >= Metric::EntityPrecision && metric <= Metric::EntityF1; }
bool IsOfCounts(Metric metric) { return metric >= Metric::Precision && metric <= Metric::F1Micro; }

std::vector<Metric> UsualMetrics(const Job& job, const Spec& spec, const MetricPlan& plan) {
  using Of = MetricPlan::Of;
  const bool nats = spec.output().loss == Loss::SparseCategoricalCrossentropy && spec.label_smoothing == 0.0;
  const TokenKind tokens = job.data.tokens;
  switch (plan.of) {
    case Of::Nothing:
      return {};
    case Of::Classes:
      if (job.task == Task::Lm && !nats) return {};
      if (job.task == Task::Lm && (tokens == TokenKind::Char || tokens == TokenKind::Byte))
        return {Metric::Perplexity, Metric::BitsPerCharacter};
      if (job.task == Task::Lm) return {Metric::Perplexity};
      if (!plan.tags.empty()) return {Metric::EntityF1};
      if (plan.width > kClassesOfDefault) return {};
      return {Metric::F1Macro};
    case Of::Labels:
      return {Metric::F1Micro};
    case Of::Values:
      return {Metric::Mae, job.task == Task::Forecast ? Metric::Rmse : Metric::R2};
  }
  __builtin_unreachable();
}

Status Refused(Metric metric, std::string_view why, std::string hint) {
  return Status::Usage(fmt::format("train.metrics: {}: {}", MetricName(metric), why), std::move(hint));
}

Status CheckMetric(Metric metric, const Job& job, const Spec& spec, const MetricPlan& plan) {
  using Of = MetricPlan::Of;
  const Loss loss = spec.output().loss;
  if (plan.of == Of::Nothing)
    return Refused(metric, "metrics are of one output, and not of loss ctc or a loss of the program's own", "leave it out");
  if (IsOfValues(metric) != (plan.of == Of::Values))
    return Refused(
        metric, IsOfValues(metric) ? "compares values, and the job learns classes" : "is of classes, and the job learns values",
        IsOfValues(metric) ? "accuracy, f1_macro, auc, ..." : "mae, rmse, mape, smape, r2");
  if (metric == Metric::Accuracy && plan.of == Of::Labels)
    return Refused(metric, "a sample has several labels", "binary_accuracy, f1_micro");
  if (metric == Metric::BinaryAccuracy && plan.of != Of::Labels)
    return Refused(metric, "is of several labels a sample", "accuracy");
  if (metric == Metric::TopKAccuracy && (plan.of != Of::Classes || job.train.top_k > plan.width))
    return Refused(metric, fmt::format("wanted one class of at least train.top_k = {}", job.train.top_k),
                   "a smaller train.top_k, or accuracy");
  const bool plain = metric == Metric::Precision || metric == Metric::Recall || metric == Metric::F1;
  if (plain && plan.of == Of::Classes && plan.width != 2)
    return Refused(metric, fmt::format("is of one class among two, and there are {}", plan.width),
                   fmt::format("{0}_macro or {0}_micro", MetricName(metric)));
  if (loss == Loss::Crf && (metric == Metric::TopKAccuracy || metric == Metric::Auc))
    return Refused(metric, "a CRF decides on whole sequences and has no order of tags at a step", "f1_macro, entity_f1");
  if (FollowsFromLoss(metric) && loss != Loss::SparseCategoricalCrossentropy)
    return Refused(metric, "follows from the loss sparse_categorical_crossentropy alone", "leave it out");
  if (FollowsFromLoss(metric) && spec.label_smoothing > 0.0)
    return Refused(metric, "follows from the loss, which train.label_smoothing changes", "leave one of them out");
  if (metric == Metric::BitsPerCharacter && job.data.tokens == TokenKind::Word)
    return Refused(metric, "the tokens are words", "perplexity, or data.tokens = \"char\"");
  if (IsOfEntities(metric) && plan.tags.empty())
    return Refused(metric, "wanted tags such as O, B-PER and I-PER as labels of a text", "f1_macro");
  return Status::Ok();
}

// Whether an entity begins, or has ended, between two tags. I- behind another type, or behind O, begins one.
bool Begins(const EntityTag& before, const EntityTag& now) {
  if (now.kind == EntityTag::Kind::Outside) return false;
  return now.kind == EntityTag::Kind::Begin || before.kind == EntityTag::Kind::Outside || before.type != now.type;
}
bool Ends(const EntityTag& before, const EntityTag& now) {
  if (before.kind == EntityTag::Kind::Outside) return false;
  return now.kind != EntityTag::Kind::Inside || before.type != now.type;
}

}  // namespace

std::vector<EntityTag> EntityTagsOf(std::span<const std::string_view> names) {
  std::vector<EntityTag> tags;
  std::vector<std::string_view> types;
  bool begins = false;
  for (const std::string_view name : names) {
    EntityTag tag;
    if (name != "O") {
      const bool known = (name.starts_with("B-") || name.starts_with("I-")) && name.size() > 2;
      if (!known) return {};
      tag.kind = name[0] == 'B' ? EntityTag::Kind::Begin : EntityTag::Kind::Inside;
      begins = begins || tag.kind == EntityTag::Kind::Begin;
      const auto found = std::find(types.begin(), types.end(), name.substr(2));
      tag.type = static_cast<int32_t>(found - types.begin());
      if (found == types.end()) types.push_back(name.substr(2));
    }
    tags.push_back(tag);
  }
  return begins ? tags : std::vector<EntityTag>();
}

bool MetricPlan::Has(Metric metric) const { return std::count(metrics.begin(), metrics.end(), metric) > 0; }
bool MetricPlan::counts_classes() const {
  return (of == Of::Classes || of == Of::Labels) && (per_class || std::any_of(metrics.begin(), metrics.end(), IsOfCounts));
}
bool MetricPlan::counts_entities() const { return std::any_of(metrics.begin(), metrics.end(), IsOfEntities); }
bool MetricPlan::looks_at_items() const {
  return counts_classes() || std::any_of(metrics.begin(), metrics.end(),
                                         [](Metric metric) { return metric != Metric::Accuracy && !FollowsFromLoss(metric); });
}
int64_t MetricPlan::bytes() const {
  static_assert(sizeof(ClassCounts) == 24 && sizeof(EntityTag) == 8);
  const int64_t columns = counts_classes() || Has(Metric::R2) ? width * static_cast<int64_t>(sizeof(ClassCounts)) : 0;
  return columns + (counts_entities() ? kGroupRows * 24 : 0);
}

Result<MetricPlan> PlanMetrics(const Job& job, const Spec& spec, std::vector<EntityTag> tags) {
  using Of = MetricPlan::Of;
  const ModelOutput& output = spec.output();
  MetricPlan plan{.width = output.width, .top_k = job.train.top_k, .tags = std::move(tags)};
  if (spec.outputs.size() == 1 && output.loss != Loss::Ctc && output.loss != Loss::Custom) {
    plan.of = output.class_targets() ? Of::Classes : output.loss == Loss::BinaryCrossentropy ? Of::Labels : Of::Values;
  }
  if (plan.of != Of::Classes || !output.per_step) plan.tags.clear();
  plan.metrics = job.train.metrics ? *job.train.metrics : UsualMetrics(job, spec, plan);
  const std::optional<Metric> monitored = MetricOf(job.train.monitor);
  if (monitored && !plan.Has(*monitored)) plan.metrics.push_back(*monitored);
  for (const Metric metric : plan.metrics) PLIMSOLL_RETURN_IF_ERROR(CheckMetric(metric, job, spec, plan));
  if (!plan.counts_entities()) plan.tags.clear();
  return plan;
}

double ClassCounts::precision() const { return Ratio(static_cast<double>(hits), static_cast<double>(given)); }
double ClassCounts::recall() const { return Ratio(static_cast<double>(hits), static_cast<double>(wanted)); }
double ClassCounts::f1() const { return Ratio(2.0 * static_cast<double>(hits), static_cast<double>(given + wanted)); }

Metrics::OpenEntity* Metrics::open_entities() const {
  static_assert(sizeof(OpenEntity) <= 24);
  const int64_t columns = plan_.counts_classes() ? plan_.width * static_cast<int64_t>(sizeof(ClassCounts)) : 0;
  return reinterpret_cast<OpenEntity*>(memory_ + columns);
}

std::span<const ClassCounts> Metrics::classes() const {
  if (!plan_.counts_classes()) return {};
  return {class_counts(), static_cast<size_t>(plan_.width)};
}

void Metrics::Start() {
  if (memory_ != nullptr) std::memset(memory_, 0, static_cast<size_t>(plan_.bytes()));
  items_ = top_hits_ = label_hits_ = 0;
  bins_ = {};
  entities_ = {};
  absolute_ = squared_ = percent_ = symmetric_ = 0.0;
}

void Metrics::Class(const float* y, int32_t wanted) {
  const auto width = static_cast<size_t>(plan_.width);
  if (plan_.Has(Metric::TopKAccuracy))
    top_hits_ += std::count_if(y, y + width, [&](float other) { return other > y[wanted]; }) < plan_.top_k ? 1 : 0;
  if (plan_.Has(Metric::Auc) && width == 2) {
    Probability(1.0 / (1.0 + std::exp(static_cast<double>(y[0]) - static_cast<double>(y[1]))), wanted == 1);
  } else if (plan_.Has(Metric::Auc)) {
    const auto largest = static_cast<double>(*std::max_element(y, y + width));
    double sum = 0.0;
    for (size_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(y[i]) - largest);
    for (size_t i = 0; i < width; ++i)
      Probability(std::exp(static_cast<double>(y[i]) - largest) / sum, static_cast<size_t>(wanted) == i);
  }
  if (!plan_.counts_classes()) {
    ++items_;
    return;
  }
  Decided(static_cast<int32_t>(std::max_element(y, y + width) - y), wanted);
}

void Metrics::Decided(int32_t given, int32_t wanted) {
  ++items_;
  if (!plan_.counts_classes()) return;
  ++class_counts()[given].given;
  ++class_counts()[wanted].wanted;
  if (given == wanted) ++class_counts()[given].hits;
}

void Metrics::Labels(const float* y, const float* wanted) {
  ++items_;
  for (int64_t i = 0; i < plan_.width; ++i) {
    const bool says = y[i] > 0.0f, is = wanted[i] > 0.5f;
    label_hits_ += says == is ? 1 : 0;
    if (plan_.Has(Metric::Auc)) Probability(1.0 / (1.0 + std::exp(-static_cast<double>(y[i]))), is);
    if (!plan_.counts_classes()) continue;
    ClassCounts& counts = class_counts()[i];
    counts.given += says ? 1 : 0;
    counts.wanted += is ? 1 : 0;
    counts.hits += says && is ? 1 : 0;
  }
}

void Metrics::Value(int64_t column, double given, double wanted) {
  const double error = given - wanted, size = std::abs(wanted) + std::abs(given);
  absolute_ += std::abs(error);
  squared_ += error * error;
  percent_ += std::abs(error) / std::max(std::abs(wanted), 1e-7);
  symmetric_ += Ratio(2.0 * std::abs(error), size);
  if (!plan_.Has(Metric::R2)) return;
  ColumnSums& sums = column_sums()[column];
  const double off = wanted - sums.mean;
  sums.mean += off / static_cast<double>(items_);
  sums.squares += off * (wanted - sums.mean);
  sums.errors += error * error;
}

void Metrics::Tag(int64_t row, bool is_first, bool is_last, int32_t given, int32_t wanted) {
  PLIMSOLL_CHECK(row >= 0 && row < kGroupRows, "a row of a group");
  OpenEntity& open = open_entities()[row];
  if (is_first) open = {};
  const EntityTag now_given = plan_.tags[static_cast<size_t>(given)], now_wanted = plan_.tags[static_cast<size_t>(wanted)];
  const auto step = [&](const EntityTag& next_given, const EntityTag& next_wanted) {
    const bool ends_given = Ends(open.given, next_given), ends_wanted = Ends(open.wanted, next_wanted);
    if (open.same && ends_given && ends_wanted) ++entities_.hits;
    if (ends_given || ends_wanted) open.same = false;
    const bool begins_given = Begins(open.given, next_given), begins_wanted = Begins(open.wanted, next_wanted);
    entities_.given += begins_given ? 1 : 0;
    entities_.wanted += begins_wanted ? 1 : 0;
    if (begins_given && begins_wanted && next_given.type == next_wanted.type) open.same = true;
    open.given = next_given;
    open.wanted = next_wanted;
  };
  step(now_given, now_wanted);
  if (is_last) step({}, {});
}

// Keras's: bin i holds what lies above threshold i / 199 and not above the next; 0 lies above the first one, too. So does what
// is no number: the loss tells of that.
size_t Metrics::BinOf(double p) {
  if (std::isnan(p)) return 0;
  return static_cast<size_t>(std::clamp(std::ceil(p * (kThresholds - 1)) - 1.0, 0.0, kThresholds - 1.0));
}

// The area under the ROC curve by trapezoids between 200 thresholds, as Keras has it.
double Metrics::Auc() const {
  double positives = 0.0, negatives = 0.0;
  for (int i = 0; i < kThresholds; ++i) {
    negatives += static_cast<double>(bins_[0][static_cast<size_t>(i)]);
    positives += static_cast<double>(bins_[1][static_cast<size_t>(i)]);
  }
  double area = 0.0, hits = 0.0, false_alarms = 0.0;  // above the threshold, from the highest on
  for (int i = kThresholds - 1; i >= 0; --i) {
    const double more_hits = hits + static_cast<double>(bins_[1][static_cast<size_t>(i)]);
    const double more_alarms = false_alarms + static_cast<double>(bins_[0][static_cast<size_t>(i)]);
    area += Ratio(more_alarms - false_alarms, negatives) * (Ratio(hits, positives) + Ratio(more_hits, positives)) / 2.0;
    hits = more_hits;
    false_alarms = more_alarms;
  }
  return area;
}

// Over the classes that came, as scikit-learn has it; over all labels, where a sample has several.
double Metrics::MeanOf(double (ClassCounts::*figure)() const) const {
  double sum = 0.0, count = 0.0;
  for (const ClassCounts& counts : classes()) {
    if (plan_.of == MetricPlan::Of::Classes && counts.given + counts.wanted == 0) continue;
    sum += (counts.*figure)();
    count += 1.0;
  }
  return Ratio(sum, count);
}

ClassCounts Metrics::AllClasses() const {
  ClassCounts all;
  for (const ClassCounts& counts : classes()) {
    all.hits += counts.hits;
    all.given += counts.given;
    all.wanted += counts.wanted;
  }
  return all;
}

double Metrics::R2() const {
  double sum = 0.0;
  for (int64_t i = 0; i < plan_.width; ++i) {
    const ColumnSums& sums = column_sums()[i];
    if (sums.squares == 0.0) {  // what does not change is explained wholly or not at all
      sum += sums.errors == 0.0 ? 1.0 : 0.0;
    } else {
      sum += 1.0 - sums.errors / sums.squares;
    }
  }
  return Ratio(sum, static_cast<double>(plan_.width));
}

double Metrics::ValueOf(Metric metric) const {
  const auto items = static_cast<double>(items_), values = items * static_cast<double>(plan_.width);
  const bool two = plan_.of == MetricPlan::Of::Classes;
  const ClassCounts counts = !plan_.counts_classes()   ? ClassCounts()
                             : two && plan_.width == 2 ? class_counts()[1]
                                                       : AllClasses();
  switch (metric) {
    case Metric::BinaryAccuracy:
      return Ratio(static_cast<double>(label_hits_), values);
    case Metric::TopKAccuracy:
      return Ratio(static_cast<double>(top_hits_), items);
    case Metric::Precision:
      return counts.precision();
    case Metric::Recall:
      return counts.recall();
    case Metric::F1:
      return counts.f1();
    case Metric::PrecisionMacro:
      return MeanOf(&ClassCounts::precision);
    case Metric::RecallMacro:
      return MeanOf(&ClassCounts::recall);
    case Metric::F1Macro:
      return MeanOf(&ClassCounts::f1);
    case Metric::PrecisionMicro:
      return AllClasses().precision();
    case Metric::RecallMicro:
      return AllClasses().recall();
    case Metric::F1Micro:
      return AllClasses().f1();
    case Metric::Auc:
      return Auc();
    case Metric::EntityPrecision:
      return entities_.precision();
    case Metric::EntityRecall:
      return entities_.recall();
    case Metric::EntityF1:
      return entities_.f1();
    case Metric::Mae:
      return Ratio(absolute_, values);
    case Metric::Rmse:
      return std::sqrt(Ratio(squared_, values));
    case Metric::Mape:
      return 100.0 * Ratio(percent_, values);
    case Metric::Smape:
      return 100.0 * Ratio(symmetric_, values);
    case Metric::R2:
      return R2();
    case Metric::Accuracy:
    case Metric::Perplexity:
    case Metric::BitsPerCharacter:
      break;
  }
  __builtin_unreachable();
}

void Metrics::AddTo(Score& score) const {
  for (const Metric metric : plan_.metrics) {
    if (metric != Metric::Accuracy && !FollowsFromLoss(metric)) score.metrics.Add(metric, ValueOf(metric));
  }
}

void AddLossMetrics(Score& score, const MetricPlan& plan, double mean_loss) {
  if (plan.Has(Metric::Perplexity)) score.metrics.Add(Metric::Perplexity, std::exp(mean_loss));
  if (plan.Has(Metric::BitsPerCharacter)) score.metrics.Add(Metric::BitsPerCharacter, mean_loss / std::log(2.0));
}

}  // namespace plimsoll
