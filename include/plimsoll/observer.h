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

#include "plimsoll/metric.h"

namespace plimsoll {

struct Plan;

// Where the time of an update goes: reading the batch; blocks run forward for the first time, and again because their Tape was
// not kept; State to and from slots; outputs again from the Tape; the head and the losses; the way back; gradients to zero and
// the optimizer.
enum class Phase : int { Read, Forward, Recompute, Slots, Replay, Loss, Backward, Update };
inline constexpr size_t kPhases = 8;
const char* PhaseName(Phase phase);  // "read", "forward", ...

struct LayerTime {
  double forward_ms = 0.0;   // whenever it ran forward
  double backward_ms = 0.0;  // replay included
};
// Of one update that was measured.
struct StepTimes {
  std::array<double, kPhases> phase_ms = {};
  std::span<const LayerTime> layers = {};  // in the order of RunFacts::layers
};

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
  int64_t items = 0;                 // targets that `loss` is a mean over
  double learning_rate = 0.0;        // of this update
  const StepTimes* times = nullptr;  // null: this update was not measured. There while it is told
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
  // Of train.metrics. Of an epoch's training only those that follow from its loss.
  MetricValues metrics = {};
};

struct EpochReport {
  int64_t epoch = 0;
  int64_t epochs = 0;
  int64_t updates = 0;   // in all
  double seconds = 0.0;  // of this epoch, validation included
  double valid_seconds = 0.0;
  Score train;
  bool has_valid = false;
  Score valid;
  int64_t peak_bytes = 0;                     // VmHWM
  int64_t useful_row_steps = 0;               // steps of the samples trained on since the process began, by their lengths
  int64_t computed_row_steps = 0;             // steps that were run for them, recompute not counted; more would be padding
  std::span<const std::string> outputs = {};  // names of several outputs, as the scores list them; there while it is told
};

// State that is safe on disk: written, synced, and read back.
struct SaveReport {
  int64_t generation = 0;
  int64_t updates = 0;  // done by then
  int64_t bytes = 0;
  double seconds = 0.0;   // that it took
  std::string_view path;  // of the file
  bool best = false;      // it holds the best epoch so far
};

// How long the training samples are: counts of lengths in `bins` ranges of `bin_steps`, the first from `shortest` on.
inline constexpr size_t kLengthBins = 24;
struct LengthCounts {
  int64_t shortest = 0;
  int64_t longest = 0;
  double mean = 0.0;
  int64_t bin_steps = 1;
  size_t bins = 0;
  std::array<int64_t, kLengthBins> counts = {};
};

// What a run is; told once, before its plan. Views are there while it is told.
struct RunFacts {
  std::string_view task;
  int64_t samples = 0;        // to train on
  int64_t valid_samples = 0;  // 0: none
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
  int64_t batch_size = 0;
  int64_t threads = 0;
  int64_t parameters = 0;
  LengthCounts lengths;
  std::span<const std::string> layers = {};  // names
};

// What the last score keeps of a few samples: what was wanted, and what the model gave. A sample has one of these for each
// step, or for each value or label of its one target; with one target a sample, those before it only hold ids of its inputs.
enum class ExampleKind : int {
  Classes,  // one class a sample
  Steps,    // one class a step
  Spelt,    // a sequence of labels without steps, and the labels that the model spells: each in a place of its own
  Labels,   // several labels a sample: those that are wanted or given, with `step` for their numbers
  Values
};
const char* ExampleKindName(ExampleKind kind);  // "classes", "steps", ...
struct Example {
  int32_t sample = -1;                           // among those that were picked, from 0
  int32_t step = 0;                              // of the sequence; or which value or label of its target
  int32_t input = -1;                            // the id that was read at this step; negative: none was
  int32_t target = -1;                           // class that was wanted; negative: none
  std::array<int32_t, 3> likely = {-1, -1, -1};  // classes that the model gives, the likeliest first
  std::array<float, 3> probability = {};         // of each
  float wanted = 0.0f;                           // Values and Labels: a value, or 1 for a label that was wanted
  float given = 0.0f;                            // the model's value, or the label's probability
};
inline constexpr size_t kMostExamples = 256;

// What came of a run; told once, when it has ended well.
struct RunEnd {
  Score first;
  Score last;
  int64_t updates = 0;
  int64_t epochs = 0;
  double seconds = 0.0;
  int64_t peak_bytes = 0;
  // Of the last score: [true class][class with the largest output], where there are few classes; else empty.
  int64_t classes = 0;
  std::span<const int64_t> confusion = {};
  // Of the last score, and of the first output where there are several.
  ExampleKind example_kind = ExampleKind::Values;
  std::span<const Example> examples = {};
};

// Work that is no step of training and takes its time: validation, getting data ready, making text.
struct WorkReport {
  std::string_view what;  // "validation", "generation"
  int64_t done = 0;
  int64_t total = 0;           // 0: not known
  int64_t resident_bytes = 0;  // measured; 0: not measured, and no budget is told
  int64_t budget_bytes = 0;
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
  virtual void Started(const RunFacts&) {}
  virtual void Planned(const Plan&) {}
  virtual void Message(std::string_view) {}  // one line of plain text that the user should see
  virtual void Step(const StepReport&) {}
  virtual void Work(const WorkReport&) {}
  virtual void Epoch(const EpochReport&) {}
  virtual void Saved(const SaveReport&) {}
  virtual void Resumed(int64_t /*updates*/, int64_t /*epoch*/) {}  // before the first step of a run that goes on
  virtual void Ended(const RunEnd&) {}
};

}  // namespace plimsoll
