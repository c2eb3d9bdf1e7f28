// optimizer: the update of all weights from the batch's gradient, by Keras's formulas.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "kernels/optimizer.h"
#include "model/network.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

class Optimizer {
 public:
  Optimizer(const TrainOptions& options, const Network& network, const NetworkMemory& memory, ThreadPool& pool);

  void Start();  // moments and averages to their first values; after the weights have theirs

  // One update at this learning rate; `update` counts from 1. The gradient's norm is summed in double first, in a fixed order,
  // and a gradient that is not finite is refused (Diverged, naming the layer) before any weight changes.
  Status Update(int64_t update, double learning_rate);

  // Refuses weights and moments that the last update has made not finite (Diverged, naming the layer).
  Status CheckFinite(int64_t update) const;

  // With use_ema: the weights change places with their running averages. Twice: back again.
  void SwapAverages();

 private:
  // How far the weights move in this update; the same for all of them.
  struct Pace {
    float rate;
    float alpha;  // Adam's, with both corrections
    float decay;  // of weights that are no biases
    GradientClip clip;
  };
  // A tensor of a layer.
  struct Part {
    PackedSpan span;
    bool decays = false;     // it is no bias
    float scale = 1.0f;      // of its gradient in this update, by clip_tensor_norm
    int64_t row_floats = 0;  // above 0: a table, of which only the rows that were looked up move
  };
  // Moves weights [begin, end) of a layer, a little at a time, and looks at them while they are in the cache.
  void MoveAndLook(int layer, int64_t begin, int64_t end, const Pace& pace);
  double SquareSum(int layer, const PackedSpan& span) const;
  void Move(int layer, int64_t begin, int64_t end, const Pace& pace) const;
  void MoveTouched(int layer, int64_t begin, int64_t end, int64_t row_floats, const Pace& pace);

  TrainOptions options_;
  const Network& network_;
  const NetworkMemory& memory_;
  ThreadPool& pool_;
  int moments_;
  std::atomic<int> not_finite_ = kNone;  // the first layer whose weights or moments are so
  static constexpr int kNone = 1 << 30;
  std::vector<std::vector<Part>> parts_;  // of each layer; none where it does not learn
};

}  // namespace plimsoll
