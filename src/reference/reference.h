// reference: the whole model as plain loops from the Spec, for float and for double. Never fast, never clever.
//   in:    a Spec, the weights in canonical order and layout (CanonicalTensors), some samples
//   out:   loss, outputs and gradients of one training step
//   It judges the kernels, the layers and `verify`: nothing of it is shared with them but the Spec and the random numbers.
// Losses and gradients are sums over all items of the batch (samples; with per-step targets all steps of all samples),
// divided once by the number of items; of several outputs each has its own items, and a weight. Penalties on weights come on
// top, once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.h"

namespace plimsoll {

template <typename T>
struct ReferenceTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<T> values;  // row-major
};

// Of one output: the one or the other.
template <typename T>
struct ReferenceTargets {
  std::vector<int32_t> classes;  // [items], for cross-entropy; items: 1, or steps with a target a step
  std::vector<T> values;         // [items, width], for the losses of values
};

template <typename T>
struct ReferenceSample {
  int64_t number = 0;                        // in the data set; dropout masks depend on it
  int64_t steps = 0;                         // at least 1
  std::vector<int32_t> ids;                  // [steps], with Spec::id_input
  std::vector<T> features;                   // [steps, input_width], else
  std::vector<ReferenceTargets<T>> targets;  // an output each
  T weight = 1;                              // what its items count
  std::vector<T> start;                      // [state_width] what State begins with; empty: zeros
};

struct ReferenceDropout {
  bool on = false;    // off: dropout layers pass their input on
  uint64_t seed = 0;  // already SeedFor(job seed, RandomUse::Dropout)
  uint64_t update = 0;
};

template <typename T>
struct ReferenceResult {
  T loss = 0;
  std::vector<std::vector<T>> outputs;        // a sample: [items, width], logits for classes; those of all outputs in a row
  std::vector<ReferenceTensor<T>> gradients;  // as CanonicalTensors orders and shapes them
};

// Forward, loss and backward of one batch. Weights or samples that do not fit the spec are a mistake of the caller.
template <typename T>
ReferenceResult<T> ReferenceStep(const Spec& spec, const std::vector<ReferenceTensor<T>>& weights,
                                 const std::vector<ReferenceSample<T>>& batch, const ReferenceDropout& dropout);

// Forward and loss alone, for central differences.
template <typename T>
T ReferenceLoss(const Spec& spec, const std::vector<ReferenceTensor<T>>& weights, const std::vector<ReferenceSample<T>>& batch,
                const ReferenceDropout& dropout);

}  // namespace plimsoll
