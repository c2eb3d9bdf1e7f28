// product_speed: how fast this machine multiplies, with all threads of a pool: the limit that speeds are compared with and the
//   rate that predictions are made from.
#pragma once

#include <vector>

#include "base/threads.h"
#include "kernels/product.h"

namespace plimsoll {

class ProductSpeed {
 public:
  explicit ProductSpeed(ThreadPool& pool);

  struct Rate {
    double median = 0.0;
    double best = 0.0;
  };
  // Operations a second, over so many samples of about a millisecond.
  Rate Measure(int samples);

 private:
  // Tiles of 24 x 32 x 128 over packed panels that stay in the nearest cache.
  static constexpr int64_t kRows = 24, kDepth = 128, kPanels = 8, kRepeats = 40;
  static constexpr int64_t kFloats = kRows * kDepth + kPanels * kPanelColumns * (kDepth + kRows);
  void Multiply(float* rows);

  ThreadPool& pool_;
  std::vector<float> memory_;
  ProductSet set_;
};

}  // namespace plimsoll
