// lr_schedule: the learning rate of each update. Pure functions of the options and two numbers.
#pragma once

#include <cstdint>

#include "plimsoll/options.h"

namespace plimsoll {

// The rate of an update, which counts from 1. As in Keras, PyTorch and Hugging Face, s = update - 1 updates are done by then.
// For the first W = warmup_steps updates it rises linearly from 0 to where the schedule begins. From there, with r the learning
// rate, e = lr_end_factor, n = s - W of N = total_updates - W and p = n / N:
//   constant      r
//   linear        r (e + (1 - e) (1 - p))
//   cosine        r (e + (1 - e) (1 + cos(pi p)) / 2)
//   polynomial    r (e + (1 - e) (1 - p)^lr_power)
//   inverse_sqrt  r sqrt(W / s); without warm-up r sqrt(10000 / (s + 10000))
//   step          r lr_decay_rate^floor(n / lr_decay_steps)
//   exponential   r lr_decay_rate^(n / lr_decay_steps)
//   plateau       r, and never more than what Plateau says
//   one_cycle     half a cosine from r / 25 up to r in the first 30 % of the N updates, and another down to r / 250000
// Behind the last update the rate stays what it would be at p = 1.
double LearningRateAt(const TrainOptions& options, int64_t update, int64_t total_updates);

// What a run holds of lr_schedule = "plateau", which is Keras's ReduceLROnPlateau: behind plateau_patience epochs in a row
// whose value is not lower than the best by more than plateau_min_delta, the rate is multiplied with plateau_factor, down to
// plateau_min_lr. Under another schedule it never lowers anything.
class Plateau {
 public:
  // All that changes while a run goes on.
  struct State {
    double rate = 0.0;
    double best = 0.0;
    int64_t waited = 0;  // epochs
  };
  explicit Plateau(const TrainOptions& options);
  void EpochEnded(double value);  // of what is monitored: the lower, the better
  double rate() const { return state_.rate; }
  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

 private:
  TrainOptions options_;
  State state_;
};

}  // namespace plimsoll
