#include "kernels/product_speed.h"

#include <algorithm>
#include <chrono>

namespace plimsoll {

ProductSpeed::ProductSpeed(ThreadPool& pool) : pool_(pool), memory_(static_cast<size_t>(kFloats * pool.size()), 0.001f) {
  set_.AddNew(
      {.m = kPanelColumns, .n = kRows, .k = kDepth, .lda = kPanelColumns, .ldb = kDepth, .ldc = kPanelColumns, .add = true});
  set_.Compile(ProductBackend::Generated);
}

ProductSpeed::Rate ProductSpeed::Measure(int samples) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> rates;
  for (int sample = 0; sample < samples; ++sample) {
    const Clock::time_point start = Clock::now();
    pool_.Run([&](int part) { Multiply(memory_.data() + part * kFloats); });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    rates.push_back(2.0 * static_cast<double>(kRows * kPanelColumns * kDepth * kPanels * kRepeats) * pool_.size() / seconds);
  }
  std::sort(rates.begin(), rates.end());
  return {.median = rates[rates.size() / 2], .best = rates.back()};
}

void ProductSpeed::Multiply(float* rows) {
  float* panels = rows + kRows * kDepth;
  float* out = panels + kPanels * kPanelColumns * kDepth;
  for (int64_t repeat = 0; repeat < kRepeats; ++repeat) {
    for (int64_t panel = 0; panel < kPanels; ++panel) {
      set_[0](out + panel * kRows * kPanelColumns, rows, panels + panel * kDepth * kPanelColumns);
    }
  }
}

}  // namespace plimsoll
