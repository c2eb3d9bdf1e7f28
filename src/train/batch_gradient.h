// batch_gradient: the gradient of a whole batch, group after group; of a small model two groups at a time, each by half of the
//   threads.
//   out:   kGradient of every layer that learns, in the engine's first memory: divided once by the batch's own number of items
//   never: lets threads, schedule or budget decide the order of a sum
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/batch.h"
#include "model/step.h"
#include "plan/schedule.h"
#include "plimsoll/status.h"
#include "train/setup.h"

namespace plimsoll {

class BatchGradient {
 public:
  BatchGradient(Setup& setup, Engine& engine);

  Batch& batch() { return batch_; }
  // Of these samples, for the update of that number. step_in_epoch: from 1; a State that goes on from batch to batch begins
  // anew at the first.
  Status Run(const int64_t* numbers, int64_t count, int64_t step_in_epoch, uint64_t update, StepSums& sums);
  // After the engine has taken another plan.
  void Rebind();

 private:
  Status Train(std::span<const RowGroup> groups, std::array<StepSums, kMostAbreast>& sums);
  template <typename Function>
  void ForGroups(size_t groups, const Function& function);
  Step& step_of(size_t group) { return group == 0 ? engine_.step : engine_.beside->step; }

  Setup& setup_;
  Engine& engine_;
  Batch batch_;
  std::array<Schedule, kMostAbreast> schedules_;
};

}  // namespace plimsoll
