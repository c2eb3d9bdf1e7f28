// problem_run: a problem, planned and opened, one training step at a time. A step is everything an update does: the batch
//   packed into its row groups, forward, loss, backward, Adam, packing of the changed weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/problem.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {

// The samples of the problem under a job of it.
Result<std::unique_ptr<Setup>> SetUpProblem(const Problem& problem, const Job& job, const SetupOptions& options);

class ProblemRun {
 public:
  static Result<std::unique_ptr<ProblemRun>> Open(const Problem& problem, int threads);
  Status Step();
  Status Forward();  // the forward part alone, nothing kept
  const Plan& plan() const { return setup_->plan; }

 private:
  ProblemRun(std::unique_ptr<Setup> setup, std::unique_ptr<Engine> engine);

  std::unique_ptr<Setup> setup_;
  std::unique_ptr<Engine> engine_;
  Update update_;
  std::vector<int64_t> numbers_;  // of all rows
};

}  // namespace plimsoll
