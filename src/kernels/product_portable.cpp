// product_portable: the product tile in Highway, for machines that refuse generated code. Bits as product.h says.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product_portable.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/product.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns of one strip and rows of one register tile: 6 x 2 vectors of eight.
constexpr int kStripRows = 6;

template <int kRows, int kVectors, class D>
void Strip(D d, const TileShape& s, float* out, const float* rows, const float* panel, uint64_t count,
           const uint64_t* panel_bytes, const uint64_t* rows_bytes) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  V sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = s.add ? hn::LoadU(d, out + r * s.ldc + v * lanes) : hn::Zero(d);
    }
  }
  const int64_t row_step = s.transposed ? 1 : s.ldb;
  const int64_t k_step = s.transposed ? s.ldb : 1;
  for (uint64_t pair = 0; pair < count; ++pair) {
    const auto* a = reinterpret_cast<const float*>(reinterpret_cast<const char*>(panel) + panel_bytes[pair]);
    const auto* b = reinterpret_cast<const float*>(reinterpret_cast<const char*>(rows) + rows_bytes[pair]);
    for (int k = 0; k < s.k; ++k) {
      V column[kVectors];
      for (int v = 0; v < kVectors; ++v) column[v] = hn::LoadU(d, a + static_cast<int64_t>(k) * s.lda + v * lanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const V value = hn::Set(d, b[r * row_step + k * k_step]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(value, column[v], sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, out + r * s.ldc + v * lanes);
  }
}

template <int kVectors, class D>
void Columns(D d, const TileShape& s, float* out, const float* rows, const float* panel, uint64_t count,
             const uint64_t* panel_bytes, const uint64_t* rows_bytes) {
  const int64_t row_step = s.transposed ? 1 : s.ldb;
  int n = 0;
  for (; n + kStripRows <= s.n; n += kStripRows) {
    Strip<kStripRows, kVectors>(d, s, out + static_cast<int64_t>(n) * s.ldc, rows + n * row_step, panel, count, panel_bytes,
                                rows_bytes);
  }
  for (; n < s.n; ++n) {
    Strip<1, kVectors>(d, s, out + static_cast<int64_t>(n) * s.ldc, rows + n * row_step, panel, count, panel_bytes, rows_bytes);
  }
}

void ProductTile(const TileShape& s, float* out, const float* rows, const float* panel, uint64_t count,
                 const uint64_t* panel_bytes, const uint64_t* rows_bytes) {
  const hn::CappedTag<float, 8> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int m = 0;
  for (; m + 2 * lanes <= s.m; m += 2 * lanes) Columns<2>(d, s, out + m, rows, panel + m, count, panel_bytes, rows_bytes);
  for (; m < s.m; m += lanes) Columns<1>(d, s, out + m, rows, panel + m, count, panel_bytes, rows_bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(ProductTile);

void product_tile(const TileShape& shape, float* out, const float* rows, const float* panel, uint64_t count,
                  const uint64_t* panel_bytes, const uint64_t* rows_bytes) {
  HWY_DYNAMIC_DISPATCH(ProductTile)(shape, out, rows, panel, count, panel_bytes, rows_bytes);
}

std::string PointwiseTarget() {
  const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace plimsoll
#endif
