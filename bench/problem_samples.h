// problem_samples: the one batch of a problem, in memory: random features and a class a row, or random ids and the next id at
//   every position. The same values whenever it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/problem.h"
#include "data/samples.h"

namespace plimsoll {

class ProblemSamples final : public Samples {
 public:
  explicit ProblemSamples(const Problem& problem);
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return static_cast<int64_t>(lengths_.size()); }
  int64_t length(int64_t sample) const override { return lengths_[static_cast<size_t>(sample)]; }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override;
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override;

 private:
  SampleShape shape_;
  std::vector<int64_t> lengths_;
  std::vector<int64_t> starts_;  // where the steps of a row begin
  std::vector<int32_t> ids_;
  std::vector<float> features_;
  std::vector<int32_t> classes_;
};

}  // namespace plimsoll
