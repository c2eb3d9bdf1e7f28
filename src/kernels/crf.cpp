#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/crf.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/crf.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using CrfTag = hn::CappedTag<float, 8>;
using CrfVector = hn::Vec<CrfTag>;
constexpr float kNever = -std::numeric_limits<float>::infinity();

// log sum exp of a row; `p` becomes exp(value - that). Behind the tags p is zero.
HWY_INLINE double CrfLogSum(float* p, const float* values, int64_t tags) {
  const CrfTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  float largest = kNever;
  for (int64_t k = 0; k < tags; ++k) largest = values[k] > largest ? values[k] : largest;
  const CrfVector top = hn::Set(d, largest);
  CrfVector sums = hn::Zero(d);
  for (int64_t at = 0; at < WholeVectors(tags); at += lanes) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(0, tags - at)));
    const CrfVector below = hn::IfThenElse(inside, hn::Sub(hn::LoadU(d, values + at), top), hn::Set(d, kNever));
    const CrfVector value = ExpOfNegative(d, below);
    hn::StoreU(value, d, p + at);
    sums = hn::Add(sums, value);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  const CrfVector inverse = hn::Set(d, 1.0f / sum);
  for (int64_t at = 0; at < WholeVectors(tags); at += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, p + at), inverse), d, p + at);
  return static_cast<double>(largest) + std::log(static_cast<double>(sum));
}

// sums(k) = log sum_j exp(before(j) + T(j, k)).
HWY_INLINE void CrfSums(float* sums, const float* before, const float* weights, const CrfShape& shape) {
  const CrfTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = shape.width();
  for (int64_t at = 0; at < width; at += lanes) {
    CrfVector largest = hn::Set(d, kNever);
    for (int64_t j = 0; j < shape.tags; ++j) {
      largest = hn::Max(largest, hn::Add(hn::Set(d, before[j]), hn::LoadU(d, weights + j * width + at)));
    }
    CrfVector sum = hn::Zero(d);
    for (int64_t j = 0; j < shape.tags; ++j) {
      const CrfVector value = hn::Add(hn::Set(d, before[j]), hn::LoadU(d, weights + j * width + at));
      sum = hn::Add(sum, ExpOfNegative(d, hn::Sub(value, largest)));
    }
    HWY_ALIGN float logs[8];
    hn::Store(sum, d, logs);
    for (int64_t i = 0; i < lanes; ++i) logs[i] = std::log(logs[i]);
    hn::StoreU(hn::Add(largest, hn::Load(d, logs)), d, sums + at);
  }
}

// q(j | k) of some k: how likely tag j stood before tag k.
HWY_INLINE CrfVector CrfShare(float before, const float* transitions, const float* sums) {
  const CrfTag d;
  return ExpOfNegative(d, hn::Sub(hn::Add(hn::Set(d, before), hn::LoadU(d, transitions)), hn::LoadU(d, sums)));
}

// The alphas of the step before; null at the start of a sequence.
HWY_INLINE const float* CrfBefore(const float* alpha, const CrfRows& rows, const CrfShape& shape, int step, int64_t row) {
  if (step > 0) return alpha + (rows.rows->first[step - 1] + row) * shape.stride();
  return rows.first_step == 0 ? nullptr : alpha - (rows.rows->rows[0] - row) * shape.stride();
}

HWY_INLINE int32_t CrfTagBefore(const CrfRows& rows, int step, int64_t row) {
  return step > 0 ? rows.tags[rows.rows->first[step - 1] + row] : rows.tags[row - rows.rows_before];
}

void CrfForward(float* alpha, float* sums, double* losses, const float* x, const float* weights, const CrfRows& rows,
                const CrfShape& shape, Share share) {
  const int64_t width = shape.width(), stride = shape.stride(), tags = shape.tags;
  for (int step = 0; step < rows.rows->steps; ++step) {
    const int64_t end = share.begin + ActiveIn(*rows.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      const int64_t place = rows.rows->first[step] + row;
      const float* before = CrfBefore(alpha, rows, shape, step, row);
      const float* emitted = x + place * stride;
      float *own = alpha + place * stride, *sum = sums + place * width;
      const int32_t tag = rows.tags[place];
      if (before == nullptr) {
        for (int64_t k = 0; k < width; ++k) sum[k] = weights[shape.start() + k];
        losses[row] = -static_cast<double>(weights[shape.start() + tag]);
      } else {
        CrfSums(sum, before, weights, shape);
        losses[row] -= static_cast<double>(weights[CrfTagBefore(rows, step, row) * width + tag]);
      }
      for (int64_t k = 0; k < tags; ++k) own[k] = emitted[k] + sum[k];
      HWY_ALIGN float p[kMostTags];
      const double constant = CrfLogSum(p, own, tags);
      for (int64_t k = 0; k < tags; ++k) own[k] = static_cast<float>(static_cast<double>(own[k]) - constant);
      for (int64_t k = tags; k < width; ++k) own[k] = kNever;
      losses[row] += constant - static_cast<double>(emitted[tag]);
      if (rows.first_step + step + 1 != rows.lengths[row]) continue;
      HWY_ALIGN float last[kMostTags];
      for (int64_t k = 0; k < width; ++k) last[k] = own[k] + weights[shape.end() + k];
      losses[row] += CrfLogSum(p, last, tags) - static_cast<double>(weights[shape.end() + tag]);
    }
  }
}

void CrfBackward(float* d_x, float* p, float* marginals, int32_t* hits, const float* alpha, const float* sums,
                 const float* weights, float scale, const CrfRows& rows, const CrfShape& shape, Share share) {
  const CrfTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = shape.width(), stride = shape.stride(), tags = shape.tags;
  for (int step = rows.rows->steps - 1; step >= 0; --step) {
    const int64_t end = share.begin + ActiveIn(*rows.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      const int64_t place = rows.rows->first[step] + row;
      const float* own = alpha + place * stride;
      float *carried = p + row * width, *kept = marginals + place * width;
      if (rows.first_step + step + 1 == rows.lengths[row]) {
        HWY_ALIGN float last[kMostTags];
        for (int64_t k = 0; k < width; ++k) last[k] = own[k] + weights[shape.end() + k];
        CrfLogSum(carried, last, tags);
      }
      int64_t likeliest = 0;
      for (int64_t k = 0; k < width; ++k) {
        kept[k] = carried[k];
        if (k < tags && carried[k] > carried[likeliest]) likeliest = k;
        if (d_x != nullptr) d_x[place * stride + k] = scale * carried[k];
      }
      const int32_t tag = rows.tags[place];
      if (d_x != nullptr) d_x[place * stride + tag] -= scale;
      hits[row] += likeliest == tag ? 1 : 0;

      const float* before = CrfBefore(alpha, rows, shape, step, row);
      if (before == nullptr) continue;
      HWY_ALIGN float next[kMostTags] = {};
      for (int64_t j = 0; j < tags; ++j) {
        CrfVector sum = hn::Zero(d);
        for (int64_t at = 0; at < width; at += lanes) {
          sum = hn::MulAdd(hn::LoadU(d, kept + at), CrfShare(before[j], weights + j * width + at, sums + place * width + at),
                           sum);
        }
        next[j] = hn::GetLane(hn::SumOfLanes(d, sum));
      }
      for (int64_t k = 0; k < width; ++k) carried[k] = next[k];
    }
  }
}

void CrfGradient(float* gradient, const float* marginals, const float* alpha, const float* sums, const float* weights,
                 float scale, const CrfRows& rows, const CrfShape& shape, int64_t begin, int64_t end) {
  const CrfTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = shape.width();
  const CrfVector factor = hn::Set(d, scale);
  const auto take = [&](float* from, int32_t tag) {
    if (tag >= begin && tag < end) from[tag] -= scale;
  };
  for (int step = 0; step < rows.rows->steps; ++step) {
    for (int64_t row = 0; row < rows.rows->rows[step]; ++row) {
      const int64_t place = rows.rows->first[step] + row;
      const float* p = marginals + place * width;
      const int32_t tag = rows.tags[place];
      const float* before = CrfBefore(alpha, rows, shape, step, row);
      const bool ends = rows.first_step + step + 1 == rows.lengths[row];
      for (int64_t at = begin; at < end; at += lanes) {
        const CrfVector scaled = hn::Mul(factor, hn::LoadU(d, p + at));
        const auto add = [&](float* to, CrfVector what) { hn::StoreU(hn::Add(hn::LoadU(d, to), what), d, to); };
        if (before == nullptr) add(gradient + shape.start() + at, scaled);
        if (ends) add(gradient + shape.end() + at, scaled);
        for (int64_t j = 0; j < shape.tags && before != nullptr; ++j) {
          add(gradient + j * width + at,
              hn::Mul(scaled, CrfShare(before[j], weights + j * width + at, sums + place * width + at)));
        }
      }
      if (ends) take(gradient + shape.end(), tag);
      take(before == nullptr ? gradient + shape.start() : gradient + CrfTagBefore(rows, step, row) * width, tag);
    }
  }
}

void CrfViterbi(float* best, uint8_t* from, const float* x, const float* weights, const CrfRows& rows, const CrfShape& shape,
                Share share) {
  const int64_t width = shape.width(), tags = shape.tags;
  for (int step = 0; step < rows.rows->steps; ++step) {
    const int64_t end = share.begin + ActiveIn(*rows.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      const int64_t place = rows.rows->first[step] + row;
      float* own = best + row * width;
      const bool starts = rows.first_step + step == 0, ends = rows.first_step + step + 1 == rows.lengths[row];
      float next[kMostTags];
      float largest = kNever;
      for (int64_t k = 0; k < tags; ++k) {
        int64_t choice = 0;
        float value = starts ? weights[shape.start() + k] : own[0] + weights[k];
        for (int64_t j = 1; j < tags && !starts; ++j) {
          const float other = own[j] + weights[j * width + k];
          if (other > value) {
            value = other;
            choice = j;
          }
        }
        from[place * width + k] = static_cast<uint8_t>(choice);
        next[k] = value + x[place * shape.stride() + k] + (ends ? weights[shape.end() + k] : 0.0f);
        largest = next[k] > largest ? next[k] : largest;
      }
      for (int64_t k = 0; k < tags; ++k) own[k] = next[k] - largest;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(CrfForward);
HWY_EXPORT(CrfBackward);
HWY_EXPORT(CrfGradient);
HWY_EXPORT(CrfViterbi);

void crf_forward(float* alpha, float* sums, double* losses, const float* x, const float* weights, const CrfRows& rows,
                 const CrfShape& shape, Share share) {
  HWY_DYNAMIC_DISPATCH(CrfForward)(alpha, sums, losses, x, weights, rows, shape, share);
}
void crf_backward(float* d_x, float* p, float* marginals, int32_t* hits, const float* alpha, const float* sums,
                  const float* weights, float scale, const CrfRows& rows, const CrfShape& shape, Share share) {
  HWY_DYNAMIC_DISPATCH(CrfBackward)(d_x, p, marginals, hits, alpha, sums, weights, scale, rows, shape, share);
}
void crf_gradient(float* gradient, const float* marginals, const float* alpha, const float* sums, const float* weights,
                  float scale, const CrfRows& rows, const CrfShape& shape, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(CrfGradient)(gradient, marginals, alpha, sums, weights, scale, rows, shape, begin, end);
}
void crf_viterbi(float* best, uint8_t* from, const float* x, const float* weights, const CrfRows& rows, const CrfShape& shape,
                 Share share) {
  HWY_DYNAMIC_DISPATCH(CrfViterbi)(best, from, x, weights, rows, shape, share);
}

}  // namespace plimsoll
#endif
