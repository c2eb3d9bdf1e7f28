#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lstm_cell.cpp"
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
constexpr int64_t kUnits = 8, kColumns = 32;

void LstmForward(float* HWY_RESTRICT gates, float* HWY_RESTRICT c, float* HWY_RESTRICT h, int64_t n, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, c += stride, h += stride) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector i = Sigmoid(d, hn::LoadU(d, gates + u));
      const Vector f = Sigmoid(d, hn::LoadU(d, gates + kUnits + u));
      const Vector g = Tanh(d, hn::LoadU(d, gates + 2 * kUnits + u));
      const Vector o = Sigmoid(d, hn::LoadU(d, gates + 3 * kUnits + u));
      const Vector cell = hn::MulAdd(f, hn::LoadU(d, c + u), hn::Mul(i, g));
      hn::StoreU(i, d, gates + u);
      hn::StoreU(f, d, gates + kUnits + u);
      hn::StoreU(g, d, gates + 2 * kUnits + u);
      hn::StoreU(o, d, gates + 3 * kUnits + u);
      hn::StoreU(cell, d, c + u);
      hn::StoreU(hn::Mul(o, Tanh(d, cell)), d, h + u);
    }
  }
}

void LstmReplay(float* HWY_RESTRICT c, float* HWY_RESTRICT h, const float* HWY_RESTRICT gates, int64_t n, int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, c += stride, h += stride) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector product = hn::Mul(hn::LoadU(d, gates + u), hn::LoadU(d, gates + 2 * kUnits + u));
      const Vector cell = hn::MulAdd(hn::LoadU(d, gates + kUnits + u), hn::LoadU(d, c + u), product);
      hn::StoreU(cell, d, c + u);
      hn::StoreU(hn::Mul(hn::LoadU(d, gates + 3 * kUnits + u), Tanh(d, cell)), d, h + u);
    }
  }
}

void LstmRescan(float* HWY_RESTRICT c, const float* HWY_RESTRICT c_before, const float* HWY_RESTRICT gates, int64_t n,
                int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < n; ++row, gates += kColumns, c += stride, c_before += stride) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector product = hn::Mul(hn::LoadU(d, gates + u), hn::LoadU(d, gates + 2 * kUnits + u));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, gates + kUnits + u), hn::LoadU(d, c_before + u), product), d, c + u);
    }
  }
}

void LstmBackward(float* HWY_RESTRICT gates, float* HWY_RESTRICT d_c, const float* HWY_RESTRICT d_h,
                  const float* HWY_RESTRICT d_out, const float* HWY_RESTRICT c, const float* HWY_RESTRICT c_before, int64_t n,
                  int64_t stride) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector one = hn::Set(d, 1.0f);
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t u = 0; u < kUnits; u += lanes) {
      const Vector i = hn::LoadU(d, gates + u);
      const Vector f = hn::LoadU(d, gates + kUnits + u);
      const Vector g = hn::LoadU(d, gates + 2 * kUnits + u);
      const Vector o = hn::LoadU(d, gates + 3 * kUnits + u);
      const Vector squashed = Tanh(d, hn::LoadU(d, c + u));
      const Vector dh = hn::Add(hn::LoadU(d, d_out + u), hn::LoadU(d, d_h + u));
      const Vector slope = hn::NegMulAdd(squashed, squashed, one);
      const Vector dc = hn::MulAdd(hn::Mul(dh, o), slope, hn::LoadU(d, d_c + u));
      const Vector delta_i = hn::Mul(hn::Mul(dc, g), hn::Mul(i, hn::Sub(one, i)));
      const Vector delta_f = hn::Mul(hn::Mul(dc, hn::LoadU(d, c_before + u)), hn::Mul(f, hn::Sub(one, f)));
      const Vector delta_g = hn::Mul(hn::Mul(dc, i), hn::NegMulAdd(g, g, one));
      const Vector delta_o = hn::Mul(hn::Mul(dh, squashed), hn::Mul(o, hn::Sub(one, o)));
      hn::StoreU(delta_i, d, gates + u);
      hn::StoreU(delta_f, d, gates + kUnits + u);
      hn::StoreU(delta_g, d, gates + 2 * kUnits + u);
      hn::StoreU(delta_o, d, gates + 3 * kUnits + u);
      hn::StoreU(hn::Mul(dc, f), d, d_c + u);
    }
    gates += kColumns;
    d_c += stride;
    d_h += stride;
    d_out += stride;
    c += stride;
    c_before += stride;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(LstmForward);
HWY_EXPORT(LstmReplay);
HWY_EXPORT(LstmRescan);
HWY_EXPORT(LstmBackward);

void lstm_cell_forward(float* gates, float* c, float* h, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmForward)(gates, c, h, n, stride);
}
void lstm_cell_replay(float* c, float* h, const float* gates, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmReplay)(c, h, gates, n, stride);
}
void lstm_cell_rescan(float* c, const float* c_before, const float* gates, int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmRescan)(c, c_before, gates, n, stride);
}
void lstm_cell_backward(float* gates, float* d_c, const float* d_h, const float* d_out, const float* c, const float* c_before,
                        int64_t n, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(LstmBackward)(gates, d_c, d_h, d_out, c, c_before, n, stride);
}

}  // namespace plimsoll
#endif
