// serve: a problem's steps, run when somebody asks for them: the worker's side of the protocol in bench/worker.py.
//   in:    orders, a line each, on stdin
//   out:   an answer, a line each, on stdout:
//     (at start)   ready                                        after warm-up
//     go N         ms M1 ... MN                                 N training steps, wall time of each in milliseconds
//     forward N    ms M1 ... MN                                 the forward part alone, nothing kept
//     plan         plan PEAK FULL_SPEED TAPE FACTOR SECONDS     bytes; forward runs of a step; predicted seconds
//     limit        gflops MEDIAN BEST REGISTERS_MEDIAN REGISTERS_BEST    of the machine (machine_limits.h), by as many threads
//     meeting      ns NANOSECONDS                               until as many threads have met
//     memory       peak BYTES                                   VmHWM of this process
//     quit         nothing more
#pragma once

#include "bench/problem.h"
#include "plimsoll/status.h"

namespace plimsoll {

Status Serve(const Problem& problem, int threads);

}  // namespace plimsoll
