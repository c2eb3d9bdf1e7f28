#include "kernels/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

// Largest error in units of the last place over a sweep of every 101st float of both signs.
double LargestUlp(Activation activation, double (*exact)(double)) {
  double largest = 0.0;
  std::vector<float> x, y;
  const auto flush = [&] {
    y = x;
    activation_forward(y.data(), activation, 1, static_cast<int64_t>(y.size()), static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const double wanted = exact(static_cast<double>(x[i]));
      if (std::abs(wanted) < 1.2e-38) continue;  // the accuracy is stated for normal results
      const auto rounded = static_cast<float>(wanted);
      const double ulp =
          static_cast<double>(std::nextafter(std::abs(rounded), INFINITY)) - std::abs(static_cast<double>(rounded));
      largest = std::max(largest, std::abs(static_cast<double>(y[i]) - wanted) / ulp);
    }
    x.clear();
  };
  for (uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 101) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const uint32_t word = bits | sign;
      float value;
      std::memcpy(&value, &word, sizeof value);
      x.push_back(value);
    }
    if (x.size() >= 4096) {
      x.resize(4096);
      flush();
    }
  }
  return largest;
}

TEST(Pointwise, SigmoidIsAccurateToTwoUlp) {
  EXPECT_LE(LargestUlp(Activation::Sigmoid, [](double x) { return x < -87.0 ? 0.0 : 1.0 / (1.0 + std::exp(-x)); }), 2.0);
}

TEST(Pointwise, TanhIsAccurateToTwoUlp) {
  EXPECT_LE(LargestUlp(Activation::Tanh, [](double x) { return std::tanh(x); }), 2.0);
}

TEST(Pointwise, NotANumberGoesThroughEveryActivation) {
  for (const Activation activation : {Activation::Relu, Activation::Tanh, Activation::Sigmoid}) {
    std::vector<float> y(8, std::numeric_limits<float>::quiet_NaN());
    activation_forward(y.data(), activation, 1, 8, 8);
    for (const float value : y) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Pointwise, SumsOfRowsHaveTheBitsOfAPlainSumAtAnyWidth) {
  RandomSequence random(5, 0);
  for (int64_t width = 8; width <= 120; width += 8) {
    const int64_t stride = width + 8;
    std::vector<float> rows(static_cast<size_t>(33 * stride));
    for (float& value : rows) value = random.Normal();
    for (const int64_t count : {0, 1, 2, 33}) {
      std::vector<float> sums(static_cast<size_t>(stride), 0.25f), wanted = sums;
      for (int64_t row = 0; row < count; ++row) {
        for (int64_t at = 0; at < width; ++at) wanted[static_cast<size_t>(at)] += rows[static_cast<size_t>(row * stride + at)];
      }
      add_rows(sums.data(), rows.data(), count, width, stride);
      EXPECT_EQ(sums, wanted) << width << " columns, " << count << " rows";
    }
  }
}

TEST(Pointwise, SquareSumAgreesWithAPlainSum) {
  RandomSequence random(6, 0);
  std::vector<float> values(1003);
  double wanted = 0.0;
  for (float& value : values) {
    value = random.Normal();
    wanted += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(square_sum(values.data(), 1003), wanted, 1e-9 * wanted);
}

TEST(Pointwise, OneValueThatIsNotFiniteIsSeenAnywhere) {
  std::vector<float> values(37, -std::numeric_limits<float>::max());
  values[3] = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(all_finite(values.data(), 37));
  EXPECT_TRUE(all_finite(values.data(), 0));
  for (size_t at = 0; at < values.size(); ++at) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
      const float good = std::exchange(values[at], bad);
      EXPECT_FALSE(all_finite(values.data(), 37)) << at;
      values[at] = good;
    }
  }
}

}  // namespace
}  // namespace plimsoll
