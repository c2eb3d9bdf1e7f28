// setup: everything a job needs before its first step, in the one order that makes the budget hold:
//   open data -> spec -> layers -> threads -> product tiles -> needs and buffers -> program pages in memory -> measure the
//   process base -> compare with the budget -> map and populate the arena. After it nothing allocates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "arena/arena.h"
#include "base/threads.h"
#include "data/batch.h"
#include "data/order.h"
#include "data/samples.h"
#include "kernels/product.h"
#include "model/network.h"
#include "model/step.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"

namespace plimsoll {

struct SetupOptions {
  bool training = true;                               // false: evaluation alone
  bool must_fit = true;                               // false: a plan over the budget is a result too
  std::optional<Recompute> recompute = std::nullopt;  // this cut, whatever the budget
  ProductBackend backend = ProductBackend::Generated;
  Observer* observer = nullptr;
};

// A job, planned. Made by SetUp; Open gives it memory.
struct Setup {
  Job job;  // resolved: widths, absolute paths
  std::unique_ptr<Samples> samples;
  std::unique_ptr<Samples> valid;  // null: none, or a share of `samples`
  std::unique_ptr<Split> split;    // of `samples`
  std::unique_ptr<Network> network;
  std::unique_ptr<ProductSet> products;
  std::unique_ptr<ThreadPool> pool;
  std::vector<OwnerNeeds> needs;
  Plan plan;
};
Result<std::unique_ptr<Setup>> SetUp(const Job& job, const SetupOptions& options);
// The same on samples that are open already; `valid` may be null.
Result<std::unique_ptr<Setup>> SetUpWith(const Job& job, std::unique_ptr<Samples> samples, std::unique_ptr<Samples> valid,
                                         const SetupOptions& options);

// The memory of a planned job and the step that runs in it.
struct Engine {
  Arena arena;
  NetworkMemory memory;
  Step step;

  Engine(Setup& setup, Arena arena_of_plan);
  BatchBuffers batch_buffers() const;
  // Debug builds: stops when a buffer was written beyond its end.
  void CheckGuards(const Plan& plan) const;
};
Result<std::unique_ptr<Engine>> Open(Setup& setup);

// The longest sequences of the job: the lengths of the worst row group that any order of the samples can give.
std::vector<int64_t> WorstLengths(const Samples& samples, const Samples* more, int64_t batch_size);

}  // namespace plimsoll
