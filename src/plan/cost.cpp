#include "plan/cost.h"

namespace plimsoll {

double ExtraTime(const EpochWork& work, double recompute_factor) {
  const double once = work.forward + work.backward + work.update;
  return once > 0.0 ? work.forward * (recompute_factor - 1.0) / once : 0.0;
}

double EpochSeconds(const EpochWork& work, double recompute_factor, double operations_per_second) {
  if (operations_per_second <= 0.0) return 0.0;
  return (work.forward * recompute_factor + work.backward + work.update) / operations_per_second;
}

}  // namespace plimsoll
