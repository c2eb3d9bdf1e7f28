// generator: data sets that are computed instead of read, for demonstrations, tests and benchmarks.
//   in:    "generate:NAME?key=value&key=value", the task, a seed
//   out:   Samples whose values are a function of (seed, sample, step) and of nothing else
//   never: stores values; depends on what was read before
//
//   adding   task regress. Two features a step: a value in [0, 1) and a marker, 1 at one place in each half, else 0.
//            One target a sample: the sum of the two marked values.           steps=200 min_steps samples=10000
//   copy     task classify. Ids: `count` symbols, blanks for `delay` steps of which the last is a go marker, `count` blanks.
//            One class a step: blank up to and with the go marker, then the symbols in order. Symbols are 0 to symbols - 1,
//            blank is `symbols`, the go marker `symbols` + 1.                  delay=50 symbols=8 count=10 samples=10000
//   parity   task classify. Ids 0 and 1; the class is the parity of the ones so far, at each step, or, with
//            per_step=false, of the whole sample.                              steps=50 min_steps samples=10000 per_step=true
//   sine     task regress. One feature a step, sin(phase + frequency * step) plus normal noise; the target of a step is the
//            next value without noise. Phase in [0, 2 pi), frequency in [0.05, 0.5).
//                                                                              steps=100 min_steps samples=10000 noise=0.1
//   spell    task classify, loss ctc. Ids: `labels` symbols of 1 to `symbols`, each with `hold` steps: the symbol for some of
//            them, at least one and not all, then 0. The target is the symbols.
//                                                                labels=10 min_labels symbols=8 hold=4 samples=10000
// With min_steps, lengths are uniform in [min_steps, steps]; without it all samples have `steps`. The same of min_labels.
#pragma once

#include <memory>
#include <string_view>

#include "data/samples.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr std::string_view kGeneratorPrefix = "generate:";

// Unknown names and keys, values out of range and the wrong task are Status::Usage.
Result<std::unique_ptr<Samples>> OpenGenerator(std::string_view source, Task task, uint64_t seed);

}  // namespace plimsoll
