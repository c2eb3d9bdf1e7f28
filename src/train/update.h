// update: one update of the weights: the gradient of a whole batch, group after group, then the optimizer.
#pragma once

#include <cstdint>

#include "model/step.h"
#include "plimsoll/observer.h"
#include "plimsoll/status.h"
#include "train/batch_gradient.h"
#include "train/batches.h"
#include "train/lr_schedule.h"
#include "train/optimizer.h"
#include "train/setup.h"

namespace plimsoll {

class Update {
 public:
  Update(Setup& setup, Engine& engine);

  // Weights (fresh, with an Embedding's own file where it names one, or those of job.init_from) and moments.
  Status Start();
  // The gradient over these samples, divided once by the batch's own number of items, and that of the penalties on weights,
  // which the loss of every item contains. A loss that is not finite is refused. step_in_epoch: from 1; a State that goes on
  // from batch to batch begins anew at the first.
  Status Gradients(const int64_t* numbers, int64_t count, StepSums& sums, int64_t step_in_epoch = 1);
  // Asks for the samples of the batch behind this one. Where batches come from a window of lengths, this one's numbers must
  // have been taken: the next window may lie in their place.
  void ReadAhead(EpochBatches batches);
  // Changes the weights by the gradient, at so many times the learning rate of the schedule.
  Status Apply(double rate_factor = 1.0);
  double learning_rate() const;  // of the next update, by the schedule
  // What a rate that waits for a plateau goes by: the lower, the better.
  void EpochEnded(double value) { plateau_.EpochEnded(value); }
  const Plateau::State& plateau() const { return plateau_.state(); }
  // Instead of Start: weights, moments and State are in their places already, as they were after so many updates and batches
  // of an epoch.
  void Continue(int64_t done, int64_t step_in_epoch, const Plateau::State* plateau);
  // After a batch that was left out: what State it ended with is not to be had.
  void ForgetState() { gradient_.batch().ForgetState(); }
  // With use_ema, between the weights that are trained and their averages, which are scored and saved.
  void SwapAverages();
  // What a run is scored on, with the averages where they are kept. The weights that are trained come back behind it.
  Result<Score> ScoreAveraged(Observer* observer = nullptr);
  // After the engine has taken another plan.
  void Rebind();
  int64_t done() const { return done_; }
  // Steps that the samples trained on have, by their lengths, since this process began.
  int64_t useful_row_steps() const { return useful_row_steps_; }
  bool LimitReached() const { return setup_.job.train.max_steps > 0 && done_ >= setup_.job.train.max_steps; }

 private:
  Setup& setup_;
  Engine& engine_;
  BatchGradient gradient_;
  Optimizer optimizer_;
  Plateau plateau_;
  int64_t total_;  // updates of the whole run
  int64_t done_ = 0;
  int64_t useful_row_steps_ = 0;
};

}  // namespace plimsoll
