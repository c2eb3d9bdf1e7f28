// machine_limits: what this machine's multiply-adds come to, by a number of threads, next to what it is compared with.
#pragma once

#include "base/threads.h"
#include "bench/multiply_add_speed.h"
#include "kernels/product_speed.h"

namespace plimsoll {

class MachineLimits {
 public:
  explicit MachineLimits(int threads) : pool_(threads), products_(pool_) {}
  ProductSpeed::Rate Products() { return products_.Measure(kSamples); }  // tiles over packed panels in the nearest cache
  ProductSpeed::Rate MultiplyAdds() { return MeasureMultiplyAdds(pool_, kSamples); }  // registers alone

 private:
  static constexpr int kSamples = 15;
  ThreadPool pool_;
  ProductSpeed products_;
};

}  // namespace plimsoll
