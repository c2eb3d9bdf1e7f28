// train_options: what follows from the options of [train] alone.
#pragma once

#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// The learning rate as stated, or Keras's default of the optimizer.
double LearningRateOf(const TrainOptions& options);

// Floats that the optimizer carries from update to update, for each weight.
int MomentsOf(const TrainOptions& options);

// Refuses settings that do not go together, and a setting that the chosen optimizer or schedule does not have.
Status CheckTrainOptions(const TrainOptions& options);

}  // namespace plimsoll
