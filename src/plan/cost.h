// cost: predicted time, from the work of an epoch and the speed of the machine.
//   in:    operations of forward, backward and update; operations a second, measured at start-up
//   out:   seconds, and the share that recompute adds
//   never: looks at a clock or a layer
// An operation is one multiplication or addition of a product; layers count their pointwise work in the same coin.
#pragma once

namespace plimsoll {

// Of all samples of an epoch.
struct EpochWork {
  double forward = 0.0;   // what recompute runs again
  double backward = 0.0;  // the head and the loss included: they run once
  double update = 0.0;
};

double ExtraTime(const EpochWork& work, double recompute_factor);  // 0.33: a third more than without recompute
double EpochSeconds(const EpochWork& work, double recompute_factor, double operations_per_second);

}  // namespace plimsoll
