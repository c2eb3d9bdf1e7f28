// reference: the whole model as plain loops from the Spec, for float and for double. Never fast, never clever.
//   in:    a Spec, the weights in canonical order and layout (CanonicalTensors), some samples
//   out:   loss, outputs and gradients of one training step
//   It judges the kernels, the layers and `verify`: nothing of it is shared with them but the Spec and the random numbers.
// Losses and gradients are sums over all items of the batch (samples; with per-step targets all steps of all samples),
// divided once by the number of items. Penalties on weights come on top, once.
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

template <typename T>
struct ReferenceSample {
  int64_t number = 0;            // in the data set; dropout masks depend on it
  int64_t steps = 0;             // at least 1
  std::vector<int32_t> ids;      // [steps], with Spec::id_input
  std::vector<T> features;       // [steps, input_width], else
  std::vector<int32_t> classes;  // [items], for cross-entropy; items: 1, or steps with per-step targets
  std::vector<T> values;         // [items, output_width], for mean squared error
  T weight = 1;                  // what its items count
};

struct ReferenceDropout {
  bool on = false;    // off: dropout layers pass their input on
  uint64_t seed = 0;  // already SeedFor(job seed, RandomUse::Dropout)
  uint64_t update = 0;
};

template <typename T>
struct ReferenceResult {
  T loss = 0;
  std::vector<std::vector<T>> outputs;        // a sample: [items, output_width]; logits for classify
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
