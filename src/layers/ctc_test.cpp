// What the CTC layer says was spelt, against a plain edit distance. Loss and gradient are judged by Verify.
#include "layers/ctc.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace plimsoll {
namespace {

using Labels = std::vector<int32_t>;

int64_t EditDistance(const Labels& a, const Labels& b) {
  if (a.empty() || b.empty()) return static_cast<int64_t>(a.size() + b.size());
  const Labels shorter_a(a.begin() + 1, a.end()), shorter_b(b.begin() + 1, b.end());
  const int64_t both = EditDistance(shorter_a, shorter_b) + (a[0] == b[0] ? 0 : 1);
  if (a[0] == b[0]) return both;
  return std::min({both, EditDistance(shorter_a, b) + 1, EditDistance(a, shorter_b) + 1});
}

// Two rows of 20 and 9 steps: a block border, and a row that ends before it.
TEST(Ctc, ErrorsAreTheEditDistanceToWhatTheLargestOutputsSpell) {
  constexpr int64_t kClasses = 4, kRows = 2;
  const int32_t lengths[kRows] = {20, 9};
  ThreadPool pool(1);
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomSequence random(seed, 0);
    const int32_t counts[kRows] = {static_cast<int32_t>(1 + random.Below(5)), static_cast<int32_t>(1 + random.Below(4))};
    Labels labels(kRows * 5);
    for (int32_t& label : labels) label = static_cast<int32_t>(1 + random.Below(kClasses - 1));
    const Ctc ctc({.classes = kClasses, .longest = 5});
    const CtcShape shape{.classes = kClasses, .longest = 5};

    TapePosition position;
    OwnerMemory memory(&position);
    std::vector<std::vector<double>> buffers;  // aligned for any type
    NeedList needs;
    ctc.Declare(needs, /*training=*/false);
    for (const Need& need : needs.needs()) {
      const int64_t count = need.unit == NeedUnit::Row ? kRows : kRows * (kBlockSteps + 1);
      buffers.emplace_back(static_cast<size_t>(need.bytes * count) / sizeof(double) + 8);
      memory.Bind(need, reinterpret_cast<char*>(buffers.back().data()));
    }
    ctc.StartForward(memory, kRows);
    Labels spelt[kRows];
    int32_t before[kRows] = {0, 0};
    for (int64_t first_step = 0; first_step < lengths[0]; first_step += kBlockSteps) {
      Block block{.rows = {}, .first_step = first_step, .lengths = lengths};
      block.labels = {.labels = labels.data(), .lengths = counts, .longest = 5};
      BlockRows& rows = block.rows;
      std::vector<float> x;
      for (int64_t t = first_step; t < std::min<int64_t>(lengths[0], first_step + kBlockSteps); ++t, ++rows.steps) {
        rows.rows[rows.steps] = t < lengths[1] ? 2 : 1;
        rows.first[rows.steps + 1] = rows.first[rows.steps] + rows.rows[rows.steps];
        for (int row = 0; row < rows.rows[rows.steps]; ++row) {
          const auto best =
              static_cast<int32_t>(random.Below(2) == 0 ? random.Below(kClasses) : static_cast<uint64_t>(before[row]));
          for (int32_t k = 0; k < shape.x_stride(); ++k) x.push_back(random.Unit() + (k == best ? 1.5f : 0.0f));
          if (best != 0 && best != before[row]) spelt[row].push_back(best);
          before[row] = best;
        }
      }
      std::vector<float> alpha(static_cast<size_t>((rows.row_steps() + kRows) * shape.stride()));
      const Slice in{.block = &block, .count = rows.row_steps(), .data = x.data(), .stride = shape.x_stride()};
      const Slice out{.block = &block,
                      .count = rows.row_steps(),
                      .data = alpha.data() + rows.rows[0] * shape.stride(),
                      .stride = shape.stride()};
      ctc.Forward(in, out, memory, {.pool = &pool});
    }
    for (int64_t row = 0; row < kRows; ++row) {
      const Labels target(labels.begin() + 5 * row, labels.begin() + 5 * row + counts[row]);
      EXPECT_EQ(ctc.ErrorsOf(memory, row, counts[row]), EditDistance(spelt[row], target)) << "seed " << seed << ", row " << row;
    }
  }
}

}  // namespace
}  // namespace plimsoll
