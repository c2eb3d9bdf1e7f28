// verify: one step under the plan against plain loops in double precision. A difference is a bug of ours: exit code 6.
#include <fmt/format.h>
#include <plimsoll/trainer.h>

#include <algorithm>

#include "job.h"
#include "output.h"
#include "verbs.h"

namespace {

std::string Table(const plimsoll::VerifyReport& report) {
  size_t width = 6;
  for (const plimsoll::TensorDifference& tensor : report.tensors) width = std::max(width, tensor.tensor.size());
  std::string text =
      fmt::format("{:<{}}  {:>12}  {:>10}  {:>10}  {:>10}\n", "tensor", width, "elements", "max abs", "relative", "allowed");
  for (const plimsoll::TensorDifference& tensor : report.tensors) {
    text += fmt::format("{:<{}}  {:>12}  {:>10.2e}  {:>10.2e}  {:>10.2e}  {}\n", tensor.tensor, width, tensor.elements,
                        tensor.max_abs, tensor.relative, tensor.allowed, tensor.ok ? "ok" : "DIFFERENT");
  }
  text += fmt::format("bits    {} for every schedule and number of threads\n", report.same_bits ? "the same" : "NOT the same");
  text += fmt::format("verify  {} over {} row-steps ({} at most; the reference runs outside the budget)\n",
                      report.ok ? "ok" : "FAILED", report.row_steps, plimsoll::kMostVerifiedRowSteps);
  return text;
}

Json AsJson(const plimsoll::VerifyReport& report) {
  Json tensors = Json::array();
  for (const plimsoll::TensorDifference& tensor : report.tensors) {
    tensors.push_back({{"tensor", tensor.tensor},
                       {"elements", tensor.elements},
                       {"max_abs", tensor.max_abs},
                       {"relative", tensor.relative},
                       {"allowed", tensor.allowed},
                       {"ok", tensor.ok}});
  }
  return {{"ok", report.ok}, {"same_bits", report.same_bits}, {"row_steps", report.row_steps}, {"tensors", std::move(tensors)}};
}

}  // namespace

int RunVerify(const Arguments& arguments) {
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  plimsoll::Result<plimsoll::VerifyReport> report = plimsoll::Verify(*loaded.job);
  if (!report.ok()) return Fail(arguments.json, report.status());
  const int answered = arguments.json ? AnswerJson(AsJson(*report)) : Answer(Table(*report));
  if (answered != 0 || report->ok) return answered;
  fmt::print(stderr, "plimsoll: the step under the plan differs from the reference: this is a bug of ours\n");
  return static_cast<int>(plimsoll::StatusKind::PromiseBroken);
}
