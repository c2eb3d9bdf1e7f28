#include "bench/serve.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "base/machine.h"
#include "bench/machine_limits.h"
#include "bench/problem_run.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

Status Time(ProblemRun& run, Status (ProblemRun::*part)(), int64_t count) {
  fmt::print("ms");
  for (int64_t i = 0; i < count; ++i) {
    const Clock::time_point start = Clock::now();
    PLIMSOLL_RETURN_IF_ERROR((run.*part)());
    fmt::print(" {:.4f}", std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  fmt::print("\n");
  return Status::Ok();
}

void TellPlan(const Plan& plan) {
  int64_t tape = 0;
  for (const PlannedBuffer& buffer : plan.buffers) tape += buffer.life == Life::Tape ? buffer.bytes : 0;
  fmt::print("plan {} {} {} {:.6f} {:.6f}\n", plan.peak_bytes, plan.full_speed_bytes, tape, plan.recompute_factor,
             plan.seconds_per_epoch);
}

void TellLimits(MachineLimits& limits) {
  const ProductSpeed::Rate products = limits.Products(), registers = limits.MultiplyAdds();
  fmt::print("gflops {:.2f} {:.2f} {:.2f} {:.2f}\n", products.median / 1e9, products.best / 1e9, registers.median / 1e9,
             registers.best / 1e9);
}

}  // namespace

Status Serve(const Problem& problem, int threads) {
  FlushDenormals flush;
  // Used once before the plan measures what the process holds, so that the peak is the plan's and not theirs.
  MachineLimits limits(threads);
  limits.Products();
  limits.MultiplyAdds();
  limits.Meeting();
  Result<std::unique_ptr<ProblemRun>> opened = ProblemRun::Open(problem, threads);
  if (!opened.ok()) return opened.status();
  ProblemRun& run = **opened;
  PLIMSOLL_RETURN_IF_ERROR(run.Step());
  fmt::print("ready\n");
  std::fflush(stdout);

  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    int64_t count = 0;
    words >> order >> count;
    if (order == "quit") break;
    if (order == "go" || order == "forward") {
      PLIMSOLL_RETURN_IF_ERROR(Time(run, order == "go" ? &ProblemRun::Step : &ProblemRun::Forward, count));
    } else if (order == "plan") {
      TellPlan(run.plan());
    } else if (order == "limit") {
      TellLimits(limits);
    } else if (order == "meeting") {
      fmt::print("ns {:.1f}\n", limits.Meeting() * 1e9);
    } else if (order == "memory") {
      fmt::print("peak {}\n", PeakResidentBytes());
    } else {
      return Status::Usage("'" + line + "' is no order; wanted go N, forward N, plan, limit, meeting, memory or quit");
    }
    std::fflush(stdout);
  }
  return Status::Ok();
}

}  // namespace plimsoll
