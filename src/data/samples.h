// samples: a data set as training sees it: how many samples, how long each is, and the values of sample i.
//   Implementations: generated (generator.h), and .npy/.npz read where they lie (npy_samples.h).
//   Reading never maps a file and never allocates after the constructor; it may be called from any one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct SampleShape {
  bool ids = false;              // inputs are ids (int32), one a step; else features (float)
  int64_t width = 1;             // features a step; 1 for ids
  bool target_per_step = false;  // one target a step; else one a sample
  bool target_classes = false;   // targets are class numbers (int32); else values (float)
  int64_t target_width = 1;      // values a target; 1 for class numbers
  int64_t vocabulary = 0;        // ids lie in [0, vocabulary); 0: unknown until the data was scanned
  int64_t classes = 0;           // class numbers lie in [0, classes); 0 where targets are values
  bool weighted = false;         // samples have weights; else each counts 1
};

class Samples {
 public:
  virtual ~Samples() = default;
  virtual const SampleShape& shape() const = 0;
  virtual int64_t count() const = 0;                 // at least 1
  virtual int64_t length(int64_t sample) const = 0;  // time steps, at least 1
  // Copies the inputs of steps [first, first + steps) of one sample: int32 ids, or float rows of shape().width.
  virtual Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) = 0;
  // Copies targets: with target_per_step those of the steps, else the sample's one target (first 0, steps 1).
  // int32 class numbers, or float rows of shape().target_width.
  virtual Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) = 0;
  // With shape().weighted: what the sample counts, 0 or more.
  virtual Status ReadWeight(int64_t /*sample*/, float* out) {
    *out = 1.0f;
    return Status::Ok();
  }
};

// Opens what a job names: a generator text or a .npy/.npz file. Files are scanned once in bounded memory, so that
// values that are not finite, ids below zero, empty samples and damaged files are refused here, with file and sample.
// `task` decides how targets are read: class numbers for classify, values for regress.
struct SamplesRequest {
  std::string source;   // DataOptions::train or valid_file
  std::string targets;  // .npy beside a .npy source
  std::string lengths;
  std::string weights;
  Task task = Task::Classify;
  std::optional<float> padding = std::nullopt;  // steps of nothing but this value, before or behind a row, are no steps of it
  bool one_hot = false;                         // class numbers are rows of zeros with a one in them
  bool targets_within_one = false;              // values as targets lie between 0 and 1, or are refused
  uint64_t seed = 1;                            // for generators
};
Result<std::unique_ptr<Samples>> OpenSamples(const SamplesRequest& request);

}  // namespace plimsoll
