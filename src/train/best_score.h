// best_score: what is monitored, which epoch was the best by it, and when patience is at its end.
//   in:    the report of each epoch
//   out:   whether it was the best so far, whether to go on
//   never: holds weights; those of the best epoch lie in a snapshot
#pragma once

#include <cstdint>
#include <limits>

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// What the scores of a job have.
struct ScoreFacts {
  bool valid = false;    // there is validation
  bool classes = false;  // accuracy
  bool labels = false;   // label error rate
};

class BestScore {
 public:
  // All that changes while a run goes on.
  struct State {
    double best = std::numeric_limits<double>::infinity();
    int64_t epoch = 0;   // the best; 0: none yet
    int64_t waited = 0;  // epochs since
  };
  // Refuses a monitor that the job's scores do not have.
  static Status Check(const TrainOptions& options, const ScoreFacts& facts);
  BestScore(const TrainOptions& options, const ScoreFacts& facts);

  // What is monitored, turned so that the lower is the better.
  double ValueOf(const EpochReport& report) const;
  bool IsBetter(double value) const { return value < state_.best - min_delta_; }
  bool EpochEnded(int64_t epoch, double value);  // true: the best so far
  bool OutOfPatience() const { return patience_ > 0 && state_.waited >= patience_; }
  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

 private:
  Monitor monitor_;  // never Auto
  int64_t patience_;
  double min_delta_;
  State state_;
};

}  // namespace plimsoll
