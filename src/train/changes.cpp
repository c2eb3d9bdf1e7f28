#include "train/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/bytes.h"
#include "kernels/block_rows.h"
#include "model/layer_kinds.h"

namespace plimsoll {
namespace {

constexpr size_t kMostChanges = 3;
constexpr int64_t kMoreRecompute = 10;
constexpr int64_t kWorthTelling = 64 * kKiB;

// A job with one thing changed; the lengths may be cut as well.
struct Candidate {
  std::string change;
  Job job;
  int64_t longest = INT64_MAX;  // steps
  bool spill = false;
};

void AddLayerChanges(const Job& job, std::vector<Candidate>& candidates) {
  for (size_t i = 0; i < job.layers.size(); ++i) {
    const auto halve = [&](const char* key, int64_t now, auto change) {
      if (now < 2 || (i + 1 == job.layers.size())) return;  // the last layer's width comes from the task
      Candidate candidate{.change = fmt::format("model.layers.{}.{} = {}", i, key, now / 2), .job = job};
      change(candidate.job.layers[i].kind);
      candidates.push_back(std::move(candidate));
    };
    std::visit(
        [&]<typename Options>(const Options& options) {
          if constexpr (RecurrentOptions<Options>) {
            halve("units", options.units, [](LayerKind& kind) { std::get<Options>(kind).units /= 2; });
          }
        },
        job.layers[i].kind);
    if (const auto* embedding = std::get_if<EmbeddingOptions>(&job.layers[i].kind)) {
      halve("output_dim", embedding->output_dim, [](LayerKind& kind) { std::get<EmbeddingOptions>(kind).output_dim /= 2; });
    } else if (const auto* dense = std::get_if<DenseOptions>(&job.layers[i].kind)) {
      halve("units", dense->units, [](LayerKind& kind) { std::get<DenseOptions>(kind).units /= 2; });
    }
  }
}

std::vector<Candidate> Candidates(const Setup& setup) {
  const Job& job = setup.job;
  std::vector<Candidate> candidates;
  const bool carried = setup.network->spec().carried;  // other batches or pieces would continue others
  if (job.train.batch_size > 1 && !carried) {
    candidates.push_back({.change = fmt::format("train.batch_size = {}", job.train.batch_size / 2), .job = job});
    candidates.back().job.train.batch_size /= 2;
  }
  AddLayerChanges(job, candidates);
  if (job.train.optimizer != OptimizerKind::Sgd) {
    candidates.push_back({.change = "train.optimizer = sgd", .job = job});
    candidates.back().job.train.optimizer = OptimizerKind::Sgd;
  }
  if (job.memory.max_recompute < kMoreRecompute && setup.input.worst_lengths.front() > kBlockSteps) {
    candidates.push_back({.change = fmt::format("--max-recompute {}", kMoreRecompute), .job = job});
    candidates.back().job.memory.max_recompute = kMoreRecompute;
  }
  if (job.memory.spill.empty()) candidates.push_back({.change = "--spill DIR", .job = job, .spill = true});
  const int64_t longest = setup.input.worst_lengths.front();
  if (longest > 1 && !carried) {
    candidates.push_back(
        {.change = fmt::format("sequences of at most {} steps", longest / 2), .job = job, .longest = longest / 2});
  }
  return candidates;
}

}  // namespace

std::vector<PlanChange> ChangesThatHelp(const Setup& setup, const SampleShape& shape) {
  std::vector<PlanChange> changes;
  for (const Candidate& candidate : Candidates(setup)) {
    const Result<Spec> spec = MakeSpec(candidate.job, shape);
    if (!spec.ok()) continue;  // the layers no longer go together
    PlanInput input = setup.input;
    const Network network(spec.value(), setup.network->lanes(),
                          BatchSteps(candidate.job, setup.samples->count(), setup.row_steps));
    std::vector<int64_t> longest = setup.longest;
    longest.resize(std::min(longest.size(), static_cast<size_t>(candidate.job.train.batch_size)));
    for (int64_t& length : longest) length = std::min(length, candidate.longest);
    DescribeNetwork(input, network,
                    {.job = candidate.job,
                     .shape = shape,
                     .samples = setup.samples->count(),
                     .training = !input.forward_only,
                     .trace_bytes = setup.trace_bytes,
                     .confusion = setup.confusion,
                     .metric_bytes = setup.metrics.bytes()},
                    0, longest);
    input.spill = input.spill || candidate.spill;
    const int64_t with_it = SmallestBudget(input);
    if (with_it <= setup.plan.min_bytes - kWorthTelling) changes.push_back({candidate.change, with_it});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.min_bytes < b.min_bytes; });
  if (changes.size() > kMostChanges) changes.resize(kMostChanges);
  return changes;
}

}  // namespace plimsoll
