// train_options: what follows from the options of [train] alone.
#pragma once

#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// The learning rate as stated, or Keras's default of the optimizer.
double LearningRateOf(const TrainOptions& options);

// Floats that the optimizer carries from update to update, for each weight.
int MomentsOf(const TrainOptions& options);

// Between two snapshots; one of the two is 0, both: they are written at the end alone.
struct SaveInterval {
  double seconds = 0.0;
  int64_t updates = 0;
};
// Of train.save_every.
Result<SaveInterval> ReadSaveInterval(const std::string& text);

// Whether the model that is left is that of the best epoch.
bool RestoresBest(const TrainOptions& options);

// Refuses settings that do not go together, and a setting that the chosen optimizer or schedule does not have.
Status CheckTrainOptions(const TrainOptions& options);

}  // namespace plimsoll
