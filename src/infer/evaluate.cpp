// evaluate: the score of a trained model on its own validation data or on another file, inside the same kind of budget.
#include <fmt/format.h>

#include "base/machine.h"
#include "infer/scorer.h"
#include "plimsoll/trainer.h"
#include "train/model_folder.h"

namespace plimsoll {
namespace {

Result<std::vector<ClassScore>> NamedClasses(const Setup& setup, const std::vector<ClassCounts>& counts) {
  TokenTable names;
  if (setup.text != nullptr) {
    Result<TokenTable> read = ReadLabels(*setup.text);
    if (!read.ok()) return read.status();
    names = std::move(read).value();
  }
  std::vector<ClassScore> classes;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    classes.push_back({.name = number < names.size() ? std::string(names[number]) : fmt::format("{}", i),
                       .precision = counts[i].precision(),
                       .recall = counts[i].recall(),
                       .f1 = counts[i].f1(),
                       .support = counts[i].wanted});
  }
  return classes;
}

}  // namespace

Result<EvaluateResult> Evaluate(const EvaluateRequest& request) {
  FlushDenormals flush;
  const Result<std::string> folder = FindModelFolder(request.model);
  if (!folder.ok()) return folder.status();
  Result<Job> read = ReadModelJob(folder.value());
  if (!read.ok()) return read.status();
  Job job = std::move(read).value();
  if (!request.data_file.empty()) {
    DataOptions& data = job.data;
    data.train = request.data_file;
    data.targets = request.targets;
    data.lengths = request.lengths;
    data.initial_state = request.initial_state;
    data.target_lengths = request.target_lengths;
    data.valid_share = 0.0;
    data.train_more.clear();
    data.valid_more.clear();
    data.weights.clear();
    for (std::string* file : {&data.valid_file, &data.valid_targets, &data.valid_lengths, &data.valid_weights,
                              &data.valid_initial_state, &data.valid_target_lengths}) {
      file->clear();
    }
  }
  const Result<bool> text = IsText(job.data.train);
  if (!text.ok()) return text.status();
  if (text.value()) job.data.dictionary = folder.value();  // ids and classes are the model's, whatever is in the file
  if (!request.memory.empty()) job.memory.budget = request.memory;
  if (request.threads > 0) job.train.threads = request.threads;
  job.init_from.clear();
  job.train.custom_loss = request.custom_loss;
  job.train.custom_metric = request.custom_metric;
  for (LayerOptions& layer : job.layers) {
    auto* custom = std::get_if<CustomOptions>(&layer.kind);
    for (size_t i = 0; custom != nullptr && i < request.custom_layers.size(); ++i) {
      if (request.custom_layers[i].function == custom->function) custom->layer = request.custom_layers[i].layer;
    }
  }

  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.training = false, .observer = request.observer, .per_class = true});
  if (!setup.ok()) return setup.status();
  Setup& ready = **setup;
  Result<std::unique_ptr<Engine>> engine = Open(ready);
  if (!engine.ok()) return engine.status();
  PLIMSOLL_RETURN_IF_ERROR(ReadWeights(folder.value(), ready, **engine));
  (*engine)->step.PrepareWeights();

  const ScoredPart part = ready.valid != nullptr           ? ScoredPart::ValidationFile
                          : ready.split->valid_count() > 0 ? ScoredPart::ValidationShare
                                                           : ScoredPart::Training;
  const int64_t count = part == ScoredPart::ValidationFile    ? ready.valid->count()
                        : part == ScoredPart::ValidationShare ? ready.split->valid_count()
                                                              : ready.samples->count();
  const OwnerMemory& files = (*engine)->memory.owner(NetworkOwner::Files);
  std::span<int64_t> confusion;
  if (const int64_t classes = ready.network->confused_classes(); classes > 0)
    confusion = {files.I64(ConfusionCounts), static_cast<size_t>(classes * classes)};
  std::vector<ClassCounts> counts;
  const ScoreWatch watch{.observer = request.observer, .what = "evaluation", .confusion = confusion, .classes = &counts};
  const Result<Score> score = ScoreSamples(ready, **engine, part, count, watch);
  if (!score.ok()) return score.status();
  EvaluateResult result{.score = score.value(),
                        .samples = count,
                        .plan = ready.plan,
                        .peak_bytes = PeakResidentBytes(),
                        .outputs = ready.outputs};
  if (counts.empty()) return result;
  Result<std::vector<ClassScore>> named = NamedClasses(ready, counts);
  if (!named.ok()) return named.status();
  result.classes = std::move(named).value();
  result.confusion.assign(confusion.begin(), confusion.end());
  return result;
}

}  // namespace plimsoll
