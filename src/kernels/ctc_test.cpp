// The CTC kernels on one row, block by block there and back, against plain loops in double. Ragged rows are judged by Verify.
#include "kernels/ctc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "reference/ctc.h"

namespace plimsoll {
namespace {

struct RowCase {
  int64_t steps, classes, labels;
  float spread;  // of the outputs
  float blank;   // added to the blank's
};

struct RowResult {
  double loss = 0.0;
  std::vector<float> d_x;  // [step][x_stride]
};

// Labels from 1, of which the steps can carry all.
std::vector<int32_t> DrawLabels(RandomSequence& random, const RowCase& c) {
  std::vector<int32_t> labels;
  while (static_cast<int64_t>(labels.size()) < c.labels) {
    labels.push_back(static_cast<int32_t>(1 + random.Below(static_cast<uint64_t>(c.classes - 1))));
    if (reference::CtcStepsOf(labels) > c.steps) {
      labels.pop_back();
      break;
    }
  }
  return labels;
}

RowResult RunRow(const std::vector<float>& x, const std::vector<int32_t>& labels, const CtcShape& shape, int32_t steps) {
  const int64_t stride = shape.stride();
  const auto count = static_cast<int32_t>(labels.size());
  RowResult result{.loss = 0.0, .d_x = std::vector<float>(x.size())};
  std::vector<float> alpha(static_cast<size_t>((kBlockSteps + 1) * stride)),
      sums(static_cast<size_t>(kBlockSteps * shape.width())), p(static_cast<size_t>(shape.width()));
  std::vector<std::vector<float>> starts;  // alpha before each block
  BlockRows block;
  const auto rows_at = [&](int64_t first_step) {
    block = {};
    for (int64_t t = first_step; t < std::min<int64_t>(steps, first_step + kBlockSteps); ++t) {
      block.rows[block.steps++] = 1;
      block.first[block.steps] = block.steps;
    }
    return CtcRows{.rows = &block,
                   .first_step = first_step,
                   .lengths = &steps,
                   .labels = labels.data(),
                   .label_counts = &count,
                   .label_stride = count};
  };
  const auto forward = [&](const CtcRows& rows, double* loss) {
    ctc_forward(alpha.data() + stride, sums.data(), loss, x.data() + rows.first_step * shape.x_stride(), rows, shape, {0, 1});
  };
  for (int64_t first = 0; first < steps; first += kBlockSteps) {
    starts.emplace_back(alpha.begin(), alpha.begin() + stride);
    forward(rows_at(first), &result.loss);
    std::copy_n(alpha.begin() + block.steps * stride, stride, alpha.begin());
  }
  for (int64_t number = BlocksOf(steps) - 1; number >= 0; --number) {
    std::copy(starts[static_cast<size_t>(number)].begin(), starts[static_cast<size_t>(number)].end(), alpha.begin());
    const CtcRows rows = rows_at(number * kBlockSteps);
    double again = 0.0;
    forward(rows, &again);
    const int64_t place = rows.first_step * shape.x_stride();
    ctc_backward(result.d_x.data() + place, p.data(), alpha.data() + stride, sums.data(), x.data() + place, 1.0f, rows, shape,
                 {0, 1});
  }
  return result;
}

// Outputs near each other and far apart; a blank that all but leaves no way, so that alpha is far below zero; thousands of
// steps.
TEST(CtcKernels, LossAndGradientAgreeWithDouble) {
  for (const RowCase& c : {RowCase{1, 2, 1, 3.0f, 0.0f},
                           {5, 3, 4, 3.0f, 0.0f},
                           {16, 9, 7, 3.0f, 0.0f},
                           {17, 8, 9, 30.0f, 0.0f},
                           {40, 2, 12, 3.0f, 0.0f},
                           {90, 30, 31, 3.0f, 0.0f},
                           {200, 5, 20, 3.0f, 12.0f},
                           {3000, 12, 50, 3.0f, 0.0f}}) {
    RandomSequence random(SeedFor(3, RandomUse::Test), static_cast<uint64_t>(c.steps));
    const std::vector<int32_t> labels = DrawLabels(random, c);
    const CtcShape shape{.classes = c.classes, .longest = c.labels};
    std::vector<float> x(static_cast<size_t>(c.steps * shape.x_stride()));
    reference::Rows<double> rows(c.steps, c.classes);
    for (int64_t t = 0; t < c.steps; ++t) {
      for (int64_t k = 0; k < c.classes; ++k) {
        const float value = c.spread * (2.0f * random.Unit() - 1.0f) + (k == 0 ? c.blank : 0.0f);
        x[static_cast<size_t>(t * shape.x_stride() + k)] = value;
        rows.row(t)[k] = static_cast<double>(value);
      }
    }
    const RowResult got = RunRow(x, labels, shape, static_cast<int32_t>(c.steps));
    const double wanted = reference::CtcLoss(rows, labels);
    EXPECT_NEAR(got.loss, wanted, 1e-6 * std::max(1.0, wanted)) << c.steps << " steps";
    if (c.classes > 2) {
      std::vector<int32_t> others = labels;
      others.back() = others.back() % static_cast<int32_t>(c.classes - 1) + 1;
      EXPECT_GT(std::abs(reference::CtcLoss(rows, others) - got.loss), 1e-3) << "the control";
    }
    reference::Rows<double> d_rows(c.steps, c.classes);
    reference::CtcBackward(d_rows, rows, labels, 1.0);
    double squares = 0.0, size = 0.0;
    for (int64_t t = 0; t < c.steps; ++t) {
      for (int64_t k = 0; k < c.classes; ++k) {
        const double wanted_here = d_rows.row(t)[k];
        squares += std::pow(static_cast<double>(got.d_x[static_cast<size_t>(t * shape.x_stride() + k)]) - wanted_here, 2.0);
        size += wanted_here * wanted_here;
      }
    }
    EXPECT_LE(std::sqrt(squares / size), 2e-5) << c.steps << " steps";
  }
}

}  // namespace
}  // namespace plimsoll
