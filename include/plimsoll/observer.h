// observer: what a run tells to whoever listens (progress, logs, a caller's own code).
//   Calls come from the thread that called Train, between updates only. A listener must not allocate in Step when the
//   run's flat memory is to be kept; the library itself makes no copy of what it passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

struct Plan;

struct StepReport {
  int64_t epoch = 0;  // from 1
  int64_t epochs = 0;
  int64_t step_in_epoch = 0;  // updates done in this epoch
  int64_t steps_per_epoch = 0;
  int64_t update = 0;          // updates done in all
  double loss = 0.0;           // mean over the epoch so far
  double accuracy = -1.0;      // classify: mean over the epoch so far; else negative
  double step_ms = 0.0;        // of this update
  int64_t resident_bytes = 0;  // measured
  int64_t budget_bytes = 0;
};

// Of one of several outputs.
struct OutputScore {
  double loss = 0.0;       // its own, before loss_weight
  double accuracy = -1.0;  // of classes; else negative
};
inline constexpr size_t kMostOutputs = 8;

struct Score {
  double loss = 0.0;
  double accuracy = -1.0;                              // classify only, and not with loss ctc; else negative
  int64_t items = 0;                                   // targets that were counted
  double metric = 0.0;                                 // of train.custom_metric; 0 without one
  std::array<OutputScore, kMostOutputs> outputs = {};  // of a job with [[outputs]]: each of them, in that order
  // Loss ctc, scored data: edit distance of what the outputs spell to the targets, a label; else negative.
  double label_error_rate = -1.0;
};

struct EpochReport {
  int64_t epoch = 0;
  int64_t epochs = 0;
  int64_t updates = 0;   // in all
  double seconds = 0.0;  // of this epoch, validation included
  Score train;
  bool has_valid = false;
  Score valid;
  int64_t peak_bytes = 0;                     // VmHWM
  std::span<const std::string> outputs = {};  // names of several outputs, as the scores list them; there while it is told
};

// Text on its way into a Store, before a job is planned.
struct ReadingReport {
  std::string_view file;
  int64_t bytes = 0;  // of all files, in all passes, so far
  int64_t total_bytes = 0;
  int64_t lines = 0;    // records of this pass
  bool counts = false;  // the pass that counts tokens and labels; else the one that stores
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void Reading(const ReadingReport&) {}
  virtual void Planned(const Plan&) {}
  virtual void Message(std::string_view) {}  // one line of plain text that the user should see
  virtual void Step(const StepReport&) {}
  virtual void Epoch(const EpochReport&) {}
};

}  // namespace plimsoll
