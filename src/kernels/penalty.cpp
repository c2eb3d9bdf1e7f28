#include "kernels/penalty.h"

#include <cmath>

namespace plimsoll {

double penalty_sum(const float* w, int64_t count, double l1, double l2) {
  double sizes = 0.0, squares = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double weight = w[i];
    sizes += std::abs(weight);
    squares += weight * weight;
  }
  return l1 * sizes + l2 * squares;
}

void penalty_gradient(float* g, const float* w, int64_t count, double l1, double l2) {
  const auto push = static_cast<float>(l1), pull = static_cast<float>(2.0 * l2);
  for (int64_t i = 0; i < count; ++i) {
    const float sign = w[i] > 0.0f ? push : w[i] < 0.0f ? -push : 0.0f;
    g[i] += sign + pull * w[i];
  }
}

}  // namespace plimsoll
