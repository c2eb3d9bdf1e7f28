// job_check: holds a job to the types and ranges of its keys. ReadJob does so by itself; a program that fills in a Job does
// not.
//   out:   the first key that is refused, as a job file would be refused for it: "train.batch_size: wanted ..., got 0"
//   never: knows a key by itself (job_schema), or looks at combinations (spec, train_options)
#pragma once

#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

Status CheckJob(const Job& job);

}  // namespace plimsoll
