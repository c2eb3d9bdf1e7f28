// verified: whether a problem's step is right, before anybody says how fast it is.
#pragma once

#include <string>

#include "bench/problem.h"
#include "plimsoll/status.h"

namespace plimsoll {

// As much of the problem as plain loops do within seconds: the same layers on fewer rows and steps.
Problem SmallEnoughToVerify(const Problem& problem);

struct Verified {
  bool ok = false;
  Problem on;              // what was compared
  std::string difference;  // the first tensor that differs; empty: none does
};
// Against plain loops in double, and bit for bit against itself with everything kept, with as little kept as can be and with
// another number of threads. Without the problem's budget: it bounds the timed process, and the reference holds everything.
Result<Verified> VerifyProblem(const Problem& problem, int threads);

}  // namespace plimsoll
