// metric: figures of a score beside its loss. Names are those of Keras and scikit-learn (docs/training.md has the formulas).
//   They are counted while data are scored, in planned memory, and never while training: a run that goes on need not know them.
#pragma once

#include <array>
#include <cstddef>

namespace plimsoll {

enum class Metric {
  Accuracy,  // of classes; every score has it
  BinaryAccuracy,
  TopKAccuracy,
  Precision,  // of two classes: of the second; of several labels: over all of them
  Recall,
  F1,
  PrecisionMacro,
  RecallMacro,
  F1Macro,
  PrecisionMicro,
  RecallMicro,
  F1Micro,
  Auc,
  Perplexity,
  BitsPerCharacter,
  EntityPrecision,  // of tags B-, I- and O
  EntityRecall,
  EntityF1,
  Mae,
  Rmse,
  Mape,
  Smape,
  R2
};

struct MetricFacts {
  const char* monitored;  // as train.monitor names it; behind "val_" stands its own name
  bool lower_is_better = false;
};
// In the order of Metric.
inline constexpr std::array kMetricFacts = {MetricFacts{"val_accuracy"},
                                            MetricFacts{"val_binary_accuracy"},
                                            MetricFacts{"val_top_k_accuracy"},
                                            MetricFacts{"val_precision"},
                                            MetricFacts{"val_recall"},
                                            MetricFacts{"val_f1"},
                                            MetricFacts{"val_precision_macro"},
                                            MetricFacts{"val_recall_macro"},
                                            MetricFacts{"val_f1_macro"},
                                            MetricFacts{"val_precision_micro"},
                                            MetricFacts{"val_recall_micro"},
                                            MetricFacts{"val_f1_micro"},
                                            MetricFacts{"val_auc"},
                                            MetricFacts{"val_perplexity", true},
                                            MetricFacts{"val_bits_per_character", true},
                                            MetricFacts{"val_entity_precision"},
                                            MetricFacts{"val_entity_recall"},
                                            MetricFacts{"val_entity_f1"},
                                            MetricFacts{"val_mae", true},
                                            MetricFacts{"val_rmse", true},
                                            MetricFacts{"val_mape", true},
                                            MetricFacts{"val_smape", true},
                                            MetricFacts{"val_r2"}};
inline constexpr size_t kMetrics = kMetricFacts.size();
static_assert(kMetrics == static_cast<size_t>(Metric::R2) + 1);

constexpr const MetricFacts& FactsOf(Metric metric) { return kMetricFacts[static_cast<size_t>(metric)]; }
constexpr const char* MetricName(Metric metric) { return FactsOf(metric).monitored + 4; }

// The metrics of a score, in the order of the job's list.
struct MetricValue {
  Metric metric = Metric::Accuracy;
  double value = 0.0;
};
class MetricValues {
 public:
  void Add(Metric metric, double value) { values_[count_++] = {metric, value}; }
  const MetricValue* begin() const { return values_.data(); }
  const MetricValue* end() const { return values_.data() + count_; }
  // Null: the score has no such figure.
  const double* Find(Metric metric) const {
    for (const MetricValue& value : *this) {
      if (value.metric == metric) return &value.value;
    }
    return nullptr;
  }

 private:
  std::array<MetricValue, kMetrics> values_ = {};
  size_t count_ = 0;
};

}  // namespace plimsoll
