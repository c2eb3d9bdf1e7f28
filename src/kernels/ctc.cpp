#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ctc.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/ctc.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using CtcTag = hn::CappedTag<float, 8>;
using CtcVector = hn::Vec<CtcTag>;
constexpr float kCtcNever = -1e30f;  // the logarithm of a place that no way leads to; finite, so that differences are

HWY_INLINE int32_t CtcClass(const int32_t* labels, int64_t place) { return place % 2 == 0 ? 0 : labels[place / 2]; }

// A way may come to the place from two places before it.
HWY_INLINE bool CtcSkips(const int32_t* labels, int64_t place) {
  return place % 2 == 1 && place > 1 && labels[place / 2] != labels[place / 2 - 1];
}

struct CtcTotal {
  float largest;
  float sum;  // of exp(value - largest)
  double log_sum() const { return static_cast<double>(largest) + std::log(static_cast<double>(sum)); }
};

// exp(value - largest), 0 behind the last one.
HWY_INLINE CtcVector CtcExp(const float* values, int64_t at, int64_t count, float largest) {
  const CtcTag d;
  const auto inside = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(0, count - at)));
  return hn::IfThenElseZero(inside, ExpOfNegative(d, hn::Sub(hn::LoadU(d, values + at), hn::Set(d, largest))));
}

// Of `count` values in a row of whole vectors.
HWY_INLINE CtcTotal CtcLogSum(const float* values, int64_t count) {
  const CtcTag d;
  float largest = values[0];
  for (int64_t k = 1; k < count; ++k) largest = values[k] > largest ? values[k] : largest;
  CtcVector sums = hn::Zero(d);
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(hn::Lanes(d))) {
    sums = hn::Add(sums, CtcExp(values, at, count, largest));
  }
  return {largest, hn::GetLane(hn::SumOfLanes(d, sums))};
}

// sums(s) = log sum exp alpha over the places that lead to s.
HWY_INLINE void CtcSums(float* sums, const float* before, const int32_t* labels, int64_t places) {
  const CtcTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t at = 0; at < places; at += lanes) {
    HWY_ALIGN float one[8], two[8], logs[8];
    for (int64_t i = 0; i < lanes; ++i) {
      const int64_t place = at + i;
      one[i] = place > 0 ? before[place - 1] : kCtcNever;
      two[i] = place < places && CtcSkips(labels, place) ? before[place - 2] : kCtcNever;
    }
    const CtcVector stayed = hn::LoadU(d, before + at), by_one = hn::Load(d, one), by_two = hn::Load(d, two);
    const CtcVector largest = hn::Max(stayed, hn::Max(by_one, by_two));
    const auto share = [&](CtcVector from) { return ExpOfNegative(d, hn::Sub(from, largest)); };
    hn::Store(hn::Add(hn::Add(share(stayed), share(by_one)), share(by_two)), d, logs);
    for (int64_t i = 0; i < lanes; ++i) logs[i] = std::log(logs[i]);
    hn::StoreU(hn::Add(largest, hn::Load(d, logs)), d, sums + at);
  }
}

// p of the step before, in place of p. Its sum is one again, so that rounding does not add up over the steps.
HWY_INLINE void CtcEarlier(float* p, const float* before, const float* sums, const int32_t* labels, int64_t places) {
  const CtcTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  CtcVector total = hn::Zero(d);
  for (int64_t at = 0; at < places; at += lanes) {
    const CtcVector own = hn::LoadU(d, before + at);
    CtcVector value = hn::Zero(d);
    for (int64_t ahead = 0; ahead < 3; ++ahead) {
      HWY_ALIGN float next[8], sum[8];
      for (int64_t i = 0; i < lanes; ++i) {
        const int64_t place = at + i + ahead;
        const bool leads = place < places && (ahead < 2 || CtcSkips(labels, place));
        next[i] = leads ? p[place] : 0.0f;
        sum[i] = leads ? sums[place] : before[at + i];
      }
      value = hn::Add(value, hn::Mul(hn::Load(d, next), ExpOfNegative(d, hn::Sub(own, hn::Load(d, sum)))));
    }
    hn::StoreU(value, d, p + at);
    total = hn::Add(total, value);
  }
  const CtcVector inverse = hn::Set(d, 1.0f / hn::GetLane(hn::SumOfLanes(d, total)));
  for (int64_t at = 0; at < places; at += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, p + at), inverse), d, p + at);
}

// The alphas of the step before; null at the start of a sequence.
HWY_INLINE const float* CtcBefore(const float* alpha, const CtcRows& rows, const CtcShape& shape, int step, int64_t row) {
  if (step > 0) return alpha + (rows.rows->first[step - 1] + row) * shape.stride();
  return rows.first_step == 0 ? nullptr : alpha - (rows.rows->rows[0] - row) * shape.stride();
}

void CtcForward(float* alpha, float* sums, double* losses, const float* x, const CtcRows& rows, const CtcShape& shape,
                Share share) {
  for (int step = 0; step < rows.rows->steps; ++step) {
    const int64_t end = share.begin + ActiveIn(*rows.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      const int64_t packed = rows.rows->first[step] + row, places = 2 * rows.label_counts[row] + 1;
      const int32_t* labels = rows.labels + row * rows.label_stride;
      const float *before = CtcBefore(alpha, rows, shape, step, row), *outputs = x + packed * shape.x_stride();
      float *own = alpha + packed * shape.stride(), *sum = sums + packed * shape.width();
      if (before == nullptr) {
        for (int64_t s = 0; s < places; ++s) sum[s] = s < 2 ? 0.0f : kCtcNever;
        losses[row] = 0.0;
      } else {
        CtcSums(sum, before, labels, places);
      }
      const double log_sum = CtcLogSum(outputs, shape.classes).log_sum();
      for (int64_t s = 0; s < places; ++s) {
        own[s] = sum[s] + static_cast<float>(static_cast<double>(outputs[CtcClass(labels, s)]) - log_sum);
      }
      const double constant = CtcLogSum(own, places).log_sum();
      for (int64_t s = 0; s < places; ++s) own[s] = static_cast<float>(static_cast<double>(own[s]) - constant);
      for (int64_t s = places; s < shape.width(); ++s) own[s] = kCtcNever;
      losses[row] -= constant;
      if (rows.first_step + step + 1 != rows.lengths[row]) continue;
      const double last = own[places - 1], before_last = own[places - 2];
      losses[row] -= std::max(last, before_last) + std::log1p(std::exp(-std::abs(last - before_last)));
    }
  }
}

void CtcBackward(float* d_x, float* p, const float* alpha, const float* sums, const float* x, float scale, const CtcRows& rows,
                 const CtcShape& shape, Share share) {
  const CtcTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int step = rows.rows->steps - 1; step >= 0; --step) {
    const int64_t end = share.begin + ActiveIn(*rows.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      const int64_t packed = rows.rows->first[step] + row, places = 2 * rows.label_counts[row] + 1;
      const int32_t* labels = rows.labels + row * rows.label_stride;
      const float *own = alpha + packed * shape.stride(), *outputs = x + packed * shape.x_stride();
      float *carried = p + row * shape.width(), *d_outputs = d_x + packed * shape.x_stride();
      if (rows.first_step + step + 1 == rows.lengths[row]) {
        for (int64_t s = 0; s < shape.width(); ++s) carried[s] = 0.0f;
        const double odds = std::exp(static_cast<double>(own[places - 2]) - static_cast<double>(own[places - 1]));
        carried[places - 1] = static_cast<float>(1.0 / (1.0 + odds));
        carried[places - 2] = static_cast<float>(1.0 - 1.0 / (1.0 + odds));
      }
      const float counts = rows.weights == nullptr ? scale : scale * rows.weights[row];
      const CtcTotal total = CtcLogSum(outputs, shape.classes);
      const CtcVector factor = hn::Set(d, counts / total.sum);
      for (int64_t at = 0; at < WholeVectors(shape.classes); at += lanes) {
        hn::StoreU(hn::Mul(factor, CtcExp(outputs, at, shape.classes, total.largest)), d, d_outputs + at);
      }
      for (int64_t s = 0; s < places; ++s) d_outputs[CtcClass(labels, s)] -= counts * carried[s];

      const float* before = CtcBefore(alpha, rows, shape, step, row);
      if (before != nullptr) CtcEarlier(carried, before, sums + packed * shape.width(), labels, places);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {
HWY_EXPORT(CtcForward);
HWY_EXPORT(CtcBackward);

void ctc_forward(float* alpha, float* sums, double* losses, const float* x, const CtcRows& rows, const CtcShape& shape,
                 Share share) {
  HWY_DYNAMIC_DISPATCH(CtcForward)(alpha, sums, losses, x, rows, shape, share);
}
void ctc_backward(float* d_x, float* p, const float* alpha, const float* sums, const float* x, float scale, const CtcRows& rows,
                  const CtcShape& shape, Share share) {
  HWY_DYNAMIC_DISPATCH(CtcBackward)(d_x, p, alpha, sums, x, scale, rows, shape, share);
}

void ctc_distances(int32_t* distances, int32_t* last, const float* x, const CtcRows& rows, const CtcShape& shape, Share share) {
  for (int step = 0; step < rows.rows->steps; ++step) {
    const int64_t end = share.begin + ActiveIn(*rows.rows, step, share);
    for (int64_t row = share.begin; row < end; ++row) {
      int32_t* own = distances + row * (shape.longest + 1);
      const int32_t* labels = rows.labels + row * rows.label_stride;
      if (rows.first_step + step == 0) {
        std::iota(own, own + shape.longest + 1, 0);
        last[row] = 0;
      }
      const float* outputs = x + (rows.rows->first[step] + row) * shape.x_stride();
      const auto best = static_cast<int32_t>(std::max_element(outputs, outputs + shape.classes) - outputs);
      if (best != 0 && best != last[row]) {  // one more label is spelt
        int32_t before = own[0]++;           // of one label less on both sides
        for (int64_t i = 1; i <= rows.label_counts[row]; ++i) {
          const int32_t changed = before + (labels[i - 1] == best ? 0 : 1);
          before = own[i];
          own[i] = std::min(changed, std::min(own[i], own[i - 1]) + 1);
        }
      }
      last[row] = best;
    }
  }
}

}  // namespace plimsoll
#endif
