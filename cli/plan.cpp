// plan: whether and how a job fits its budget. The plan is the result, so it goes to stdout; a refusal is exit code 4.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include "job.h"
#include "output.h"
#include "verbs.h"

int RunPlan(const Arguments& arguments) {
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  plimsoll::Result<plimsoll::Plan> plan = plimsoll::MakePlan(*loaded.job);
  if (!plan.ok()) return Fail(arguments.json, plan.status());
  const int answered = arguments.json ? Answer(plimsoll::PlanJson(*plan))
                                      : Answer(plimsoll::PlanText(*plan) + "\n" + plimsoll::PlanTable(*plan));
  if (answered != 0 || plan->feasible) return answered;
  return static_cast<int>(plimsoll::StatusKind::OverBudget);
}
