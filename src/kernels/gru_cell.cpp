#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gru_cell.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cells.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kUnits = 8, kColumns = 32, kColumnsBefore = 24;
constexpr int64_t kN = 0, kZ = kUnits, kR = 2 * kUnits, kQ = 3 * kUnits;  // where each gate's columns begin

// function(gates, place of the units in h and its like) for every vector of the panel.
template <class Gates, class Function>
HWY_INLINE void ForUnits(Gates* gates, int64_t columns, int64_t n, int64_t stride, const Function& function) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t u = 0; u < kUnits; u += lanes) function(gates + row * columns + u, row * stride + u);
  }
}

// h = n + z (h' - n)
HWY_INLINE Vector Mix(Vector n, Vector z, Vector h_before) { return hn::MulAdd(z, hn::Sub(h_before, n), n); }

// delta of n and z, and the part of the gradient of h' that needs no product.
struct MixGradient {
  Vector delta_n, delta_z, d_h;
};
HWY_INLINE MixGradient MixBackward(Vector n, Vector z, Vector dh, Vector h_before) {
  const Vector one = hn::Set(Tag(), 1.0f);
  const Vector rest = hn::Sub(one, z);
  return {.delta_n = hn::Mul(hn::Mul(dh, rest), hn::NegMulAdd(n, n, one)),
          .delta_z = hn::Mul(hn::Mul(dh, hn::Sub(h_before, n)), hn::Mul(z, rest)),
          .d_h = hn::Mul(dh, z)};
}

void GruForward(float* HWY_RESTRICT gates, float* HWY_RESTRICT h, const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumns, n, stride, [&](float* gate, int64_t at) {
    const Vector z = Sigmoid(d, hn::LoadU(d, gate + kZ));
    const Vector r = Sigmoid(d, hn::LoadU(d, gate + kR));
    const Vector candidate = Tanh(d, hn::MulAdd(r, hn::LoadU(d, gate + kQ), hn::LoadU(d, gate + kN)));
    hn::StoreU(candidate, d, gate + kN);
    hn::StoreU(z, d, gate + kZ);
    hn::StoreU(r, d, gate + kR);
    hn::StoreU(Mix(candidate, z, hn::LoadU(d, h_before + at)), d, h + at);
  });
}

void GruReplay(float* HWY_RESTRICT h, const float* h_before, const float* HWY_RESTRICT gates, int64_t columns, int64_t n,
               int64_t stride) {
  const Tag d;
  ForUnits(gates, columns, n, stride, [&](const float* gate, int64_t at) {
    const Vector mixed = Mix(hn::LoadU(d, gate + kN), hn::LoadU(d, gate + kZ), hn::LoadU(d, h_before + at));
    hn::StoreU(mixed, d, h + at);
  });
}

void GruBackward(float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h, const float* d_out, const float* h_before, int64_t n,
                 int64_t stride) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0f);
  ForUnits(gates, kColumns, n, stride, [&](float* gate, int64_t at) {
    const Vector r = hn::LoadU(d, gate + kR);
    const Vector dh = hn::Add(hn::LoadU(d, d_out + at), hn::LoadU(d, d_h + at));
    const MixGradient mix = MixBackward(hn::LoadU(d, gate + kN), hn::LoadU(d, gate + kZ), dh, hn::LoadU(d, h_before + at));
    hn::StoreU(mix.delta_n, d, gate + kN);
    hn::StoreU(mix.delta_z, d, gate + kZ);
    hn::StoreU(hn::Mul(hn::Mul(mix.delta_n, hn::LoadU(d, gate + kQ)), hn::Mul(r, hn::Sub(one, r))), d, gate + kR);
    hn::StoreU(hn::Mul(mix.delta_n, r), d, gate + kQ);
    hn::StoreU(mix.d_h, d, d_h + at);
  });
}

void BeforeReset(float* HWY_RESTRICT gates, float* HWY_RESTRICT reset, const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* gate, int64_t at) {
    const Vector r = Sigmoid(d, hn::LoadU(d, gate + kR));
    hn::StoreU(Sigmoid(d, hn::LoadU(d, gate + kZ)), d, gate + kZ);
    hn::StoreU(r, d, gate + kR);
    hn::StoreU(hn::Mul(r, hn::LoadU(d, h_before + at)), d, reset + at);
  });
}

void BeforeForward(float* HWY_RESTRICT gates, float* HWY_RESTRICT h, const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* gate, int64_t at) {
    const Vector candidate = Tanh(d, hn::LoadU(d, gate + kN));
    hn::StoreU(candidate, d, gate + kN);
    hn::StoreU(Mix(candidate, hn::LoadU(d, gate + kZ), hn::LoadU(d, h_before + at)), d, h + at);
  });
}

void BeforeBackward(float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h, const float* d_out, const float* h_before, int64_t n,
                    int64_t stride) {
  const Tag d;
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* gate, int64_t at) {
    const Vector dh = hn::Add(hn::LoadU(d, d_out + at), hn::LoadU(d, d_h + at));
    const MixGradient mix = MixBackward(hn::LoadU(d, gate + kN), hn::LoadU(d, gate + kZ), dh, hn::LoadU(d, h_before + at));
    hn::StoreU(mix.delta_n, d, gate + kN);
    hn::StoreU(mix.delta_z, d, gate + kZ);
    hn::StoreU(mix.d_h, d, d_h + at);
  });
}

void BeforeBackwardReset(float* HWY_RESTRICT gates, float* HWY_RESTRICT d_h, float* HWY_RESTRICT reset, const float* d_reset,
                         const float* h_before, int64_t n, int64_t stride) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0f);
  ForUnits(gates, kColumnsBefore, n, stride, [&](float* gate, int64_t at) {
    const Vector r = hn::LoadU(d, gate + kR);
    const Vector h = hn::LoadU(d, h_before + at);
    const Vector gradient = hn::LoadU(d, d_reset + at);
    hn::StoreU(hn::Mul(r, h), d, reset + at);
    hn::StoreU(hn::Mul(hn::Mul(gradient, h), hn::Mul(r, hn::Sub(one, r))), d, gate + kR);
    hn::StoreU(hn::MulAdd(gradient, r, hn::LoadU(d, d_h + at)), d, d_h + at);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(GruForward);
HWY_EXPORT(GruReplay);
HWY_EXPORT(GruBackward);
HWY_EXPORT(BeforeReset);
HWY_EXPORT(BeforeForward);
HWY_EXPORT(BeforeBackward);
HWY_EXPORT(BeforeBackwardReset);

void gru_cell_forward(float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruForward)(gates, h, h_before, n, stride);
}
void gru_cell_replay(float* h, const float* h_before, const float* gates, int64_t columns, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruReplay)(h, h_before, gates, columns, n, stride);
}
void gru_cell_backward(float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GruBackward)(gates, d_h, d_out, h_before, n, stride);
}
void gru_before_reset(float* gates, float* reset, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeReset)(gates, reset, h_before, n, stride);
}
void gru_before_forward(float* gates, float* h, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeForward)(gates, h, h_before, n, stride);
}
void gru_before_backward(float* gates, float* d_h, const float* d_out, const float* h_before, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeBackward)(gates, d_h, d_out, h_before, n, stride);
}
void gru_before_backward_reset(float* gates, float* d_h, float* reset, const float* d_reset, const float* h_before, int64_t n,
                               int64_t stride) {
  HWY_DYNAMIC_DISPATCH(BeforeBackwardReset)(gates, d_h, reset, d_reset, h_before, n, stride);
}

}  // namespace plimsoll
#endif
