// advice: what would make a run faster or smaller, from its plan and from what was measured.
//   in:    a RunRecord
//   out:   sentences with the numbers that they rest on, the largest effect first; none where nothing is to be said
#pragma once

#include <string>
#include <vector>

#include "report/run_record.h"

namespace plimsoll {

std::vector<std::string> AdviceFor(const RunRecord& run);

}  // namespace plimsoll
