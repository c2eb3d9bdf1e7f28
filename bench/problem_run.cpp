#include "bench/problem_run.h"

#include <numeric>
#include <utility>

#include "bench/problem_samples.h"
#include "infer/scorer.h"

namespace plimsoll {

Result<std::unique_ptr<Setup>> SetUpProblem(const Problem& problem, const Job& job, const SetupOptions& options) {
  return SetUpWith(job, std::make_unique<ProblemSamples>(problem), nullptr, options);
}

Result<std::unique_ptr<ProblemRun>> ProblemRun::Open(const Problem& problem, int threads) {
  Result<std::unique_ptr<Setup>> setup = SetUpProblem(problem, JobOf(problem, threads), {});
  if (!setup.ok()) return setup.status();
  Result<std::unique_ptr<Engine>> engine = plimsoll::Open(**setup);
  if (!engine.ok()) return engine.status();
  std::unique_ptr<ProblemRun> run(new ProblemRun(std::move(setup).value(), std::move(engine).value()));
  PLIMSOLL_RETURN_IF_ERROR(run->update_.Start());
  return run;
}

ProblemRun::ProblemRun(std::unique_ptr<Setup> setup, std::unique_ptr<Engine> engine)
    : setup_(std::move(setup)),
      engine_(std::move(engine)),
      update_(*setup_, *engine_),
      numbers_(static_cast<size_t>(setup_->samples->count())) {
  std::iota(numbers_.begin(), numbers_.end(), int64_t{0});
}

Status ProblemRun::Step() {
  StepSums sums;
  PLIMSOLL_RETURN_IF_ERROR(update_.Gradients(numbers_.data(), static_cast<int64_t>(numbers_.size()), sums));
  return update_.Apply();
}

Status ProblemRun::Forward() {
  const Result<Score> score = ScoreSamples(*setup_, *engine_, ScoredPart::Training, static_cast<int64_t>(numbers_.size()));
  return score.ok() ? Status::Ok() : score.status();
}

}  // namespace plimsoll
