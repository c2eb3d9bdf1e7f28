// plan: whether and how a job fits its budget. The plan is the result, so it goes to stdout; a refusal is exit code 4.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include "job.h"
#include "output.h"
#include "verbs.h"

namespace {

// The picture goes to --out, the table and the small picture to stdout.
int ShowCurve(const plimsoll::Job& job, const Arguments& arguments) {
  plimsoll::Result<std::vector<plimsoll::Plan>> curve = plimsoll::MakeCurve(job);
  if (!curve.ok()) return Fail(arguments.json, curve.status());
  if (!arguments.out.empty()) {
    const plimsoll::Status written = plimsoll::WriteCurveSvg(*curve, arguments.out);
    if (!written.ok()) return Fail(arguments.json, written);
  }
  if (arguments.json) return Answer(plimsoll::CurveJson(*curve));
  return Answer(plimsoll::CurveText(*curve, TerminalColumns()));
}

}  // namespace

int RunPlan(const Arguments& arguments) {
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  if (arguments.curve) return ShowCurve(*loaded.job, arguments);
  plimsoll::Result<plimsoll::Plan> plan = plimsoll::MakePlan(*loaded.job);
  if (!plan.ok()) return Fail(arguments.json, plan.status());
  const int answered = arguments.json ? Answer(plimsoll::PlanJson(*plan))
                                      : Answer(plimsoll::PlanText(*plan) + "\n" + plimsoll::PlanTable(*plan));
  if (answered != 0 || plan->feasible) return answered;
  return static_cast<int>(plimsoll::StatusKind::OverBudget);
}
