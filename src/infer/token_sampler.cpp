#include "infer/token_sampler.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

bool MoreProbable(const Candidate& a, const Candidate& b) { return a.output != b.output ? a.output > b.output : a.id < b.id; }

// [0, 1), 53 bits.
double Unit(RandomSequence& random) {
  const uint64_t high = random.Word(), low = random.Word();
  return static_cast<double>((high << 32 | low) >> 11) * 0x1.0p-53;
}

}  // namespace

double TokenSampler::WeightOf(const Candidate& candidate, float largest) const {
  return std::exp((static_cast<double>(candidate.output) - static_cast<double>(largest)) / options_.temperature);
}

int32_t TokenSampler::Draw(const float* outputs, RandomSequence& random) {
  size_t count = 0;
  for (size_t id = 0; id < candidates_.size(); ++id) {
    const auto number = static_cast<int64_t>(id);
    if (number == options_.never[0] || number == options_.never[1]) continue;
    if (!std::isfinite(outputs[id])) return kNone;
    candidates_[count++] = {outputs[id], static_cast<int32_t>(id)};
  }
  std::span<Candidate> left = candidates_.first(count);
  const Candidate best = *std::min_element(left.begin(), left.end(), MoreProbable);
  if (options_.temperature <= 0.0) return best.id;
  const double drawn = Unit(random);
  if (options_.top_k > 0 && options_.top_k < static_cast<int64_t>(count)) {
    std::partial_sort(left.begin(), left.begin() + options_.top_k, left.end(), MoreProbable);
    left = left.first(static_cast<size_t>(options_.top_k));
  }
  if (options_.top_p < 1.0) left = MostProbable(left, best.output);
  double sum = 0.0;
  for (const Candidate& candidate : left) sum += WeightOf(candidate, best.output);
  double rest = drawn * sum;
  for (const Candidate& candidate : left) {
    rest -= WeightOf(candidate, best.output);
    if (rest < 0.0) return candidate.id;
  }
  return best.id;  // rounding left a crumb
}

std::span<Candidate> TokenSampler::MostProbable(std::span<Candidate> candidates, float largest) const {
  constexpr size_t kAtOnce = 256;  // a few tokens have the most of it, as a rule: no more are sorted than that takes
  double all = 0.0;
  for (const Candidate& candidate : candidates) all += WeightOf(candidate, largest);
  double sum = 0.0;
  for (size_t at = 0; at < candidates.size(); ++at) {
    if (at % kAtOnce == 0) {
      const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(at);
      const auto sorted = static_cast<std::ptrdiff_t>(std::min(kAtOnce, candidates.size() - at));
      std::partial_sort(from, from + sorted, candidates.end(), MoreProbable);
    }
    sum += WeightOf(candidates[at], largest);
    if (sum >= options_.top_p * all) return candidates.first(at + 1);
  }
  return candidates;
}

}  // namespace plimsoll
