// job: what the verbs that take a job file have in common.
//   in:    Arguments
//   out:   the Job; or the answer, where that is all that was asked for or something is wrong
//   never: trains or plans
#pragma once

#include <plimsoll/options.h>

#include <optional>

#include "arguments.h"

// The job that the arguments name, or the exit code of a verb that is done already (--print-config, an error).
struct JobOrExit {
  std::optional<plimsoll::Job> job;
  int exit_code = 0;
};
JobOrExit LoadJob(const Arguments& arguments);
