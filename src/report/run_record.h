// run_record: a run as its folder tells it.
//   in:    metrics.jsonl, plan.json and job.toml of a run folder; files of others, which may hold anything
//   out:   points of the curves, means of the measured updates, the plan
//   never: keeps more than some thousand points of a run, however long it was
// A run that was resumed tells some updates twice: the later line counts.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  double seconds = 0.0;  // of the last line
  bool running = false;  // somebody trains into the folder now

  double peak_bytes() const;
  double planned_bytes() const;
  double budget_bytes() const;
};
Result<RunRecord> ReadRun(const std::string& folder);

// A number of a JSON object that may hold anything.
double NumberOf(const nlohmann::json& object, const char* key, double otherwise = 0.0);

}  // namespace plimsoll
