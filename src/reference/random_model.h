// random_model: small models with random weights and ragged batches, for the tests in this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "model/spec.h"
#include "reference/ctc.h"
#include "reference/reference.h"

namespace plimsoll {

inline LayerKind LstmOf(int64_t units) { return LSTMOptions{.units = units, .return_sequences = std::nullopt}; }
inline LayerKind ProjectedOf(int64_t units, int64_t proj_size, bool use_bias = true) {
  return LSTMOptions{.units = units, .use_bias = use_bias, .proj_size = proj_size};
}
inline LayerKind NormalizedOf(int64_t units, bool use_bias = true) {
  return LSTMOptions{.units = units, .use_bias = use_bias, .layer_normalization = true};
}
inline LayerKind GruOf(int64_t units, bool reset_after, bool use_bias = true) {
  return GRUOptions{.units = units, .use_bias = use_bias, .reset_after = reset_after};
}
inline LayerKind RnnOf(int64_t units, bool use_bias = true) { return SimpleRNNOptions{.units = units, .use_bias = use_bias}; }
inline LayerKind DenseOf(int64_t units, Activation activation) {
  return DenseOptions{.units = units, .activation = activation};
}
inline LayerKind Head(Activation activation = Activation::Linear) { return DenseOptions{.units = 0, .activation = activation}; }

// A layer that reads others than the one before it.
inline LayerOptions Reading(std::vector<std::string> inputs, LayerKind kind) {
  return {.name = "", .kind = std::move(kind), .inputs = std::move(inputs)};
}

// The task follows from the targets.
inline Spec SpecOf(std::vector<LayerOptions> layers, const SampleShape& shape, const TrainOptions& train = {}) {
  Job job;
  job.train = train;
  job.task = shape.target_classes ? Task::Classify : Task::Regress;
  job.layers = std::move(layers);
  Result<Spec> made = MakeSpec(job, shape);
  PLIMSOLL_CHECK(made.ok(), made.status().message().c_str());
  return std::move(made).value();
}

inline Spec SpecOf(const std::vector<LayerKind>& kinds, const SampleShape& shape, const TrainOptions& train = {}) {
  std::vector<LayerOptions> layers;
  for (const LayerKind& kind : kinds) layers.push_back({.name = "", .kind = kind});
  return SpecOf(std::move(layers), shape, train);
}

inline double RandomBetween(RandomSequence& random, double low, double high) { return low + (high - low) * random.Unit(); }

// Uniform in [-0.8, 0.8]: large enough that every gate leaves its linear part.
inline std::vector<ReferenceTensor<double>> RandomWeights(const Spec& spec, uint64_t seed) {
  std::vector<ReferenceTensor<double>> weights;
  for (const TensorShape& tensor : CanonicalTensors(spec)) {
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= extent;
    RandomSequence random(SeedFor(seed, RandomUse::Weights), weights.size());
    std::vector<double> values(static_cast<size_t>(elements));
    for (double& value : values) value = RandomBetween(random, -0.8, 0.8);
    weights.push_back({tensor.name, tensor.shape, std::move(values)});
  }
  return weights;
}

inline std::vector<ReferenceSample<double>> RandomBatch(const Spec& spec, const std::vector<int64_t>& lengths, uint64_t seed) {
  std::vector<ReferenceSample<double>> batch;
  for (const int64_t steps : lengths) {
    RandomSequence random(SeedFor(seed, RandomUse::Data), batch.size());
    ReferenceSample<double> sample;
    sample.number = 7 + 10 * static_cast<int64_t>(batch.size());
    sample.steps = steps;
    if (spec.id_input) {
      for (int64_t t = 0; t < steps; ++t) sample.ids.push_back(static_cast<int32_t>(random.Below(spec.vocabulary)));
    } else {
      for (int64_t i = 0; i < steps * spec.input_width; ++i) sample.features.push_back(RandomBetween(random, -1.0, 1.0));
    }
    for (const ModelOutput& output : spec.outputs) {
      ReferenceTargets<double>& targets = sample.targets.emplace_back();
      const int64_t items = output.per_step ? steps : 1;
      const double lowest = output.loss == Loss::BinaryCrossentropy ? 0.0 : -1.0;
      if (output.loss == Loss::Ctc) {  // as many labels as the steps have room for
        const auto longest = static_cast<uint64_t>(std::get<CTCOptions>(spec.nodes.back().kind).longest);
        const auto most = static_cast<int64_t>(1 + random.Below(longest));
        while (static_cast<int64_t>(targets.classes.size()) < most) {
          targets.classes.push_back(static_cast<int32_t>(1 + random.Below(output.width - 1)));
          if (reference::CtcStepsOf(targets.classes) <= steps) continue;
          targets.classes.pop_back();
          break;
        }
      } else if (output.class_targets()) {
        for (int64_t i = 0; i < items; ++i) targets.classes.push_back(static_cast<int32_t>(random.Below(output.width)));
      } else {
        for (int64_t i = 0; i < items * output.width; ++i) targets.values.push_back(RandomBetween(random, lowest, 1.0));
      }
    }
    for (int64_t i = 0; i < spec.state_width; ++i) sample.start.push_back(RandomBetween(random, -1.0, 1.0));
    batch.push_back(std::move(sample));
  }
  return batch;
}

template <typename To, typename From>
std::vector<To> Converted(const std::vector<From>& values) {
  std::vector<To> converted;
  for (const From value : values) converted.push_back(static_cast<To>(value));
  return converted;
}

template <typename To, typename From>
std::vector<ReferenceTensor<To>> Converted(const std::vector<ReferenceTensor<From>>& tensors) {
  std::vector<ReferenceTensor<To>> converted;
  for (const ReferenceTensor<From>& tensor : tensors)
    converted.push_back({tensor.name, tensor.shape, Converted<To>(tensor.values)});
  return converted;
}

template <typename To, typename From>
std::vector<ReferenceSample<To>> Converted(const std::vector<ReferenceSample<From>>& batch) {
  std::vector<ReferenceSample<To>> converted;
  for (const ReferenceSample<From>& sample : batch) {
    converted.push_back({sample.number,
                         sample.steps,
                         sample.ids,
                         Converted<To>(sample.features),
                         {},
                         static_cast<To>(sample.weight),
                         Converted<To>(sample.start)});
    for (const ReferenceTargets<From>& targets : sample.targets)
      converted.back().targets.push_back({targets.classes, Converted<To>(targets.values)});
  }
  return converted;
}

}  // namespace plimsoll
