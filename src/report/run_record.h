// run_record: a run as its folder tells it.
//   in:    metrics.jsonl, plan.json and job.toml of a run folder; files of others, which may hold anything
//   out:   points of the curves, means of the measured updates, the plan
//   never: keeps more than some thousand points of a run, however long it was
// A run that was resumed tells some updates twice: the later line counts.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "plimsoll/metric.h"
#include "plimsoll/observer.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct RecordedStep {
  double update = 0.0;
  double loss = 0.0;
  double accuracy = -1.0;
  double learning_rate = 0.0;
  double step_ms = 0.0;
  double resident_bytes = 0.0;
  double planned_bytes = 0.0;
  double budget_bytes = 0.0;
};
// Of a score beside loss and accuracy, in the order in which a page shows them: names as the logs have them for validation.
inline constexpr size_t kShownMetrics = kMetrics;
constexpr const char* ShownMetric(size_t number) {
  return number == 0 ? "val_label_error_rate"
                     : kMetricFacts[number].monitored;  // accuracy, the first of them, has a place of its own
}
struct RecordedMetric {
  size_t number = 0;  // of ShownMetric
  double train = NAN;
  double valid = NAN;
};

struct RecordedEpoch {
  double epoch = 0.0;
  double update = 0.0;
  double loss = 0.0;
  double accuracy = -1.0;
  double val_loss = -1.0;  // read only with has_valid
  double val_accuracy = -1.0;
  bool has_valid = false;
  double seconds = 0.0;
  double valid_seconds = 0.0;
  double peak_bytes = 0.0;
  double useful_row_steps = 0.0;
  double computed_row_steps = 0.0;
  std::vector<RecordedMetric> metrics = {};  // those that it tells
};

// Names of some numbers, as a page shows them.
using Names = std::unordered_map<int64_t, std::string>;

// What a forecast's values are multiplied by and raised by to be what they were in the data.
struct RecordedColumn {
  std::string name;
  double mean = 0.0;
  double deviation = 1.0;
};

struct RunRecord {
  std::string name;      // the folder's own
  nlohmann::json facts;  // the line "run"
  nlohmann::json end;    // the line "end"; null: the run has not ended well, or not yet
  nlohmann::json plan;   // plan.json
  std::string job;       // job.toml
  std::vector<RecordedStep> steps;
  std::vector<RecordedEpoch> epochs;
  std::vector<std::string> messages;
  // Means of the measured updates.
  double step_ms = 0.0;
  std::array<double, kPhases> phase_ms = {};
  std::vector<std::string> layers;
  std::vector<LayerTime> layer_times;
  // Of the numbers that `end` tells: classes, ids, and the columns of a forecast. From the model folder, where it has them.
  Names labels;
  Names tokens;
  std::vector<RecordedColumn> columns;  // targets alone
  double seconds = 0.0;                 // of the last line
  bool running = false;                 // somebody trains into the folder now

  bool LearnsText() const;  // task lm: its classes are tokens
  double peak_bytes() const;
  double planned_bytes() const;
  double budget_bytes() const;
};
// `run.labels`, `tokens` and `columns`, from the files in RUN/model. What cannot be read stays a number.
void ReadNames(RunRecord& run, const std::string& folder);
Result<RunRecord> ReadRun(const std::string& folder);

// A number of a JSON object that may hold anything.
double NumberOf(const nlohmann::json& object, const char* key, double otherwise = 0.0);

}  // namespace plimsoll
