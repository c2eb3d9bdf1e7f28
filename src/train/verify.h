// verify: how a tensor of the engine is judged against the double reference. The verb itself is Verify in plimsoll/trainer.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/machine.h"
#include "plimsoll/trainer.h"
#include "train/setup.h"

namespace plimsoll {

// got: the engine's values; exact: plain loops in double; twins: the same loops in float. There is a fixed bound, of the steps
// up to 32; where it is more, the engine may err four times as much as the worse of the twins does.
TensorDifference JudgeTensor(std::string name, const std::vector<float>& got, const std::vector<double>& exact,
                             const std::vector<std::vector<float>>& twins, int64_t longest_steps);

// Verify, laid out and multiplied for an instruction set of the machine that need not be its best.
Result<VerifyReport> VerifyOn(const Job& job, InstructionSet instructions);

// The same of a job whose data are no file: `make` is asked several times, and gives the same samples each time.
using MakeSetup = std::function<Result<std::unique_ptr<Setup>>(const Job& job, const SetupOptions& options)>;
Result<VerifyReport> VerifyWith(const Job& job, InstructionSet instructions, const MakeSetup& make);

}  // namespace plimsoll
