// verify: one training step of the user's own job under its plan, against plain loops in double precision, and against itself
//   with another number of threads, another schedule and the portable products, bit for bit. Outside the budget: the reference
//   holds everything.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "model/weights.h"
#include "plimsoll/trainer.h"
#include "reference/gradient_check.h"
#include "reference/reference.h"
#include "train/batch_gradient.h"
#include "train/setup.h"
#include "train/verify.h"

namespace plimsoll {
namespace {

// Gradients and outputs of one step, as canonical tensors.
struct StepResult {
  double loss = 0.0;
  std::vector<std::vector<float>> gradients;  // in the order of WeightPlaces; empty where a layer does not learn
  std::vector<std::vector<float>> outputs;    // a sample: those of all outputs, one behind the other
};

// Sorts packed output rows back to samples.
class Collector final : public OutputSink {
 public:
  Collector(const Spec& spec, std::vector<int64_t> numbers, StepResult& result)
      : spec_(spec), numbers_(std::move(numbers)), result_(result) {}
  void Rows(size_t output, const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) override {
    const bool per_step = spec_.outputs[output].per_step_outputs();
    const int64_t width = spec_.outputs[output].width;
    for (int64_t item = first; item < first + count; ++item) {
      const auto [row, step] = per_step ? group.PlaceOf(item) : RowGroup::Place{item, 0};
      const auto place = std::find(numbers_.begin(), numbers_.end(), group.samples[row]) - numbers_.begin();
      auto& rows = result_.outputs[static_cast<size_t>(place)];
      rows.resize(static_cast<size_t>(Values(spec_.outputs.size(), group.lengths[row])));
      std::copy_n(outputs + (item - first) * stride, width, rows.begin() + Values(output, group.lengths[row]) + step * width);
    }
  }

 private:
  // Of a sample of so many steps: what the outputs before this one give, one behind the other.
  int64_t Values(size_t output, int64_t steps) const {
    int64_t values = 0;
    for (size_t i = 0; i < output; ++i) values += (spec_.outputs[i].per_step_outputs() ? steps : 1) * spec_.outputs[i].width;
    return values;
  }
  const Spec& spec_;
  std::vector<int64_t> numbers_;
  StepResult& result_;
};

Status RunStep(Setup& setup, const std::vector<int64_t>& numbers, StepResult& result,
               std::vector<std::vector<float>>* weights) {
  Result<std::unique_ptr<Engine>> opened = Open(setup);
  if (!opened.ok()) return opened.status();
  Engine& engine = **opened;
  InitialiseWeights(*setup.network, engine.memory, setup.job.train.seed);
  engine.step.PrepareWeights();
  result.outputs.assign(numbers.size(), {});
  Collector collector(setup.network->spec(), numbers, result);
  engine.step.SetOutputSink(&collector);
  if (engine.beside != nullptr) engine.beside->step.SetOutputSink(&collector);
  StepSums sums;
  BatchGradient batch(setup, engine);
  PLIMSOLL_RETURN_IF_ERROR(batch.Run(numbers.data(), static_cast<int64_t>(numbers.size()), 1, 1, sums));
  result.loss = sums.MeanLoss(setup.network->spec()) + engine.penalty.Value();
  engine.penalty.AddGradient();
  for (const WeightPlace& place : WeightPlaces(*setup.network)) {
    auto& gradient = result.gradients.emplace_back(static_cast<size_t>(place.learns ? place.elements() : 0));
    if (place.learns) {
      GatherWeights(gradient.data(), engine.memory.layer(place.layer).F32(kGradient), place.tensor, 0, place.elements());
    }
    if (weights == nullptr) continue;
    auto& values = weights->emplace_back(static_cast<size_t>(place.elements()));
    GatherWeights(values.data(), engine.memory.layer(place.layer).F32(kWeights), place.tensor, 0, place.elements());
  }
  return Status::Ok();
}

template <typename T>
struct ReferenceInput {
  std::vector<ReferenceTensor<T>> tensors;
  std::vector<ReferenceSample<T>> batch;
};

template <typename T>
Result<ReferenceInput<T>> ReadReferenceInput(Setup& setup, const std::vector<int64_t>& numbers,
                                             const std::vector<std::vector<float>>& weights) {
  const Spec& spec = setup.network->spec();
  ReferenceInput<T> input;
  const std::vector<WeightPlace> places = WeightPlaces(*setup.network);
  for (size_t i = 0; i < places.size(); ++i) {
    input.tensors.push_back({places[i].name, places[i].shape(), std::vector<T>(weights[i].begin(), weights[i].end())});
  }
  for (const int64_t number : numbers) {
    ReferenceSample<T> sample;
    sample.number = number;
    sample.steps = setup.samples->length(number);
    const auto steps = static_cast<size_t>(sample.steps);
    std::vector<float> values(steps * static_cast<size_t>(spec.input_width));
    if (spec.id_input) {
      sample.ids.resize(steps);
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadInputs(number, 0, sample.steps, sample.ids.data()));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadInputs(number, 0, sample.steps, values.data()));
      sample.features.assign(values.begin(), values.end());
    }
    for (size_t output = 0; output < spec.outputs.size(); ++output) {
      ReferenceTargets<T>& targets = sample.targets.emplace_back();
      const int64_t items = spec.outputs[output].per_step ? sample.steps : setup.samples->target_length(number);
      if (spec.outputs[output].class_targets()) {
        targets.classes.resize(static_cast<size_t>(items));
        PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadTargetsOf(output, number, 0, items, targets.classes.data()));
      } else {
        values.resize(static_cast<size_t>(items * spec.outputs[output].width));
        PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadTargetsOf(output, number, 0, items, values.data()));
        targets.values.assign(values.begin(), values.end());
      }
    }
    if (setup.samples->shape().state_width > 0) {
      std::vector<float> start(static_cast<size_t>(setup.samples->shape().state_width));
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadState(number, start.data()));
      sample.start.assign(start.begin(), start.end());
    }
    if (spec.weighted) {
      float weight = 1.0f;
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadWeight(number, &weight));
      sample.weight = static_cast<T>(weight);
    }
    input.batch.push_back(std::move(sample));
  }
  return input;
}

ReferenceDropout DropoutOf(const Setup& setup) {
  return {.on = true, .seed = SeedFor(setup.job.train.seed, RandomUse::Dropout), .update = 1};
}

template <typename T>
Result<ReferenceResult<T>> RunReference(Setup& setup, const std::vector<int64_t>& numbers,
                                        const std::vector<std::vector<float>>& weights) {
  Result<ReferenceInput<T>> input = ReadReferenceInput<T>(setup, numbers, weights);
  if (!input.ok()) return input.status();
  return ReferenceStep<T>(setup.network->spec(), input->tensors, input->batch, DropoutOf(setup));
}

bool HasCustomParts(const Spec& spec) {
  return spec.output().loss == Loss::Custom || std::any_of(spec.nodes.begin(), spec.nodes.end(), [](const Node& node) {
           return std::holds_alternative<CustomOptions>(node.kind);
         });
}

// An LSTM with layer_normalization divides by the deviation of its values at every step. Where that is small, what was rounded
// comes back many times as large, and how much one run in float errs is a matter of luck: five of them are asked.
bool NormalisesState(const Spec& spec) {
  return std::any_of(spec.nodes.begin(), spec.nodes.end(), [](const Node& node) {
    const auto* lstm = std::get_if<LSTMOptions>(&node.kind);
    return lstm != nullptr && lstm->layer_normalization;
  });
}

// Each weight to one of its two neighbours among the floats.
void ShakeByLastBit(std::vector<std::vector<float>>& weights, uint64_t seed) {
  for (size_t tensor = 0; tensor < weights.size(); ++tensor) {
    RandomSequence random(SeedFor(seed, RandomUse::Test), tensor);
    for (float& weight : weights[tensor]) weight = std::nextafter(weight, random.Below(2) == 0 ? -HUGE_VALF : HUGE_VALF);
  }
}

// The reference runs what a program brought along as the engine does, so it cannot judge its gradient: central differences do,
// at some elements of every tensor, over a few samples.
Status JudgeCustomParts(Setup& setup, std::vector<int64_t> numbers, const std::vector<std::vector<float>>& weights,
                        VerifyReport& report) {
  constexpr size_t kSamples = 4;
  if (numbers.size() > kSamples) numbers.resize(kSamples);
  Result<ReferenceInput<double>> input = ReadReferenceInput<double>(setup, numbers, weights);
  if (!input.ok()) return input.status();
  const Spec& spec = setup.network->spec();
  const ReferenceDropout dropout = DropoutOf(setup);
  const GradientCheckOptions options{.elements_per_tensor = 16};
  const auto claimed = ReferenceStep(spec, input->tensors, input->batch, dropout).gradients;
  for (const TensorGradientCheck& check :
       CheckGradients(spec, input->tensors, input->batch, dropout, claimed, options).tensors) {
    const double size = std::max(check.claimed_norm, check.numeric_norm);
    report.tensors.push_back({.tensor = "differences of " + check.tensor,
                              .elements = check.checked,
                              .max_abs = check.difference_norm,
                              .relative = size > 0.0 ? check.difference_norm / size : 0.0,
                              .allowed = options.tolerance,
                              .ok = check.verdict != GradientVerdict::Failed});
  }
  return Status::Ok();
}

// Norm of (got - wanted) over the norm of wanted.
double RelativeError(const std::vector<float>& got, const std::vector<double>& wanted) {
  double squares = 0.0, size = 0.0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - wanted[i];
    squares += difference * difference;
    size += wanted[i] * wanted[i];
  }
  return size > 0.0 ? std::sqrt(squares / size) : std::sqrt(squares);
}

bool SameBits(const StepResult& a, const StepResult& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  };
  return std::equal(a.gradients.begin(), a.gradients.end(), b.gradients.begin(), b.gradients.end(), equal) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), equal);
}

// A gradient that grows beyond what a float holds is the job's, not a mistake of ours: there is nothing to compare.
Status CheckFloatHolds(const ReferenceResult<double>& exact) {
  for (const auto& gradient : exact.gradients) {
    for (const double value : gradient.values) {
      if (std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())) continue;
      return Status::Diverged(
          fmt::format("verify: the gradient of {} is {} in double precision, more than a float holds", gradient.name, value),
          "use shorter sequences, other initializers or train.truncate: training would end here too");
    }
  }
  return Status::Ok();
}

template <typename T>
std::vector<T> Joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

TensorDifference JudgeTensor(std::string name, const std::vector<float>& got, const std::vector<double>& exact,
                             const std::vector<std::vector<float>>& twins, int64_t longest_steps) {
  TensorDifference result{.tensor = std::move(name), .elements = static_cast<int64_t>(exact.size())};
  for (size_t i = 0; i < exact.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - exact[i]);
    if (std::isnan(result.max_abs)) break;  // not a number is what the tensor comes to
    if (!(difference <= result.max_abs)) result.max_abs = difference;
  }
  result.relative = RelativeError(got, exact);
  result.allowed = 1.3e-6 * std::sqrt(static_cast<double>(std::min<int64_t>(longest_steps, 32)));
  for (const std::vector<float>& twin : twins) result.allowed = std::max(result.allowed, 4.0 * RelativeError(twin, exact));
  // A gradient is a mean over the items: terms of a total size of about one that may cancel each other. What is left of them
  // has no relative size where it is near the rounding of one.
  const bool tiny = result.max_abs <= 0x1p-24;
  result.ok = result.relative <= result.allowed || tiny;
  return result;
}

Result<VerifyReport> Verify(const Job& job) { return VerifyOn(job, BestInstructions()); }

Result<VerifyReport> VerifyOn(const Job& job, InstructionSet instructions) { return VerifyWith(job, instructions, SetUp); }

Result<VerifyReport> VerifyWith(const Job& job, InstructionSet instructions, const MakeSetup& make) {
  FlushDenormals flush;
  Result<std::unique_ptr<Setup>> made = make(job, {.instructions = instructions});
  if (!made.ok()) return made.status();
  Setup& setup = **made;

  // The first batch of the first epoch, or as much of it as the reference can take.
  VerifyReport report;
  std::vector<int64_t> numbers;
  const EpochOrder order(setup.split->train_count(), SeedFor(job.train.seed, RandomUse::Order), 1, job.train.shuffle);
  int64_t longest = 0;
  for (int64_t i = 0; i < std::min(job.train.batch_size, setup.split->train_count()); ++i) {
    const int64_t number = setup.split->train(order[i]);
    const int64_t steps = setup.samples->length(number);
    if (report.row_steps + steps > kMostVerifiedRowSteps) {
      if (numbers.empty()) {
        return Status::Usage(fmt::format("verify: a sequence of {} steps is more than the {} that the reference takes", steps,
                                         kMostVerifiedRowSteps));
      }
      break;
    }
    numbers.push_back(number);
    report.row_steps += steps;
    longest = std::max(longest, steps);
  }

  StepResult planned;
  std::vector<std::vector<float>> weights;
  PLIMSOLL_RETURN_IF_ERROR(RunStep(setup, numbers, planned, &weights));
  report.same_bits = true;
  Job other_threads = job;
  other_threads.train.threads = setup.pool->size() == 1 ? 2 : 1;
  // Everything kept, and as little as can be; the latter on the portable products.
  const int64_t blocks = setup.plan.stages.front().blocks;
  const SetupOptions others[] = {
      {.recompute = Recompute{.segment_blocks = blocks, .slots = 0}, .instructions = instructions},
      {.recompute = Recompute{.segment_blocks = 1, .slots = 2},
       .backend = ProductBackend::Portable,
       .instructions = instructions},
  };
  for (const SetupOptions& options : others) {
    Result<std::unique_ptr<Setup>> again = make(other_threads, options);
    if (!again.ok()) return again.status();
    StepResult repeated;
    PLIMSOLL_RETURN_IF_ERROR(RunStep(**again, numbers, repeated, nullptr));
    report.same_bits = report.same_bits && SameBits(planned, repeated);
  }

  const auto exact = RunReference<double>(setup, numbers, weights);
  if (!exact.ok()) return exact.status();
  PLIMSOLL_RETURN_IF_ERROR(CheckFloatHolds(exact.value()));
  std::vector<ReferenceResult<float>> twins;
  for (int number = 0; number < (NormalisesState(setup.network->spec()) ? 5 : 1); ++number) {
    std::vector<std::vector<float>> from = weights;
    if (number > 0) ShakeByLastBit(from, job.train.seed + static_cast<uint64_t>(number));
    Result<ReferenceResult<float>> twin = RunReference<float>(setup, numbers, from);
    if (!twin.ok()) return twin.status();
    twins.push_back(std::move(twin).value());
  }
  const auto judge = [&](std::string name, const std::vector<float>& got, const std::vector<double>& wanted,
                         const auto& of_twin) {
    std::vector<std::vector<float>> rounded;
    for (const ReferenceResult<float>& twin : twins) rounded.push_back(of_twin(twin));
    report.tensors.push_back(JudgeTensor(std::move(name), got, wanted, rounded, longest));
  };
  judge("loss", {static_cast<float>(planned.loss)}, {exact.value().loss},
        [](const auto& twin) { return std::vector<float>{twin.loss}; });
  judge("outputs", Joined(planned.outputs), Joined(exact.value().outputs),
        [](const auto& twin) { return Joined(twin.outputs); });
  for (size_t i = 0; i < exact.value().gradients.size(); ++i) {
    if (planned.gradients[i].empty()) continue;
    judge("gradient of " + exact.value().gradients[i].name, planned.gradients[i], exact.value().gradients[i].values,
          [i](const auto& twin) { return twin.gradients[i].values; });
  }
  if (HasCustomParts(setup.network->spec())) PLIMSOLL_RETURN_IF_ERROR(JudgeCustomParts(setup, numbers, weights, report));
  report.ok = report.same_bits && std::all_of(report.tensors.begin(), report.tensors.end(), [](const auto& t) { return t.ok; });
  return report;
}

}  // namespace plimsoll
