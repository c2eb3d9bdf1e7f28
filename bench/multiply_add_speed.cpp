#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/multiply_add_speed.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/multiply_add_speed.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve sums that do not wait for each other: more than a core has under way at a time, and with the two factors fewer than
// it has registers. Returns the operations done. `value`: what is multiplied with, and then what came of it.
int64_t RunMultiplyAdds(float& value, int64_t rounds) {
  using Tag = hn::ScalableTag<float>;
  using Vector = hn::Vec<Tag>;
  const Tag d;
  const Vector factor = hn::Set(d, value), term = hn::Mul(factor, hn::Set(d, 0.5f));
  // All of them begin elsewhere, or one would do for a compiler.
  const auto begin = [&](float share) { return hn::Mul(term, hn::Set(d, share)); };
  Vector s0 = begin(0.00f), s1 = begin(0.01f), s2 = begin(0.02f), s3 = begin(0.03f), s4 = begin(0.04f), s5 = begin(0.05f);
  Vector s6 = begin(0.06f), s7 = begin(0.07f), s8 = begin(0.08f), s9 = begin(0.09f), s10 = begin(0.10f), s11 = begin(0.11f);
  for (int64_t round = 0; round < rounds; ++round) {
    s0 = hn::MulAdd(s0, factor, term);
    s1 = hn::MulAdd(s1, factor, term);
    s2 = hn::MulAdd(s2, factor, term);
    s3 = hn::MulAdd(s3, factor, term);
    s4 = hn::MulAdd(s4, factor, term);
    s5 = hn::MulAdd(s5, factor, term);
    s6 = hn::MulAdd(s6, factor, term);
    s7 = hn::MulAdd(s7, factor, term);
    s8 = hn::MulAdd(s8, factor, term);
    s9 = hn::MulAdd(s9, factor, term);
    s10 = hn::MulAdd(s10, factor, term);
    s11 = hn::MulAdd(s11, factor, term);
  }
  const Vector low = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
  const Vector high = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(s10, s11));
  value = hn::GetLane(hn::Add(low, high));  // somebody wants the sums, so they are computed
  return rounds * 12 * 2 * static_cast<int64_t>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll {

HWY_EXPORT(RunMultiplyAdds);

ProductSpeed::Rate MeasureMultiplyAdds(ThreadPool& pool, int samples) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 250'000;
  std::vector<double> rates;
  for (int sample = 0; sample < samples; ++sample) {
    std::vector<int64_t> done(static_cast<size_t>(pool.size()));
    const Clock::time_point start = Clock::now();
    pool.Run([&](int part) {
      float value = 0.999f;
      done[static_cast<size_t>(part)] = HWY_DYNAMIC_DISPATCH(RunMultiplyAdds)(value, kRounds);
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    rates.push_back(static_cast<double>(done[0] * pool.size()) / seconds);
  }
  std::sort(rates.begin(), rates.end());
  return {.median = rates[rates.size() / 2], .best = rates.back()};
}

}  // namespace plimsoll
#endif  // HWY_ONCE
