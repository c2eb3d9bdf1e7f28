#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/optimizer.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;

// w = function(w, clipped g, at) for all elements.
template <class Function>
void ForWeights(float* w, const float* g, int64_t count, const GradientClip& clip, const Function& function) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector scale = hn::Set(d, clip.scale), most = hn::Set(d, clip.bound), least = hn::Neg(most);
  for (int64_t at = 0; at < count; at += lanes) {
    const Vector gradient = hn::Clamp(hn::Mul(hn::LoadU(d, g + at), scale), least, most);
    hn::StoreU(function(hn::LoadU(d, w + at), gradient, at), d, w + at);
  }
}

void AdamUpdate(float* w, float* m, float* v, const float* g, int64_t count, const AdamStep& step, const GradientClip& clip) {
  const Tag d;
  const Vector alpha = hn::Set(d, step.alpha), epsilon = hn::Set(d, step.epsilon), decay = hn::Set(d, step.decay);
  const Vector rest_1 = hn::Set(d, 1.0f - step.beta_1), rest_2 = hn::Set(d, 1.0f - step.beta_2);
  ForWeights(w, g, count, clip, [&](Vector weight, Vector gradient, int64_t at) {
    const Vector old_m = hn::LoadU(d, m + at), old_v = hn::LoadU(d, v + at);
    const Vector new_m = hn::MulAdd(hn::Sub(gradient, old_m), rest_1, old_m);
    const Vector new_v = hn::MulAdd(hn::Sub(hn::Mul(gradient, gradient), old_v), rest_2, old_v);
    hn::StoreU(new_m, d, m + at);
    hn::StoreU(new_v, d, v + at);
    const Vector move = hn::Div(hn::Mul(alpha, new_m), hn::Add(hn::Sqrt(new_v), epsilon));
    return hn::Sub(hn::NegMulAdd(weight, decay, weight), move);
  });
}

void SgdUpdate(float* w, const float* g, int64_t count, float rate, const GradientClip& clip) {
  const Vector by = hn::Set(Tag(), rate);
  ForWeights(w, g, count, clip, [&](Vector weight, Vector gradient, int64_t) { return hn::NegMulAdd(gradient, by, weight); });
}

void MomentumUpdate(float* w, float* m, const float* g, int64_t count, const MomentumStep& step, const GradientClip& clip) {
  const Tag d;
  const Vector rate = hn::Set(d, step.rate), momentum = hn::Set(d, step.momentum);
  ForWeights(w, g, count, clip, [&](Vector weight, Vector gradient, int64_t at) {
    const Vector push = hn::Mul(gradient, rate);
    const Vector new_m = hn::MulSub(hn::LoadU(d, m + at), momentum, push);
    hn::StoreU(new_m, d, m + at);
    return hn::Add(weight, step.nesterov ? hn::MulSub(new_m, momentum, push) : new_m);
  });
}

void RmsPropUpdate(float* w, float* v, const float* g, int64_t count, const RmsPropStep& step, const GradientClip& clip) {
  const Tag d;
  const Vector rate = hn::Set(d, step.rate), rest = hn::Set(d, 1.0f - step.rho), epsilon = hn::Set(d, step.epsilon);
  ForWeights(w, g, count, clip, [&](Vector weight, Vector gradient, int64_t at) {
    const Vector old_v = hn::LoadU(d, v + at);
    const Vector new_v = hn::MulAdd(hn::Sub(hn::Mul(gradient, gradient), old_v), rest, old_v);
    hn::StoreU(new_v, d, v + at);
    return hn::Sub(weight, hn::Div(hn::Mul(rate, gradient), hn::Sqrt(hn::Add(new_v, epsilon))));
  });
}

void AdagradUpdate(float* w, float* v, const float* g, int64_t count, const AdagradStep& step, const GradientClip& clip) {
  const Tag d;
  const Vector rate = hn::Set(d, step.rate), epsilon = hn::Set(d, step.epsilon);
  ForWeights(w, g, count, clip, [&](Vector weight, Vector gradient, int64_t at) {
    const Vector new_v = hn::MulAdd(gradient, gradient, hn::LoadU(d, v + at));
    hn::StoreU(new_v, d, v + at);
    return hn::Sub(weight, hn::Div(hn::Mul(rate, gradient), hn::Sqrt(hn::Add(new_v, epsilon))));
  });
}

void AverageUpdate(float* average, const float* w, int64_t count, float momentum) {
  const Tag d;
  const Vector rest = hn::Set(d, 1.0f - momentum);
  const GradientClip none;
  ForWeights(average, w, count, none,
             [&](Vector old, Vector weight, int64_t) { return hn::MulAdd(hn::Sub(weight, old), rest, old); });
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(AdamUpdate);
HWY_EXPORT(SgdUpdate);
HWY_EXPORT(MomentumUpdate);
HWY_EXPORT(RmsPropUpdate);
HWY_EXPORT(AdagradUpdate);
HWY_EXPORT(AverageUpdate);

void adam_update(float* w, float* m, float* v, const float* g, int64_t count, const AdamStep& step, const GradientClip& clip) {
  HWY_DYNAMIC_DISPATCH(AdamUpdate)(w, m, v, g, count, step, clip);
}
void sgd_update(float* w, const float* g, int64_t count, float rate, const GradientClip& clip) {
  HWY_DYNAMIC_DISPATCH(SgdUpdate)(w, g, count, rate, clip);
}
void momentum_update(float* w, float* m, const float* g, int64_t count, const MomentumStep& step, const GradientClip& clip) {
  HWY_DYNAMIC_DISPATCH(MomentumUpdate)(w, m, g, count, step, clip);
}
void rmsprop_update(float* w, float* v, const float* g, int64_t count, const RmsPropStep& step, const GradientClip& clip) {
  HWY_DYNAMIC_DISPATCH(RmsPropUpdate)(w, v, g, count, step, clip);
}
void adagrad_update(float* w, float* v, const float* g, int64_t count, const AdagradStep& step, const GradientClip& clip) {
  HWY_DYNAMIC_DISPATCH(AdagradUpdate)(w, v, g, count, step, clip);
}
void average_update(float* average, const float* w, int64_t count, float momentum) {
  HWY_DYNAMIC_DISPATCH(AverageUpdate)(average, w, count, momentum);
}

}  // namespace plimsoll
#endif
