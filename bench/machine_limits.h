// machine_limits: what this machine's multiply-adds come to, by a number of threads, next to what it is compared with; and how
//   far its cores are from each other, which a virtual machine's host may change at any time.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

#include "base/threads.h"
#include "bench/multiply_add_speed.h"
#include "kernels/product_speed.h"

namespace plimsoll {

class MachineLimits {
 public:
  explicit MachineLimits(int threads) : pool_(threads), products_(pool_) {}
  ProductSpeed::Rate Products() { return products_.Measure(kSamples); }  // tiles over packed panels in the nearest cache
  ProductSpeed::Rate MultiplyAdds() { return MeasureMultiplyAdds(pool_, kSamples); }  // registers alone

  // Seconds that all threads take to meet, a median.
  double Meeting() {
    using Clock = std::chrono::steady_clock;
    std::array<double, kSamples> seconds;
    pool_.Run([&](int part) {
      for (double& sample : seconds) {
        pool_.Meet();
        const Clock::time_point start = Clock::now();
        for (int meeting = 0; meeting < kMeetings; ++meeting) pool_.Meet();
        if (part == 0) sample = std::chrono::duration<double>(Clock::now() - start).count() / kMeetings;
      }
    });
    std::sort(seconds.begin(), seconds.end());
    return seconds[kSamples / 2];
  }

 private:
  static constexpr int kSamples = 15, kMeetings = 200;
  ThreadPool pool_;
  ProductSpeed products_;
};

}  // namespace plimsoll
