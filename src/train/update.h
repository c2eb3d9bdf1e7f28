// update: one update of the weights: the gradient of a whole batch, group after group, then the optimizer.
#pragma once

#include <cstdint>

#include "data/batch.h"
#include "model/step.h"
#include "plimsoll/status.h"
#include "train/optimizer.h"
#include "train/setup.h"

namespace plimsoll {

class Update {
 public:
  Update(Setup& setup, Engine& engine);

  // Weights (fresh, or those of job.init_from) and moments.
  Status Start();
  // The gradient over these samples, divided once by the batch's own number of items. A loss that is not finite is refused.
  Status Gradients(const int64_t* numbers, int64_t count, StepSums& sums);
  // Changes the weights by the gradient.
  Status Apply();
  // With use_ema, between the weights that are trained and their averages, which are scored and saved.
  void SwapAverages();
  // After the engine has taken another plan.
  void Rebind();
  int64_t done() const { return done_; }

 private:
  Setup& setup_;
  Engine& engine_;
  Batch batch_;
  Schedule schedule_;
  Optimizer optimizer_;
  int64_t total_;  // updates of the whole run
  int64_t done_ = 0;
};

}  // namespace plimsoll
