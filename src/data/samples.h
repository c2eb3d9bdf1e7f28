// samples: a data set as training sees it: how many samples, how long each is, and the values of sample i.
//   Implementations: generated (generator.h), .npy/.npz read where they lie (npy_samples.h), text that became a Store
//   (store.h). Reading never maps a file and never allocates after the constructor; it may be called from any one thread at a
//   time, ReadInputs from several where many_readers() says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// The targets of one output.
struct TargetShape {
  bool per_step = false;     // one target a step; else one a sample
  bool are_classes = false;  // class numbers (int32); else values (float)
  int64_t width = 1;         // values a target; 1 for class numbers
  int64_t classes = 0;       // class numbers lie in [0, classes); 0 where targets are values
  bool operator==(const TargetShape&) const = default;
};

struct SampleShape {
  bool ids = false;              // inputs are ids (int32), one a step; else features (float)
  int64_t width = 1;             // features a step; 1 for ids
  bool target_per_step = false;  // one target a step; else one a sample
  bool target_classes = false;   // targets are class numbers (int32); else values (float)
  int64_t target_width = 1;      // values a target; 1 for class numbers
  int64_t vocabulary = 0;        // ids lie in [0, vocabulary); 0: unknown until the data was scanned
  int64_t classes = 0;           // class numbers lie in [0, classes); 0 where targets are values
  bool weighted = false;         // samples have weights; else each counts 1
  int64_t state_width = 0;       // values of a sample that State begins with; 0: none
  int64_t longest_target = 0;    // a target is a sequence of labels without steps, at most so many; 0: it is none
  size_t several = 0;            // outputs that have targets of their own; 0: one, and its targets are those above
  std::array<TargetShape, kMostOutputs> targets = {};  // of several

  size_t outputs() const { return several == 0 ? 1 : several; }
  TargetShape Target(size_t output) const {
    return several == 0 ? TargetShape{target_per_step, target_classes, target_width, classes} : targets[output];
  }
};

// A target's value in the unit of the data: times deviation, plus mean.
struct TargetUnit {
  double mean = 0.0;
  double deviation = 1.0;
};

class Samples {
 public:
  virtual ~Samples() = default;
  virtual const SampleShape& shape() const = 0;
  virtual int64_t count() const = 0;                 // at least 1
  virtual int64_t length(int64_t sample) const = 0;  // time steps, at least 1
  // With shape().longest_target: labels of the sample's target, at least 1.
  virtual int64_t target_length(int64_t /*sample*/) const { return 1; }
  virtual bool many_readers() const { return true; }
  // Copies the inputs of steps [first, first + steps) of one sample: int32 ids, or float rows of shape().width.
  virtual Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) = 0;
  // Copies targets: with target_per_step those of the steps, with longest_target labels [first, first + steps) of the sample's,
  // else the sample's one target (first 0, steps 1).
  // int32 class numbers, or float rows of shape().target_width.
  virtual Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) = 0;
  // The same for one of several outputs.
  virtual Status ReadTargetsOf(size_t /*output*/, int64_t sample, int64_t first, int64_t steps, void* out) {
    return ReadTargets(sample, first, steps, out);
  }
  // Asks the system for what the sample will be read from, at most so many bytes; returns how many. Data in memory need none.
  virtual int64_t Expect(int64_t /*sample*/, int64_t /*most*/) { return 0; }
  // Of values: how a column of the targets was scaled.
  virtual TargetUnit target_unit(int64_t /*column*/) const { return {}; }
  // With shape().weighted: what the sample counts, 0 or more.
  virtual Status ReadWeight(int64_t /*sample*/, float* out) {
    *out = 1.0f;
    return Status::Ok();
  }
  // With shape().state_width: what State begins with.
  virtual Status ReadState(int64_t /*sample*/, float* /*out*/) { return Status::Ok(); }
};

// What is asked of the targets of one output.
struct TargetRequest {
  std::string key = "y";                    // of their array in a .npz
  std::optional<Task> task = std::nullopt;  // class numbers for classify, values for regress; unset: whole numbers are classes
  bool one_hot = false;                     // class numbers are rows of zeros with a one in them
  bool within_one = false;                  // values lie between 0 and 1, or are refused
};

// Opens what a job names: a generator text or a .npy/.npz file. Files are scanned once in bounded memory, so that
// values that are not finite, ids below zero, empty samples and damaged files are refused here, with file and sample.
// `task` decides how targets are read: class numbers for classify, values for regress.
struct SamplesRequest {
  std::string source;   // DataOptions::train or valid_file
  std::string targets;  // .npy beside a .npy source
  std::string lengths;
  std::string weights;
  std::string initial_state;
  std::string target_lengths;  // .npy beside a .npy source, with `unaligned`
  Task task = Task::Classify;
  std::optional<float> padding = std::nullopt;  // steps of nothing but this value, before or behind a row, are no steps of it
  bool one_hot = false;                         // class numbers are rows of zeros with a one in them
  bool targets_within_one = false;              // values as targets lie between 0 and 1, or are refused
  bool unaligned = false;                   // a target is a sequence of labels from 1, which the sample has steps enough for
  bool inputs_only = false;                 // no targets are read, and none need be there; of loss and shape the model knows
  uint64_t seed = 1;                        // for generators
  std::vector<TargetRequest> outputs = {};  // of several outputs; empty: one, of which the keys above speak
};
Result<std::unique_ptr<Samples>> OpenSamples(const SamplesRequest& request);

// Whether a source is text of any kind, which becomes a Store before it is read (ingest.h): what is no array and no generator.
Result<bool> IsText(const std::string& source);

}  // namespace plimsoll
