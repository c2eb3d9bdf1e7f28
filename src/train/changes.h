// changes: what of a job could be changed so that it takes less memory, each change tried by planning with it.
#pragma once

#include <vector>

#include "data/samples.h"
#include "plimsoll/plan.h"
#include "train/setup.h"

namespace plimsoll {

// At most three, those that lower the smallest budget most first.
std::vector<PlanChange> ChangesThatHelp(const Setup& setup, const SampleShape& shape);

}  // namespace plimsoll
