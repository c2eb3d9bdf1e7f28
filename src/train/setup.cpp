#include "train/setup.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <queue>

#include "base/bytes.h"
#include "base/check.h"
#include "base/machine.h"
#include "base/random.h"
#include "kernels/product_speed.h"
#include "model/job_check.h"
#include "model/train_options.h"
#include "train/budget.h"
#include "train/changes.h"
#include "train/data_fingerprint.h"

namespace plimsoll {
namespace {

// Two runs of a job differ by some pages in what they hold at start. The base is rounded up, so that they mostly name the same
// minimum, and a budget that another run has named is taken even where this one would name a little more. Both together stay
// below the 64 KiB by which a budget may be too small to be refused.
constexpr int64_t kBaseStep = 16 * kKiB;
constexpr int64_t kBaseWavers = 24 * kKiB;
constexpr int64_t kStackBytes = 128 * kKiB;  // a run takes less than half of it
constexpr int kSpeedSamples = 25;            // in the first ones threads that are new may still share a core

void MakeAbsolute(std::string& path) {
  if (!path.empty() && !path.starts_with("generate:")) path = std::filesystem::absolute(path).lexically_normal().string();
}

std::string TargetsKeyOf(const OutputOptions& output) { return output.targets.empty() ? "y_" + output.layer : output.targets; }

// Fills in what the spec has decided, so that the job says it: a trained model is read back with other data.
void Resolve(Job& job, const Spec& spec) {
  for (std::string* path :
       {&job.data.train, &job.data.targets, &job.data.lengths, &job.data.valid_file, &job.data.valid_targets,
        &job.data.valid_lengths, &job.data.weights, &job.data.valid_weights, &job.data.initial_state,
        &job.data.valid_initial_state, &job.data.target_lengths, &job.data.valid_target_lengths, &job.data.dictionary,
        &job.data.cache, &job.init_from, &job.memory.spill}) {
    MakeAbsolute(*path);
  }
  for (std::string& path : job.data.train_more) MakeAbsolute(path);
  for (std::string& path : job.data.valid_more) MakeAbsolute(path);
  if (spec.id_input) job.data.vocabulary = spec.vocabulary;
  for (OutputOptions& output : job.outputs) output.targets = TargetsKeyOf(output);
  size_t node = 0;
  for (LayerOptions& layer : job.layers) {
    if (std::holds_alternative<MaskingOptions>(layer.kind)) continue;  // how the data are read, and no node
    PLIMSOLL_CHECK(node < spec.nodes.size() && spec.nodes[node].kind.index() == layer.kind.index(),
                   "the spec has every layer of the job, in order");
    layer.kind = spec.nodes[node].kind;
    layer.name = spec.nodes[node].name;
    if (auto* embedding = std::get_if<EmbeddingOptions>(&layer.kind)) MakeAbsolute(embedding->weights);
    ++node;
    while (node < spec.nodes.size() && spec.nodes[node].implied) ++node;
  }
}

// The value of padding, where the job's layers name one.
std::optional<float> PaddingOf(const Job& job) {
  for (const LayerOptions& layer : job.layers) {
    if (const auto* masking = std::get_if<MaskingOptions>(&layer.kind)) return static_cast<float>(masking->mask_value);
    if (const auto* embedding = std::get_if<EmbeddingOptions>(&layer.kind); embedding != nullptr && embedding->mask_zero)
      return 0.0f;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Samples>> OpenValidation(const Job& job, const SampleShape& train) {
  SamplesRequest request = RequestOf(job);
  request.source = job.data.valid_file;
  request.targets = job.data.valid_targets;
  request.lengths = job.data.valid_lengths;
  request.weights = job.data.valid_weights;
  request.initial_state = job.data.valid_initial_state;
  request.target_lengths = job.data.valid_target_lengths;
  ++request.seed;
  Result<std::unique_ptr<Samples>> opened = OpenSamples(request);
  if (!opened.ok()) return opened.status();
  const SampleShape& shape = (*opened)->shape();
  bool same = shape.ids == train.ids && shape.width == train.width && shape.state_width == train.state_width;
  for (size_t output = 0; output < train.outputs(); ++output) {
    const TargetShape own = shape.Target(output), other = train.Target(output);
    same = same && own.per_step == other.per_step && own.width == other.width && own.are_classes == other.are_classes;
  }
  if (!same) {
    return Status::Data(fmt::format("{}: validation data of another shape than the training data", job.data.valid_file),
                        "inputs and targets must have the same widths and kinds in both");
  }
  return opened;
}

Result<int> ThreadsOf(const Job& job) {
  const int64_t threads = job.train.threads == 0 ? ReadCpuFacts().cores : job.train.threads;
  if (threads < 1 || threads > kMaxThreads) {
    return Status::Usage(fmt::format("train.threads: wanted 1 to {}, got {}", kMaxThreads, threads));
  }
  return static_cast<int>(threads);
}

// The first sample of another length than sample 0; -1: all have one.
int64_t FirstOfAnotherLength(const Samples& samples) {
  for (int64_t sample = 1; sample < samples.count(); ++sample) {
    if (samples.length(sample) != samples.length(0)) return sample;
  }
  return -1;
}

// State that goes on from batch to batch finds in the same row of the next batch what follows, and nothing else.
Status CheckCarried(const Setup& setup) {
  const Job& job = setup.job;
  const int64_t batch = std::min(job.train.batch_size, setup.samples->count());
  if (job.train.batch_tokens > 0 || job.train.length_window > 0)
    return Status::Usage(
        "stateful = true with train.batch_tokens or train.length_window: row by row, a batch goes on where the one "
        "before ended",
        "leave them out, or stateful");
  if (job.train.shuffle)
    return Status::Usage("stateful = true, but the samples are shuffled: what follows a sample would not be its continuation",
                         "set train.shuffle = false, or leave stateful out");
  if (job.data.valid_share > 0.0)
    return Status::Usage("stateful = true, but data.valid takes samples out of the middle of what continues",
                         "name a validation file, or leave stateful out");
  for (const Samples* set : {setup.samples.get(), setup.valid.get()}) {
    if (set == nullptr) continue;
    if (set->count() % batch != 0)
      return Status::Usage(
          fmt::format("stateful = true, but {} samples are no whole number of batches of {}: row by row, a batch goes on where "
                      "the one before ended",
                      set->count(), batch),
          "leave some samples out, or train with a batch_size that divides their number");
    if (const int64_t other = FirstOfAnotherLength(*set); other >= 0)
      return Status::Usage(fmt::format("stateful = true, but sample {} has {} steps and sample 0 has {}", other,
                                       set->length(other), set->length(0)),
                           "cut sequences into pieces of one length, or leave stateful out");
  }
  return Status::Ok();
}

// Sequences that a batch of so many steps can have.
int64_t MostRows(const Samples& samples, int64_t batch_tokens) {
  int64_t shortest = samples.length(0);
  for (int64_t sample = 1; sample < samples.count(); ++sample) shortest = std::min(shortest, samples.length(sample));
  return std::clamp<int64_t>(batch_tokens / shortest, 1, std::min<int64_t>(samples.count(), 1'000'000));
}

// What arrays have and text has not.
Status CheckTextJob(const Job& job) {
  const DataOptions& data = job.data;
  for (const std::string* file :
       {&data.targets, &data.lengths, &data.weights, &data.initial_state, &data.target_lengths, &data.valid_targets,
        &data.valid_lengths, &data.valid_weights, &data.valid_initial_state, &data.valid_target_lengths}) {
    if (!file->empty())
      return Status::Usage(fmt::format("\"{}\" belongs beside a .npy file, and {} is text", *file, data.train), "leave it out");
  }
  if (PaddingOf(job))
    return Status::Usage(fmt::format("{}: the lengths of texts are known, and nothing is padded", data.train),
                         "leave mask_zero or the Masking layer out");
  return Status::Ok();
}

// What text has and arrays and generators have not.
Status CheckArrayJob(const Job& job) {
  const DataOptions& data = job.data;
  const DataOptions unset;
  const char* key = !data.train_more.empty() || !data.valid_more.empty() ? "a list of files"
                    : data.format != unset.format                        ? "data.format"
                    : !data.text.empty()                                 ? "data.text"
                    : !data.label.empty()                                ? "data.label"
                    : !data.inputs.empty()                               ? "data.inputs"
                    : !data.categories.empty()                           ? "data.categories"
                    : !data.dates.empty()                                ? "data.dates"
                    : !data.series.empty()                               ? "data.series"
                    : data.header                                        ? "data.header"
                    : data.tokens != unset.tokens                        ? "data.tokens"
                    : data.lower                                         ? "data.lower"
                    : !data.label_separator.empty()                      ? "data.label_separator"
                    : data.window != 0                                   ? "data.window"
                    : data.horizon != unset.horizon                      ? "data.horizon"
                    : data.stride != unset.stride                        ? "data.stride"
                    : data.max_length != 0                               ? "data.max_length"
                    : !data.dictionary.empty()                           ? "data.dictionary"
                                                                         : nullptr;
  if (key == nullptr) return Status::Ok();
  return Status::Usage(fmt::format("{} belongs to text and tables, and {} is none", key, data.train), "leave it out");
}

// Slots lie where the plan says.
Status UseSlots(Setup& setup, Engine& engine) {
  const PlannedStage& stage = setup.plan.stages.front();
  const auto file = [&](size_t group) { return stage.spilled ? setup.spill[group].get() : nullptr; };
  PLIMSOLL_RETURN_IF_ERROR(engine.step.slots().Use(file(0), stage.slots));
  return engine.beside == nullptr ? Status::Ok() : engine.beside->step.slots().Use(file(1), stage.slots);
}

GroupBuffers GroupBuffersIn(const NetworkMemory& memory) {
  const OwnerMemory& batch = memory.owner(NetworkOwner::Batch);
  GroupBuffers buffers{.inputs = batch.Bytes(Inputs),
                       .weights = batch.Has(SampleWeights) ? batch.F32(SampleWeights) : nullptr,
                       .start = batch.Has(StartState) ? batch.F32(StartState) : nullptr,
                       .target_lengths = batch.Has(TargetLengths) ? batch.I32(TargetLengths) : nullptr};
  for (size_t output = 0; batch.Has(TargetsKey(output)); ++output) buffers.targets[output] = batch.Bytes(TargetsKey(output));
  return buffers;
}

}  // namespace

SamplesRequest RequestOf(const Job& job) {
  SamplesRequest request{.task = HasClassTargets(job) ? Task::Classify : Task::Regress,
                         .padding = PaddingOf(job),
                         .one_hot = job.train.loss == Loss::CategoricalCrossentropy,
                         .targets_within_one = job.train.loss == Loss::BinaryCrossentropy,
                         .unaligned = job.train.loss == Loss::Ctc,
                         .seed = job.train.seed};
  for (const OutputOptions& output : job.outputs) {
    const bool one_hot = output.loss == Loss::CategoricalCrossentropy;
    const bool classes = one_hot || output.loss == Loss::SparseCategoricalCrossentropy;
    TargetRequest& target = request.outputs.emplace_back(TargetRequest{.key = TargetsKeyOf(output), .one_hot = one_hot});
    if (output.loss != Loss::Auto) target.task = classes ? Task::Classify : Task::Regress;
    target.within_one = output.loss == Loss::BinaryCrossentropy;
  }
  return request;
}

int64_t BatchSteps(const Job& job, int64_t samples, int64_t row_steps) {
  if (job.train.optimizer == OptimizerKind::LazyAdam) return 0;  // it asks which vectors were read, so all of them are
  return std::min(job.train.batch_size, samples) * row_steps / samples;
}

void DescribeNetwork(PlanInput& input, const Network& network, const NeededFor& needed, int64_t row_steps,
                     const std::vector<int64_t>& longest) {
  const int64_t batch_size = std::min(needed.job.train.batch_size, needed.samples);
  // Scores deal rows out as training does, group after group in one memory: so a loss that is scored again is the same sum
  // wherever there are as many rows as a batch has.
  const int abreast = GroupsAbreast(network, batch_size);
  input.groups_abreast = abreast;
  input.worst_lengths.clear();
  input.worst_lengths_beside.clear();
  for (size_t row = 0; row < longest.size(); ++row) {  // dealt out in turn
    (row % static_cast<size_t>(abreast) == 0 ? input.worst_lengths : input.worst_lengths_beside).push_back(longest[row]);
  }
  input.owners = DeclareNeeds(network, {.batch_size = batch_size,
                                        .abreast = needed.training ? abreast : 1,
                                        .shape = needed.shape,
                                        .training = needed.training,
                                        .moments = MomentsOf(needed.job.train),
                                        .averages = needed.job.train.use_ema,
                                        .touched = needed.job.train.optimizer == OptimizerKind::LazyAdam,
                                        .trace_bytes = needed.trace_bytes,
                                        .confusion = needed.confusion,
                                        .metric_bytes = needed.metric_bytes,
                                        .window = std::min(needed.job.train.length_window, needed.samples),
                                        .candidates_bytes = needed.candidates_bytes});
  input.block_steps = kBlockSteps;
  input.slice_rows = kSliceRows / abreast;
  input.slice_steps = network.head_steps();
  input.layers.clear();
  for (int layer = 0; layer < network.layers(); ++layer) input.layers.push_back(network.name(layer));
  input.placement = {.align = kBufferAlign, .guard_bytes = kGuardBytes};
  input.forward_only = !needed.training;
  input.max_repeats = needed.job.memory.max_recompute;
  input.work = network.Work(needed.samples, row_steps, (needed.samples + batch_size - 1) / batch_size);
}

void KeepGroups(PlanInput& input, int64_t group_rows) {
  const auto rows = static_cast<size_t>(group_rows);
  input.worst_lengths.resize(rows);
  input.worst_lengths_beside.resize(std::min(rows, input.worst_lengths_beside.size()));
  input.fewest_rows = group_rows * input.groups_abreast;
}

LengthFacts LookAtLengths(const Samples& samples, const Samples* more, int64_t batch_size) {
  // Rows that run together have, one by one, at most the longest lengths.
  LengthFacts facts;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> longest;
  const auto most = static_cast<size_t>(std::min(batch_size, kGroupRows));
  for (const Samples* set : {&samples, more}) {
    if (set == nullptr) continue;
    for (int64_t sample = 0; sample < set->count(); ++sample) {
      const int64_t length = set->length(sample);
      if (set == &samples) facts.row_steps += length;
      if (longest.size() == most && length <= longest.top()) continue;
      if (longest.size() == most) longest.pop();
      longest.push(length);
    }
  }
  for (; !longest.empty(); longest.pop()) facts.longest.push_back(longest.top());
  std::reverse(facts.longest.begin(), facts.longest.end());
  return facts;
}

Result<std::unique_ptr<Setup>> SetUpText(const Job& job, const SetupOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTextJob(job));
  Result<TextData> data = OpenTextData(job, options.observer);
  if (!data.ok()) return data.status();
  Job split = job;
  if (data->split) split.data.valid_share = 0.0;
  if (job.task == Task::Lm && job.data.tokens == TokenKind::Auto) split.data.tokens = TokenKind::Char;
  SetupOptions named = options;
  if (job.task == Task::Tag) {
    Result<TokenTable> labels = ReadLabels(*data);
    if (!labels.ok()) return labels.status();
    std::vector<std::string_view> names;
    for (int64_t i = 0; i < labels->size(); ++i) names.push_back((*labels)[i]);
    named.tags = EntityTagsOf(names);
  }
  Result<std::unique_ptr<Setup>> setup = SetUpWith(split, std::move(data->samples), std::move(data->valid), named);
  if (!setup.ok()) return setup.status();
  (*setup)->job.data.valid_share = job.data.valid_share;
  (*setup)->text = std::make_unique<TextData>(std::move(data).value());
  return setup;
}

Result<std::unique_ptr<Setup>> SetUp(const Job& job, const SetupOptions& options) {
  if (job.data.train.empty())
    return Status::Usage("data.train: no data was named", "give a file (text, a table, .npz, .npy) or generate:adding");
  if (job.outputs.size() > kMostOutputs) return CheckJob(job);  // refused; there is no room for the targets of so many
  PLIMSOLL_RETURN_IF_ERROR(CheckOutputs(job));
  const DataOptions& data = job.data;
  for (const std::string* file :
       {&data.valid_targets, &data.valid_lengths, &data.valid_weights, &data.valid_initial_state, &data.valid_target_lengths}) {
    if (!file->empty() && data.valid_file.empty())
      return Status::Usage(fmt::format("\"{}\" belongs to a validation file, and data.valid names none", *file),
                           "set data.valid to the file of inputs, or leave it out");
  }
  const Result<bool> text = IsText(data.train);
  if (!text.ok()) return text.status();
  if (text.value()) return SetUpText(job, options);
  PLIMSOLL_RETURN_IF_ERROR(CheckArrayJob(job));
  SamplesRequest request = RequestOf(job);
  request.source = job.data.train;
  request.targets = job.data.targets;
  request.lengths = job.data.lengths;
  request.weights = job.data.weights;
  request.initial_state = job.data.initial_state;
  request.target_lengths = job.data.target_lengths;
  Result<std::unique_ptr<Samples>> samples = OpenSamples(request);
  if (!samples.ok()) return samples.status();
  if (job.data.valid_file.empty()) return SetUpWith(job, std::move(samples).value(), nullptr, options);
  Result<std::unique_ptr<Samples>> valid = OpenValidation(job, (*samples)->shape());
  if (!valid.ok()) return valid.status();
  return SetUpWith(job, std::move(samples).value(), std::move(valid).value(), options);
}

Result<std::unique_ptr<Setup>> SetUpWith(const Job& asked, std::unique_ptr<Samples> samples, std::unique_ptr<Samples> valid,
                                         const SetupOptions& options) {
  auto setup = std::make_unique<Setup>();
  Job job = asked;
  if (job.train.batch_tokens > 0) job.train.batch_size = MostRows(*samples, job.train.batch_tokens);
  setup->job = job;
  setup->samples = std::move(samples);
  setup->valid = std::move(valid);
  setup->trace_bytes = options.trace_bytes;
  PLIMSOLL_RETURN_IF_ERROR(CheckJob(job));
  const Result<int> threads = ThreadsOf(job);
  if (!threads.ok()) return threads.status();
  PLIMSOLL_RETURN_IF_ERROR(CheckTrainOptions(job.train));

  SampleShape shape = setup->samples->shape();
  int64_t widest = shape.width;
  for (size_t output = 0; output < shape.outputs(); ++output) widest = std::max(widest, shape.Target(output).width);
  if (widest * 4 > kRowBufferBytes) {
    return Status::Usage(fmt::format("{}: {} values a step, more than {}", job.data.train, widest, kRowBufferBytes / 4));
  }
  if (setup->valid != nullptr) {
    const SampleShape& valid_shape = setup->valid->shape();
    shape.vocabulary = std::max(shape.vocabulary, valid_shape.vocabulary);
    shape.classes = std::max(shape.classes, valid_shape.classes);
    for (size_t output = 0; output < shape.several; ++output) {
      shape.targets[output].classes = std::max(shape.targets[output].classes, valid_shape.targets[output].classes);
    }
    shape.longest_target = std::max(shape.longest_target, valid_shape.longest_target);
    shape.weighted = shape.weighted || valid_shape.weighted;
  }
  for (const OutputOptions& output : job.outputs) setup->outputs.push_back(output.layer);
  setup->split =
      std::make_unique<Split>(setup->samples->count(), job.data.valid_share, SeedFor(job.train.seed, RandomUse::Split));
  if (setup->split->train_count() == 0 || (job.data.valid_share > 0.0 && setup->split->valid_count() == 0)) {
    return Status::Usage(
        fmt::format("data.valid = {}: {} samples leave {} for training and {} for validation", job.data.valid_share,
                    setup->samples->count(), setup->split->train_count(), setup->split->valid_count()),
        "use more samples or another share");
  }

  Result<Spec> spec = MakeSpec(job, shape);
  if (!spec.ok()) return spec.status();
  if (spec->carried) PLIMSOLL_RETURN_IF_ERROR(CheckCarried(*setup));
  Result<MetricPlan> metrics = PlanMetrics(job, spec.value(), options.tags);
  if (!metrics.ok()) return metrics.status();
  setup->metrics = std::move(metrics).value();
  setup->metrics.per_class = options.per_class && job.task != Task::Lm;
  setup->confusion = options.training || options.per_class;
  Resolve(setup->job, spec.value());
  if (options.training) {  // whether a run is saved or not, or a plan would name another base than the run itself
    const Result<uint64_t> fingerprint = FingerprintOf(*setup->samples, setup->valid.get());
    if (!fingerprint.ok()) return fingerprint.status();
    setup->fingerprint = fingerprint.value();
  }
  if (options.check) PLIMSOLL_RETURN_IF_ERROR(options.check(*setup));
  const LengthFacts lengths = LookAtLengths(*setup->samples, setup->valid.get(), job.train.batch_size);
  setup->row_steps = lengths.row_steps;
  setup->longest = lengths.longest;
  setup->network = std::make_unique<Network>(std::move(spec).value(), VectorLanes(options.instructions),
                                             BatchSteps(job, setup->samples->count(), setup->row_steps));
  setup->pool = std::make_unique<ThreadPool>(threads.value());
  setup->products = std::make_unique<ProductSet>();
  setup->network->AddTiles(*setup->products);
  setup->products->Compile(options.backend, options.instructions);

  PlanInput& input = setup->input;
  input.operations_per_second = ProductSpeed(*setup->pool).Measure(kSpeedSamples).best;
  DescribeNetwork(input, *setup->network,
                  {.job = job,
                   .shape = shape,
                   .samples = setup->samples->count(),
                   .training = options.training,
                   .trace_bytes = options.trace_bytes,
                   .confusion = setup->confusion,
                   .metric_bytes = setup->metrics.bytes(),
                   .candidates_bytes = options.candidates_bytes},
                  setup->row_steps, setup->longest);
  const auto own_rows = static_cast<int64_t>(input.worst_lengths.size());
  if (options.group_rows > own_rows)
    return Status::Data(
        fmt::format("the snapshot ran {} rows together, and the job has groups of {}", options.group_rows, own_rows));
  if (options.group_rows > 0) KeepGroups(input, options.group_rows);
  for (int64_t group = 0; options.training && !job.memory.spill.empty() && group < input.groups_abreast; ++group) {
    Result<std::unique_ptr<SpillFile>> spill = SpillFile::Open(job.memory.spill);
    if (!spill.ok()) return spill.status();
    setup->spill[static_cast<size_t>(group)] = std::move(spill).value();
    input.spill = true;
  }

  setup->plan = FitToBudget(input);  // once in vain, so that what planning itself takes is in the base
  PopulateProgram(kStackBytes);
  malloc_trim(0);
  const int64_t resident = ExactResidentBytes();
  const Result<Budget> budget = ResolveBudget(job.memory.budget, ReadMemoryFacts(), resident);
  if (!budget.ok()) return budget.status();
  if (!budget.value().note.empty() && options.observer != nullptr) options.observer->Message(budget.value().note);
  input.base_bytes = RoundUp(resident, kBaseStep);
  input.lowest_base_bytes = resident - kBaseWavers;
  input.budget_bytes = budget.value().bytes;
  setup->plan = options.recompute ? PlanWith(input, {static_cast<int64_t>(input.worst_lengths.size()), *options.recompute})
                                  : FitToBudget(input);
  if (options.group_rows > 0) setup->plan.rounding_only_change = options.group_rows < own_rows;
  setup->plan.assumptions.push_back(setup->products->Describe());
  if (!budget.value().note.empty()) setup->plan.assumptions.push_back(budget.value().note);
  if (!setup->plan.feasible && !options.recompute && options.group_rows == 0)
    setup->plan.changes = ChangesThatHelp(*setup, shape);
  const Status fits = CheckFeasible(setup->plan);
  if (!fits.ok() && options.must_fit && !options.recompute) return fits;
  return setup;
}

Engine::Engine(Setup& setup, Arena arena_of_plan)
    : arena(std::move(arena_of_plan)),
      memory(*setup.network, setup.input.owners, setup.plan, arena),
      step(*setup.network, memory, *setup.pool, SeedFor(setup.job.train.seed, RandomUse::Dropout)),
      penalty(*setup.network, memory, *setup.pool),
      carried_width(setup.network->spec().carried_width()),
      abreast(static_cast<int>(setup.plan.groups_abreast)) {
  if (setup.plan.groups_abreast > 1 && !setup.input.forward_only) beside = std::make_unique<Beside>(setup, arena, memory);
}

Engine::Beside::Beside(Setup& setup, const Arena& arena, const NetworkMemory& first)
    : memory(*setup.network, setup.input.owners, setup.plan, arena, &first),
      step(*setup.network, memory, *setup.pool, SeedFor(setup.job.train.seed, RandomUse::Dropout)) {}

BatchBuffers Engine::batch_buffers(CarriedBy use) const {
  const OwnerMemory& batch = memory.owner(NetworkOwner::Batch);
  const int tables = use == CarriedBy::Training && batch.Has(CarriedState) ? CarriedState : ScoredState;
  BatchBuffers buffers{.samples = batch.I64(SampleNumbers),
                       .lengths = batch.I32(Lengths),
                       .carried = batch.Has(tables) ? batch.F32(tables) : nullptr,
                       .carried_width = carried_width,
                       .carried_rows = batch.bytes(SampleNumbers) / static_cast<int64_t>(sizeof(int64_t)),
                       .row = batch.Bytes(RowBuffer),
                       .abreast = abreast};
  buffers.groups.fill(GroupBuffersIn(memory));
  if (use == CarriedBy::Training && beside != nullptr) buffers.groups[1] = GroupBuffersIn(beside->memory);
  return buffers;
}

int64_t Engine::trained_row_steps() const {
  return step.trained_row_steps() + (beside == nullptr ? 0 : beside->step.trained_row_steps());
}

void Engine::SetTimelines(Timeline* first, Timeline* second) {
  step.SetTimeline(first);
  if (beside != nullptr) beside->step.SetTimeline(second);
}

void Engine::CheckGuards(const Plan& plan) const {
  if constexpr (kGuardBytes == 0) return;
  for (const PlannedBuffer& buffer : plan.buffers) {
    PLIMSOLL_CHECK(arena.GuardIntact(buffer.offset + buffer.bytes),
                   (buffer.owner + ": " + buffer.name + " was written beyond its end").c_str());
  }
}

Status Engine::Replan(Setup& setup, const Plan& plan) {
  PLIMSOLL_CHECK(plan.group_rows == setup.plan.group_rows, "row groups stay as they are while a job runs");
  PLIMSOLL_RETURN_IF_ERROR(arena.Resize(plan.arena_bytes));
  setup.plan = plan;
  memory.Bind(setup.input.owners, plan, arena);
  if (beside != nullptr) beside->memory.Bind(setup.input.owners, plan, arena);
  return UseSlots(setup, *this);
}

Result<std::unique_ptr<Engine>> Open(Setup& setup) {
  Result<Arena> arena = Arena::Create(setup.plan.arena_bytes);
  if (!arena.ok()) return arena.status();
  auto engine = std::make_unique<Engine>(setup, std::move(arena).value());
  PLIMSOLL_RETURN_IF_ERROR(UseSlots(setup, *engine));
  return engine;
}

}  // namespace plimsoll
