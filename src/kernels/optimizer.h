// optimizer: what an update does to each weight, by Keras's formulas. Highway; a float's bits do not depend on its neighbours
//   or on the thread. w: weights, g: gradient, both [count]; count is a multiple of eight. Moments are changed in place.
#pragma once

#include <cstdint>
#include <limits>

namespace plimsoll {

// Every g is multiplied with `scale`, then held between -bound and bound.
struct GradientClip {
  float scale = 1.0f;
  float bound = std::numeric_limits<float>::infinity();
};

// m += (1 - beta_1) (g - m);  v += (1 - beta_2) (g^2 - v);  w -= decay w;  w -= alpha m / (sqrt(v) + epsilon).
// alpha = rate * sqrt(1 - beta_2^t) / (1 - beta_1^t); decay is zero in Adam, rate * weight_decay in AdamW.
struct AdamStep {
  float alpha, beta_1, beta_2, epsilon, decay;
};
void adam_update(float* w, float* m, float* v, const float* g, int64_t count, const AdamStep& step, const GradientClip& clip);

// w -= rate g
void sgd_update(float* w, const float* g, int64_t count, float rate, const GradientClip& clip);

// m = momentum m - rate g;  w += m, or, looking ahead, w += momentum m - rate g.
struct MomentumStep {
  float rate, momentum;
  bool nesterov;
};
void momentum_update(float* w, float* m, const float* g, int64_t count, const MomentumStep& step, const GradientClip& clip);

// v += (1 - rho) (g^2 - v);  w -= rate g / sqrt(v + epsilon)
struct RmsPropStep {
  float rate, rho, epsilon;
};
void rmsprop_update(float* w, float* v, const float* g, int64_t count, const RmsPropStep& step, const GradientClip& clip);

// v += g^2;  w -= rate g / sqrt(v + epsilon)
struct AdagradStep {
  float rate, epsilon;
};
void adagrad_update(float* w, float* v, const float* g, int64_t count, const AdagradStep& step, const GradientClip& clip);

// average += (1 - momentum) (w - average)
void average_update(float* average, const float* w, int64_t count, float momentum);

}  // namespace plimsoll
