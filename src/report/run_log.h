// run_log: what a run leaves behind to be read later, written while it runs (docs/reports.md has the fields).
//   in:    what a run tells its Observer
//   out:   metrics.csv, a row an epoch; metrics.jsonl, an object a line: the run, plans, measured steps, epochs, messages, the
//          end; an event file for TensorBoard
//   never: allocates in Step or Epoch; changes what was written before. Files that are there are gone on with.
// Everything is handed on to another listener, so that a run has one.
#pragma once

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "plimsoll/observer.h"
#include "report/event_file.h"
#include "report/fixed_text.h"

namespace plimsoll {

class RunLog final : public Observer {
 public:
  explicit RunLog(Observer* next) : next_(next) {}  // not owned; may be null

  // `metrics`: of the run's scores; columns of the table.
  Status Open(const std::string& run_folder, std::span<const Metric> metrics = {});
  void Note(std::string_view text);  // a message that is for the log alone
  // The first failure to write, which is told when it happens and does not end a run.
  const Status& status() const { return failure_; }

  void Reading(const ReadingReport& report) override;
  void Started(const RunFacts& facts) override;
  void Planned(const Plan& plan) override;
  void Message(std::string_view text) override;
  void Step(const StepReport& report) override;
  void Work(const WorkReport& report) override;
  void Epoch(const EpochReport& report) override;
  void Saved(const SaveReport& report) override;
  void Resumed(int64_t updates, int64_t epoch) override;
  void Ended(const RunEnd& end) override;

 private:
  struct LogFile {
    Descriptor descriptor;
    std::string path;
  };
  using Phases = std::array<double, kPhases>;

  Status OpenLog(LogFile& file, const std::string& path);
  void Append(LogFile& file, std::string_view bytes);
  double Seconds() const;
  void Begin(std::string_view event);
  void AddScore(const char* prefix, const Score& score);
  void AddPhases(const Phases& phase_ms);
  void AddExamples(const RunEnd& end);
  void Finish();  // line_, with the closing brace
  void Flush() {
    Append(lines_, line_.view());
    line_.Clear();
  }
  void WriteCsv(const EpochReport& report, const Phases& phase_ms);

  Observer* next_;
  std::span<const Metric> metrics_;
  LogFile csv_;
  LogFile lines_;
  LogFile events_;
  Status failure_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t planned_bytes_ = 0;
  int64_t budget_bytes_ = 0;
  int64_t resident_bytes_ = 0;
  double learning_rate_ = 0.0;
  int64_t update_ = 0;  // when last told
  // Of the epoch up to the line before: a line tells the mean since then.
  double loss_sum_ = 0.0;
  double hit_sum_ = 0.0;
  int64_t items_ = 0;
  // Of the epoch's measured updates.
  Phases phase_sum_ = {};
  int64_t measured_ = 0;

  FixedText<3072> line_;
  EventRecord record_;
};

}  // namespace plimsoll
