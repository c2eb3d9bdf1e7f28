#include "kernels/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

TEST(Losses, CrossEntropyAgreesWithDoubleAndPaddingHasNoGradient) {
  RandomSequence random(5, 0);
  for (const int64_t width : {1, 2, 7, 8, 9, 100}) {
    const int64_t stride = (width + 7) / 8 * 8 + 8, rows = 5;
    std::vector<float> x(static_cast<size_t>(rows * stride), 77.0f);
    std::vector<int32_t> classes;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < width; ++i) x[static_cast<size_t>(row * stride + i)] = 5.0f * random.Normal();
      classes.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(width))));
    }
    std::vector<float> d = x;
    std::vector<double> losses(rows), hits(rows);
    softmax_cross_entropy(d.data(), losses.data(), hits.data(), classes.data(), 0.0f, 0.25f, rows, width, stride);
    for (int64_t row = 0; row < rows; ++row) {
      const float* logits = x.data() + row * stride;
      const auto own = static_cast<size_t>(classes[static_cast<size_t>(row)]);
      double sum = 0.0;
      for (int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(logits[i]) - static_cast<double>(logits[own]));
      EXPECT_NEAR(losses[static_cast<size_t>(row)], std::log(sum), 1e-5);
      for (int64_t i = 0; i < (width + 7) / 8 * 8; ++i) {
        const double share =
            i < width ? std::exp(static_cast<double>(logits[i]) - static_cast<double>(logits[own])) / sum : 0.0;
        const double wanted = 0.25 * (share - (i == static_cast<int64_t>(own) ? 1.0 : 0.0));
        EXPECT_NEAR(d[static_cast<size_t>(row * stride + i)], wanted, 1e-6) << "width " << width << " column " << i;
      }
    }
  }
}

TEST(Losses, CrossEntropyOfHugeLogitsIsFinite) {
  std::vector<float> x = {3e38f, -3e38f, 0, 0, 0, 0, 0, 0};
  double loss = 0.0, hit = 0.0;
  const int32_t own = 0;
  softmax_cross_entropy(x.data(), &loss, &hit, &own, 0.0f, 1.0f, 1, 2, 8);
  EXPECT_EQ(loss, 0.0);
  EXPECT_EQ(hit, 1.0);
}

TEST(Losses, SmoothedCrossEntropyIsAMeanOverAllClasses) {
  const std::vector<float> logits = {1.0f, -2.0f, 0.5f};
  std::vector<float> x = {1.0f, -2.0f, 0.5f, 0, 0, 0, 0, 0};
  double loss = 0.0, hit = 0.0, sum = 0.0;
  const int32_t own = 2;
  softmax_cross_entropy(x.data(), &loss, &hit, &own, 0.3f, 0.5f, 1, 3, 8);
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  double wanted = 0.0;
  for (size_t c = 0; c < 3; ++c) {
    const double weight = 0.1 + (c == 2 ? 0.7 : 0.0), share = std::exp(static_cast<double>(logits[c])) / sum;
    wanted -= weight * std::log(share);
    EXPECT_NEAR(x[c], 0.5 * (share - weight), 1e-7);
  }
  EXPECT_NEAR(loss, wanted, 1e-6);
  EXPECT_EQ(hit, 0.0);
  for (size_t c = 3; c < 8; ++c) EXPECT_EQ(x[c], 0.0f);
}

// d = y - target = 0.5, -3, 0 and 2 over two rows of two.
struct Outcome {
  std::vector<float> gradient;
  std::vector<double> losses;
};
template <typename Function>
Outcome LossOfTwoRows(const Function& function) {
  const std::vector<float> targets = {1.0f, 2.0f, 5.0f, -1.0f};
  std::vector<float> y(16, 77.0f);
  y[0] = 1.5f, y[1] = -1.0f, y[8] = 5.0f, y[9] = 1.0f;
  Outcome outcome{.gradient = {}, .losses = std::vector<double>(2)};
  function(y.data(), outcome.losses.data(), targets.data());
  for (const size_t row : {0u, 8u}) {
    outcome.gradient.insert(outcome.gradient.end(), {y[row], y[row + 1]});
    for (size_t pad = row + 2; pad < row + 8; ++pad) EXPECT_EQ(y[pad], 0.0f);
  }
  return outcome;
}

TEST(Losses, SquaredAbsoluteAndHuberAreMeansOverARow) {
  const Outcome squared =
      LossOfTwoRows([](float* y, double* losses, const float* t) { mean_squared_error(y, losses, t, 0.5f, 2, 2, 8); });
  EXPECT_EQ(squared.losses, (std::vector<double>{4.625, 2.0}));
  EXPECT_EQ(squared.gradient, (std::vector<float>{0.25f, -1.5f, 0.0f, 1.0f}));
  const Outcome absolute =
      LossOfTwoRows([](float* y, double* losses, const float* t) { mean_absolute_error(y, losses, t, 0.5f, 2, 2, 8); });
  EXPECT_EQ(absolute.losses, (std::vector<double>{1.75, 1.0}));
  EXPECT_EQ(absolute.gradient, (std::vector<float>{0.25f, -0.25f, 0.0f, 0.25f}));
  const Outcome huber =
      LossOfTwoRows([](float* y, double* losses, const float* t) { huber_loss(y, losses, t, 2.0f, 0.5f, 2, 2, 8); });
  EXPECT_EQ(huber.losses, (std::vector<double>{(0.125 + 2.0 * (3.0 - 1.0)) / 2.0, 1.0}));
  EXPECT_EQ(huber.gradient, (std::vector<float>{0.125f, -0.5f, 0.0f, 0.5f}));
}

TEST(Losses, BinaryCrossEntropyAgreesWithDouble) {
  RandomSequence random(9, 0);
  for (const int64_t width : {1, 5, 8, 88, 1500}) {
    for (const float smoothing : {0.0f, 0.2f}) {
      const int64_t stride = (width + 7) / 8 * 8;
      std::vector<float> x(static_cast<size_t>(stride), 77.0f), targets;
      for (int64_t i = 0; i < width; ++i) {
        x[static_cast<size_t>(i)] = 8.0f * random.Normal();
        targets.push_back(i % 3 == 0 ? random.Unit() : static_cast<float>(i % 2));
      }
      const std::vector<float> logits = x;
      double loss = 0.0, wanted = 0.0;
      binary_cross_entropy(x.data(), &loss, targets.data(), smoothing, 0.5f, 1, width, stride);
      for (size_t i = 0; i < static_cast<size_t>(width); ++i) {
        const auto z = static_cast<double>(logits[i]);
        const double t =
            static_cast<double>(targets[i]) * (1.0 - static_cast<double>(smoothing)) + 0.5 * static_cast<double>(smoothing);
        const double s = 1.0 / (1.0 + std::exp(-z)), rest = 1.0 / (1.0 + std::exp(z));
        wanted -= t * std::log(s) + (1.0 - t) * std::log(rest);
        EXPECT_NEAR(x[i], 0.5 * (s - t) / static_cast<double>(width), 1e-7);
      }
      EXPECT_NEAR(loss, wanted / static_cast<double>(width), 1e-6 * (1.0 + wanted / static_cast<double>(width)));
      for (size_t i = static_cast<size_t>(width); i < x.size(); ++i) EXPECT_EQ(x[i], 0.0f);
    }
  }
}

TEST(Losses, WhatIsNotANumberStaysSo) {
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<float> y = {NAN, 0, 0, 0, 0, 0, 0, 0};
    const float target = 0.5f;
    double loss = 0.0;
    if (kind == 0) mean_squared_error(y.data(), &loss, &target, 1.0f, 1, 1, 8);
    if (kind == 1) mean_absolute_error(y.data(), &loss, &target, 1.0f, 1, 1, 8);
    if (kind == 2) huber_loss(y.data(), &loss, &target, 1.0f, 1.0f, 1, 1, 8);
    if (kind == 3) binary_cross_entropy(y.data(), &loss, &target, 0.0f, 1.0f, 1, 1, 8);
    EXPECT_TRUE(std::isnan(loss)) << kind;
    EXPECT_TRUE(std::isnan(y[0])) << kind;
  }
}

}  // namespace
}  // namespace plimsoll
