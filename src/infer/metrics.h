// metrics: figures of a score beside its loss and accuracy, counted item by item.
//   in:    what the model gave for each item and what was wanted
//   out:   the metrics of a job's list, equal to those of scikit-learn and Keras (docs/training.md has the formulas)
//   never: allocates while it counts: counts lie in memory that the plan has; keeps an item
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/row_group.h"
#include "data/samples.h"
#include "model/spec.h"
#include "model/step.h"
#include "plimsoll/metric.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// What a tag says of entities, in IOB2: B-PER begins one of the type PER, I-PER goes on with it, O is outside.
struct EntityTag {
  enum class Kind : int32_t { Outside, Begin, Inside } kind = Kind::Outside;
  int32_t type = -1;
};
// Of class names; empty where they are no such tags.
std::vector<EntityTag> EntityTagsOf(std::span<const std::string_view> names);

// What is counted.
struct MetricPlan {
  enum class Of { Nothing, Classes, Labels, Values };
  Of of = Of::Nothing;
  int64_t width = 0;  // classes, labels, or values of a target
  std::vector<Metric> metrics = {};
  int64_t top_k = 5;
  std::vector<EntityTag> tags = {};  // of the classes, where a metric is about entities
  bool per_class = false;            // counts of each class are wanted, whatever the metrics are

  bool Has(Metric metric) const;
  bool counts_classes() const;
  bool counts_entities() const;
  bool looks_at_items() const;  // else the sums of the loss are enough
  int64_t bytes() const;        // of memory for the counts; 0: none
};

// The metrics that a job asks for, else those of its task, and what it monitors. Refuses what its scores cannot have. `tags`:
// of the class names, where the data have them.
Result<MetricPlan> PlanMetrics(const Job& job, const Spec& spec, std::vector<EntityTag> tags);

// Of one class, or of one label.
struct ClassCounts {
  int64_t hits = 0;
  int64_t given = 0;   // by the model
  int64_t wanted = 0;  // support
  double precision() const;
  double recall() const;
  double f1() const;
};

class Metrics {
 public:
  // `memory`: plan.bytes() of it, at a multiple of 8; both stay.
  Metrics(const MetricPlan& plan, char* memory) : plan_(plan), memory_(memory) {}

  void Start();
  // Logits of the classes, and which class was wanted.
  void Class(const float* y, int32_t wanted);
  // The class that was given, where it is not that of the largest output.
  void Decided(int32_t given, int32_t wanted);
  // Logits of labels, and 1 for each that was wanted.
  void Labels(const float* y, const float* wanted);
  template <typename UnitOf>
  void Values(const float* y, const float* wanted, const UnitOf& unit_of) {
    ++items_;
    for (int64_t i = 0; i < plan_.width; ++i) {
      const TargetUnit unit = unit_of(i);
      Value(i, static_cast<double>(y[i]) * unit.deviation + unit.mean,
            static_cast<double>(wanted[i]) * unit.deviation + unit.mean);
    }
  }
  // Tags of a row, step after step; rows may take turns. `row` is below kGroupRows.
  void Tag(int64_t row, bool is_first, bool is_last, int32_t given, int32_t wanted);

  // What was counted, and what follows from the loss.
  void AddTo(Score& score) const;
  std::span<const ClassCounts> classes() const;

 private:
  // An entity that is open at the step before, among the given and the wanted tags.
  struct OpenEntity {
    EntityTag given, wanted;
    bool same = false;  // both began together, with one type
  };
  struct ColumnSums {
    double mean = 0.0, squares = 0.0;  // Welford's, of what was wanted
    double errors = 0.0;               // squared
  };
  static constexpr int kThresholds = 200;
  using Bins = std::array<std::array<int64_t, kThresholds>, 2>;

  ClassCounts* class_counts() const { return reinterpret_cast<ClassCounts*>(memory_); }
  ColumnSums* column_sums() const { return reinterpret_cast<ColumnSums*>(memory_); }
  OpenEntity* open_entities() const;
  void Probability(double p, bool wanted) { ++bins_[wanted ? 1 : 0][BinOf(p)]; }
  static size_t BinOf(double p);
  void Value(int64_t column, double given, double wanted);
  double Auc() const;
  double MeanOf(double (ClassCounts::*figure)() const) const;
  ClassCounts AllClasses() const;
  double R2() const;
  double ValueOf(Metric metric) const;

  const MetricPlan& plan_;
  char* memory_;
  int64_t items_ = 0;
  int64_t top_hits_ = 0;
  int64_t label_hits_ = 0;
  Bins bins_ = {};
  ClassCounts entities_;
  double absolute_ = 0.0, squared_ = 0.0, percent_ = 0.0, symmetric_ = 0.0;
};

// Metrics that follow from the mean loss of an item: of training, too.
void AddLossMetrics(Score& score, const MetricPlan& plan, double mean_loss);

}  // namespace plimsoll
