// adam: the update of all weights from the batch's gradient, Keras's formula.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "model/network.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

class Adam {
 public:
  Adam(const TrainOptions& options, const Network& network, const NetworkMemory& memory, ThreadPool& pool)
      : options_(options), network_(network), memory_(memory), pool_(pool) {}

  void Start();  // moments to zero

  // One update; `update` counts from 1. The gradient's norm is summed in double first, in a fixed order, and a gradient that is
  // not finite is refused (Diverged, naming the layer) before any weight changes.
  Status Update(int64_t update);

 private:
  double SquareSum(int layer) const;
  TrainOptions options_;
  const Network& network_;
  const NetworkMemory& memory_;
  ThreadPool& pool_;
};

}  // namespace plimsoll
