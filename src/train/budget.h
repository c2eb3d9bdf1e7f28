// budget: from what the user wrote and what the machine allows to a number of bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/machine.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct Budget {
  int64_t bytes = 0;
  std::string note;  // a line for the user where something else than the stated number counts; may be empty
};
// auto: the container's limit if there is one, else 80 % of what is available. A percentage is of the container's limit, else
// of all memory. Where less is available than was stated, the smaller number counts. `own_bytes`: resident now.
Result<Budget> ResolveBudget(const std::string& text, const MemoryFacts& machine, int64_t own_bytes);

// What a running job makes of the system's word: a memory group's bound (0: none) holds while it stands; pressure takes a
// quarter of what is planned, as far as the job's row groups allow. `stated`: what the user allows.
int64_t FollowSystem(int64_t stated, int64_t group_bound, bool pressure, const Plan& plan);

}  // namespace plimsoll
