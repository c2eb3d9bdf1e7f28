// verify: how a tensor of the engine is judged against the double reference. The verb itself is Verify in plimsoll/trainer.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/trainer.h"

namespace plimsoll {

// got: the engine's values; exact: plain loops in double; twin: the same loops in float. Sequences of at most 32 steps have a
// fixed bound; longer ones may err four times as much as the twin does.
TensorDifference JudgeTensor(std::string name, const std::vector<float>& got, const std::vector<double>& exact,
                             const std::vector<float>& twin, int64_t longest_steps);

}  // namespace plimsoll
