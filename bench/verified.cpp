#include "bench/verified.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/problem_run.h"
#include "train/verify.h"

namespace plimsoll {

Problem SmallEnoughToVerify(const Problem& problem) {
  constexpr double kMostOperations = 1.5e9;  // of plain loops, which run four times: in double and in float, there and back
  constexpr int64_t kSomeSteps = kBlockSteps + 4;  // more than a block, and not a whole number of them
  constexpr int64_t kMostRows = kGroupRows + 8;    // more than a row group
  const auto row_steps = static_cast<int64_t>(
      std::clamp(kMostOperations / problem.OperationsPerRowStep(), 1.0, static_cast<double>(kMostVerifiedRowSteps)));
  Problem small = problem;
  small.budget = "auto";
  if (problem.rows * problem.steps <= row_steps) return small;
  const int64_t some_steps = std::min(problem.steps, kSomeSteps);
  small.rows = std::clamp<int64_t>(row_steps / some_steps, 1, std::min(problem.rows, kMostRows));
  small.steps = std::clamp<int64_t>(row_steps / small.rows, some_steps, problem.steps);
  return small;
}

Result<Verified> VerifyProblem(const Problem& problem, int threads) {
  Verified verified{.on = SmallEnoughToVerify(problem), .difference = {}};
  const Result<VerifyReport> report =
      VerifyWith(JobOf(verified.on, threads), BestInstructions(),
                 [&](const Job& job, const SetupOptions& options) { return SetUpProblem(verified.on, job, options); });
  if (!report.ok()) return report.status();
  verified.ok = report.value().ok;
  for (const TensorDifference& tensor : report.value().tensors) {
    if (tensor.ok || !verified.difference.empty()) continue;
    verified.difference =
        fmt::format("{} differs by {:.1e} of its size, and {:.1e} is allowed", tensor.tensor, tensor.relative, tensor.allowed);
  }
  if (!report.value().same_bits && verified.difference.empty())
    verified.difference = "other schedules or numbers of threads give other bits";
  return verified;
}

}  // namespace plimsoll
