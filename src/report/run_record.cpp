#include "report/run_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "report/each_line.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostLineBytes = 256 * 1024;
constexpr int64_t kMostPlanBytes = 4 << 20;
constexpr int64_t kMostJobBytes = 1 << 20;
constexpr size_t kMostSteps = 2000;
constexpr size_t kMostEpochs = 2000;
constexpr size_t kMostMessages = 40;
constexpr size_t kMostLayers = 1000;

Json Parsed(const std::string& text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

// Sums over all measured updates, also those whose points are thinned out.
struct Sums {
  int64_t steps = 0;
  double step_ms = 0.0;
  std::array<double, kPhases> phase_ms = {};
  std::vector<LayerTime> layers;
};

// Drops what a resumed run tells again.
template <typename Points>
void DropFrom(Points& points, double update) {
  while (!points.empty() && points.back().update >= update) points.pop_back();
}

// Every second point goes where there are too many: the curves keep their shape.
template <typename Points>
void Thin(Points& points, size_t most) {
  if (points.size() <= most) return;
  size_t kept = 0;
  for (size_t i = 0; i < points.size(); i += 2) points[kept++] = points[i];
  points.resize(kept);
}

void TakeStep(RunRecord& run, Sums& sums, const Json& line) {
  const RecordedStep step{.update = NumberOf(line, "update"),
                          .loss = NumberOf(line, "loss", NAN),
                          .accuracy = NumberOf(line, "accuracy", -1.0),
                          .learning_rate = NumberOf(line, "learning_rate"),
                          .step_ms = NumberOf(line, "step_ms"),
                          .resident_bytes = NumberOf(line, "resident_bytes"),
                          .planned_bytes = NumberOf(line, "planned_bytes"),
                          .budget_bytes = NumberOf(line, "budget_bytes")};
  DropFrom(run.steps, step.update);
  run.steps.push_back(step);
  Thin(run.steps, kMostSteps);
  ++sums.steps;
  sums.step_ms += step.step_ms;
  if (const auto phases = line.find("phase_ms"); phases != line.end()) {
    for (size_t i = 0; i < kPhases; ++i) sums.phase_ms[i] += NumberOf(*phases, PhaseName(static_cast<Phase>(i)));
  }
  const auto add = [&](const char* key, double LayerTime::*part) {
    const auto times = line.find(key);
    if (times == line.end() || !times->is_array()) return;
    sums.layers.resize(std::max(sums.layers.size(), std::min(times->size(), kMostLayers)));
    for (size_t i = 0; i < std::min(times->size(), kMostLayers); ++i) {
      if ((*times)[i].is_number()) sums.layers[i].*part += (*times)[i].get<double>();
    }
  };
  add("layer_forward_ms", &LayerTime::forward_ms);
  add("layer_backward_ms", &LayerTime::backward_ms);
}

void TakeEpoch(RunRecord& run, const Json& line) {
  RecordedEpoch epoch{.epoch = NumberOf(line, "epoch"),
                      .update = NumberOf(line, "update"),
                      .loss = NumberOf(line, "loss", NAN),
                      .accuracy = NumberOf(line, "accuracy", -1.0),
                      .val_loss = NumberOf(line, "val_loss", NAN),
                      .val_accuracy = NumberOf(line, "val_accuracy", -1.0),
                      .has_valid = line.contains("val_loss"),
                      .seconds = NumberOf(line, "epoch_seconds"),
                      .valid_seconds = NumberOf(line, "valid_seconds"),
                      .peak_bytes = NumberOf(line, "peak_bytes"),
                      .useful_row_steps = NumberOf(line, "useful_row_steps"),
                      .computed_row_steps = NumberOf(line, "computed_row_steps")};
  for (size_t i = 0; i < kShownMetrics; ++i) {
    const RecordedMetric metric{
        .number = i, .train = NumberOf(line, ShownMetric(i) + 4, NAN), .valid = NumberOf(line, ShownMetric(i), NAN)};
    if (!std::isnan(metric.train) || !std::isnan(metric.valid)) epoch.metrics.push_back(metric);
  }
  DropFrom(run.epochs, epoch.update);
  run.epochs.push_back(std::move(epoch));
  Thin(run.epochs, kMostEpochs);
}

void TakeLine(RunRecord& run, Sums& sums, const std::string& text) {
  const Json line = Parsed(text);
  if (!line.is_object()) return;  // half a line of a run that was killed
  run.seconds = NumberOf(line, "seconds", run.seconds);
  const auto event = line.find("event");
  if (event == line.end() || !event->is_string()) return;
  if (*event == "step") {
    TakeStep(run, sums, line);
  } else if (*event == "epoch") {
    TakeEpoch(run, line);
  } else if (*event == "run") {
    run.facts = line;
    run.end = nullptr;
  } else if (*event == "end") {
    run.end = line;
  } else if (*event == "message" && run.messages.size() < kMostMessages) {
    if (const auto said = line.find("text"); said != line.end() && said->is_string()) run.messages.push_back(*said);
  }
}

Status TakeLines(RunRecord& run, Sums& sums, const std::string& path) {
  Result<File> opened = File::OpenRead(path);
  if (!opened.ok()) {
    return Status::Data(opened.status().message(), "name the folder of a run, runs/NAME; a run without a folder keeps no logs");
  }
  return EachLine(opened.value(), kMostLineBytes, [&](const std::string& line, bool whole) {
    if (whole) TakeLine(run, sums, line);
  });
}

bool IsLocked(const std::string& path) {
  const Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!lock.is_open()) return false;
  return ::flock(lock.number(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace

double NumberOf(const Json& object, const char* key, double otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

bool RunRecord::LearnsText() const { return facts.is_object() && facts.value("task", Json()) == "lm"; }

double RunRecord::peak_bytes() const {
  double peak = NumberOf(end, "peak_bytes");
  for (const RecordedEpoch& epoch : epochs) peak = std::max(peak, epoch.peak_bytes);
  if (peak > 0.0) return peak;
  for (const RecordedStep& step : steps) peak = std::max(peak, step.resident_bytes);
  return peak;
}
double RunRecord::planned_bytes() const { return NumberOf(plan, "peak_bytes"); }
double RunRecord::budget_bytes() const { return NumberOf(plan, "budget_bytes"); }

Result<RunRecord> ReadRun(const std::string& folder) {
  RunRecord run;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error).lexically_normal();
  run.name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  if (!FolderExists(folder)) return Status::Data(fmt::format("{}: there is no such folder", folder), "runs/NAME");
  Sums sums;
  PLIMSOLL_RETURN_IF_ERROR(TakeLines(run, sums, folder + "/metrics.jsonl"));
  const Result<std::string> plan = ReadWholeFile(folder + "/plan.json", kMostPlanBytes);
  if (!plan.ok()) return plan.status();
  run.plan = Parsed(plan.value());
  if (!run.plan.is_object()) return Status::Data(fmt::format("{}/plan.json: is no JSON object", folder));
  if (const Result<std::string> job = ReadWholeFile(folder + "/job.toml", kMostJobBytes); job.ok()) run.job = job.value();
  if (sums.steps > 0) {
    const auto count = static_cast<double>(sums.steps);
    run.step_ms = sums.step_ms / count;
    for (size_t i = 0; i < kPhases; ++i) run.phase_ms[i] = sums.phase_ms[i] / count;
    for (const LayerTime& layer : sums.layers)
      run.layer_times.push_back({.forward_ms = layer.forward_ms / count, .backward_ms = layer.backward_ms / count});
  }
  if (run.facts.is_object() && run.facts.contains("layers") && run.facts["layers"].is_array()) {
    for (const Json& layer : run.facts["layers"]) {
      if (layer.is_string() && run.layers.size() < kMostLayers) run.layers.push_back(layer);
    }
  }
  run.layers.resize(run.layer_times.size(), "?");
  ReadNames(run, folder + "/model");
  run.running = IsLocked(folder + "/lock");
  return run;
}

}  // namespace plimsoll
