// penalty: what the sizes of weights add to a loss and to its gradient. Plain loops: they wait for memory.
#pragma once

#include <cstdint>

namespace plimsoll {

// l1 sum |w| + l2 sum w^2, in double and in a fixed order.  w: [count].
double penalty_sum(const float* w, int64_t count, double l1, double l2);
// g += l1 sign(w) + 2 l2 w, where the sign of 0 is 0.  g, w: [count].
void penalty_gradient(float* g, const float* w, int64_t count, double l1, double l2);

}  // namespace plimsoll
