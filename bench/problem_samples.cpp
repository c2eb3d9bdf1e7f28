#include "bench/problem_samples.h"

#include <algorithm>

#include "base/random.h"

namespace plimsoll {

ProblemSamples::ProblemSamples(const Problem& problem) : lengths_(problem.Lengths()) {
  const bool ids = problem.words > 0;
  shape_ = {.ids = ids,
            .width = ids ? 1 : problem.inputs,
            .target_per_step = ids,
            .target_classes = true,
            .target_width = 1,
            .vocabulary = problem.words,
            .classes = problem.classes()};
  int64_t row_steps = 0;
  for (const int64_t length : lengths_) {
    starts_.push_back(row_steps);
    row_steps += length;
  }
  RandomSequence random(SeedFor(1, RandomUse::Data), 0);
  const auto below = [&](int64_t bound) { return static_cast<int32_t>(random.Below(static_cast<uint64_t>(bound))); };
  ids_.resize(static_cast<size_t>(ids ? row_steps : 0));
  features_.resize(static_cast<size_t>(ids ? 0 : row_steps * problem.inputs));
  classes_.resize(lengths_.size());
  for (int32_t& id : ids_) id = below(problem.words);
  for (float& feature : features_) feature = 2.0f * random.Unit() - 1.0f;
  for (int32_t& target : classes_) target = below(problem.classes());
}

Status ProblemSamples::ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) {
  const int64_t at = starts_[static_cast<size_t>(sample)] + first;
  if (shape_.ids) {
    std::copy_n(ids_.begin() + at, steps, static_cast<int32_t*>(out));
  } else {
    std::copy_n(features_.begin() + at * shape_.width, steps * shape_.width, static_cast<float*>(out));
  }
  return Status::Ok();
}

Status ProblemSamples::ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) {
  auto* targets = static_cast<int32_t*>(out);
  if (!shape_.target_per_step) {
    *targets = classes_[static_cast<size_t>(sample)];
    return Status::Ok();
  }
  for (int64_t t = 0; t < steps; ++t) {
    const auto next = static_cast<size_t>(starts_[static_cast<size_t>(sample)] + first + t + 1);
    targets[t] = ids_[next % ids_.size()];
  }
  return Status::Ok();
}

}  // namespace plimsoll
