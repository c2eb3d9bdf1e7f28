// verify: one training step of the user's own job under its plan, against plain loops in double precision, and against itself
//   with another number of threads, another schedule and the portable products, bit for bit. Outside the budget: the reference
//   holds everything.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "model/weights.h"
#include "plimsoll/trainer.h"
#include "reference/gradient_check.h"
#include "reference/reference.h"
#include "train/setup.h"
#include "train/verify.h"

namespace plimsoll {
namespace {

// Gradients and outputs of one step, as canonical tensors.
struct StepResult {
  double loss = 0.0;
  std::vector<std::vector<float>> gradients;  // in the order of WeightPlaces; empty where a layer does not learn
  std::vector<std::vector<float>> outputs;    // a sample
};

// Sorts packed output rows back to samples.
class Collector final : public OutputSink {
 public:
  Collector(const Spec& spec, std::vector<int64_t> numbers, StepResult& result)
      : spec_(spec), numbers_(std::move(numbers)), result_(result) {}
  void Rows(const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) override {
    for (int64_t item = first; item < first + count; ++item) {
      const auto [row, step] = spec_.per_step_targets ? group.PlaceOf(item) : RowGroup::Place{item, 0};
      const auto place = std::find(numbers_.begin(), numbers_.end(), group.samples[row]) - numbers_.begin();
      auto& rows = result_.outputs[static_cast<size_t>(place)];
      rows.resize(static_cast<size_t>((spec_.per_step_targets ? group.lengths[row] : 1) * spec_.output_width));
      std::copy_n(outputs + (item - first) * stride, spec_.output_width, rows.begin() + step * spec_.output_width);
    }
  }

 private:
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
  engine.step.SetUpdate(1);
  engine.step.ZeroGradients();
  result.outputs.assign(numbers.size(), {});
  Collector collector(setup.network->spec(), numbers, result);
  engine.step.SetOutputSink(&collector);
  Batch batch(setup.samples.get(), engine.batch_buffers(), setup.plan.group_rows, setup.network->spec().reversed);
  batch.Start(numbers.data(), static_cast<int64_t>(numbers.size()));
  Schedule schedule(RecomputeOf(setup.plan), setup.plan.stages.front().blocks);
  StepSums sums;
  for (int64_t group = 0; group < batch.groups(); ++group) {
    const Result<RowGroup> rows = batch.Read(group);
    if (!rows.ok()) return rows.status();
    schedule.Start(BlocksOf(rows.value().steps));
    PLIMSOLL_RETURN_IF_ERROR(engine.step.TrainGroup(rows.value(), schedule, 1.0 / static_cast<double>(batch.items()), sums));
  }
  result.loss = sums.loss / static_cast<double>(sums.items) + engine.penalty.Value();
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
    const size_t items = spec.per_step_targets ? steps : 1;
    std::vector<float> values(
        std::max(steps * static_cast<size_t>(spec.input_width), items * static_cast<size_t>(spec.output_width)));
    if (spec.id_input) {
      sample.ids.resize(steps);
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadInputs(number, 0, sample.steps, sample.ids.data()));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadInputs(number, 0, sample.steps, values.data()));
      sample.features.assign(values.begin(), values.begin() + static_cast<int64_t>(steps) * spec.input_width);
    }
    if (spec.class_targets()) {
      sample.classes.resize(items);
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadTargets(number, 0, static_cast<int64_t>(items), sample.classes.data()));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(setup.samples->ReadTargets(number, 0, static_cast<int64_t>(items), values.data()));
      sample.values.assign(values.begin(), values.begin() + static_cast<int64_t>(items) * spec.output_width);
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
  return spec.loss == Loss::Custom || std::any_of(spec.nodes.begin(), spec.nodes.end(), [](const Node& node) {
           return std::holds_alternative<CustomOptions>(node.kind);
         });
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

template <typename T>
std::vector<T> Joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

TensorDifference JudgeTensor(std::string name, const std::vector<float>& got, const std::vector<double>& exact,
                             const std::vector<float>& twin, int64_t longest_steps) {
  TensorDifference result{.tensor = std::move(name), .elements = static_cast<int64_t>(exact.size())};
  for (size_t i = 0; i < exact.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - exact[i]);
    if (std::isnan(result.max_abs)) break;  // not a number is what the tensor comes to
    if (!(difference <= result.max_abs)) result.max_abs = difference;
  }
  result.relative = RelativeError(got, exact);
  const double floor = 1.3e-6 * std::sqrt(static_cast<double>(std::min<int64_t>(longest_steps, 32)));
  result.allowed = std::max(floor, 4.0 * RelativeError(twin, exact));
  // A gradient is a mean over the items: terms of a total size of about one that may cancel each other. What is left of them
  // has no relative size where it is near the rounding of one.
  const bool tiny = result.max_abs <= 0x1p-24;
  result.ok = result.relative <= result.allowed || tiny;
  return result;
}

Result<VerifyReport> Verify(const Job& job) {
  FlushDenormals flush;
  Result<std::unique_ptr<Setup>> made = SetUp(job, {});
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
      {.recompute = Recompute{.segment_blocks = blocks, .slots = 0}},
      {.recompute = Recompute{.segment_blocks = 1, .slots = 2}, .backend = ProductBackend::Portable},
  };
  for (const SetupOptions& options : others) {
    Result<std::unique_ptr<Setup>> again = SetUp(other_threads, options);
    if (!again.ok()) return again.status();
    StepResult repeated;
    PLIMSOLL_RETURN_IF_ERROR(RunStep(**again, numbers, repeated, nullptr));
    report.same_bits = report.same_bits && SameBits(planned, repeated);
  }

  const auto exact = RunReference<double>(setup, numbers, weights);
  if (!exact.ok()) return exact.status();
  const auto rounded = RunReference<float>(setup, numbers, weights);
  if (!rounded.ok()) return rounded.status();
  const auto judge = [&](std::string name, const std::vector<float>& got, const std::vector<double>& wanted,
                         const std::vector<float>& twin) {
    report.tensors.push_back(JudgeTensor(std::move(name), got, wanted, twin, longest));
  };
  judge("loss", {static_cast<float>(planned.loss)}, {exact.value().loss}, {rounded.value().loss});
  judge("outputs", Joined(planned.outputs), Joined(exact.value().outputs), Joined(rounded.value().outputs));
  for (size_t i = 0; i < exact.value().gradients.size(); ++i) {
    if (planned.gradients[i].empty()) continue;
    judge("gradient of " + exact.value().gradients[i].name, planned.gradients[i], exact.value().gradients[i].values,
          rounded.value().gradients[i].values);
  }
  if (HasCustomParts(setup.network->spec())) PLIMSOLL_RETURN_IF_ERROR(JudgeCustomParts(setup, numbers, weights, report));
  report.ok = report.same_bits && std::all_of(report.tensors.begin(), report.tensors.end(), [](const auto& t) { return t.ok; });
  return report;
}

}  // namespace plimsoll
