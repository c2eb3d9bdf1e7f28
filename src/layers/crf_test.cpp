// The best sequence of the CRF layer against all sequences, one by one. Loss and gradient are judged by Verify.
#include "layers/crf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace plimsoll {
namespace {

// Buffers of one layer, of its own declared sizes for some rows and steps.
class Memory {
 public:
  Memory(const Layer& layer, int64_t rows, int64_t row_steps) {
    NeedList needs;
    layer.Declare(needs, /*training=*/false);
    for (const Need& need : needs.needs()) {
      const int64_t count = need.unit == NeedUnit::Whole ? 1 : need.unit == NeedUnit::Row ? rows : row_steps + rows;
      std::vector<double>& buffer =
          buffers_.emplace_back(static_cast<size_t>(need.bytes * count) / sizeof(double) + 8);  // aligned for any type
      memory_.Bind(need, reinterpret_cast<char*>(buffer.data()));
    }
  }
  const OwnerMemory& operator*() const { return memory_; }

 private:
  TapePosition position_;
  std::vector<std::vector<double>> buffers_;
  OwnerMemory memory_{&position_};
};

TEST(Crf, TheDecodedSequenceIsTheBestOfAll) {
  constexpr int64_t kSteps = 5;
  ThreadPool pool(1);
  for (const int64_t tags : {1, 2, 3, 5, 9}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const Crf crf({.tags = tags});
      const CrfShape shape{.tags = tags};
      Memory memory(crf, 1, kSteps);
      RandomSequence random(seed, static_cast<uint64_t>(tags));
      float* weights = (*memory).F32(kWeights);
      const auto draw = [&] { return 4.0f * random.Unit() - 2.0f; };
      for (const WeightTensor& tensor : crf.Weights()) {
        for (int64_t row = 0; row < tensor.rows; ++row) {
          for (int64_t column = 0; column < tensor.columns; ++column) weights[tensor.Place(row, column)] = draw();
        }
      }
      std::vector<float> x(static_cast<size_t>(kSteps * shape.stride())), alpha(x.size() + static_cast<size_t>(shape.stride()));
      for (float& value : x) value = draw();

      // The best sequence, by trying all.
      std::vector<int32_t> sequence(kSteps, 0), best;
      double best_score = -HUGE_VAL;
      while (true) {
        double score = weights[shape.start() + sequence.front()] + weights[shape.end() + sequence.back()];
        for (size_t t = 0; t < kSteps; ++t) {
          score += x[t * static_cast<size_t>(shape.stride()) + static_cast<size_t>(sequence[t])];
          if (t > 0) score += weights[sequence[t - 1] * shape.width() + sequence[t]];
        }
        if (score > best_score) {
          best_score = score;
          best = sequence;
        }
        size_t at = 0;
        while (at < kSteps && sequence[at] + 1 == tags) sequence[at++] = 0;
        if (at == kSteps) break;
        ++sequence[at];
      }

      const int32_t length = kSteps;
      Block block{.rows = {}, .first_step = 0, .samples = nullptr, .lengths = &length, .classes = best.data()};
      block.rows.steps = kSteps;
      for (int step = 0; step < kSteps; ++step) {
        block.rows.rows[step] = 1;
        block.rows.first[step + 1] = step + 1;
      }
      const Slice in{.block = &block, .count = kSteps, .data = x.data(), .stride = shape.stride()};
      const Slice out{.block = &block, .count = kSteps, .data = alpha.data() + shape.stride(), .stride = shape.stride()};
      crf.StartForward(*memory, 1);
      crf.Forward(in, out, *memory, {.pool = &pool});
      const auto packed = [](int64_t t) { return t; };
      crf.Decode(*memory, 0, kSteps, packed);
      std::array<int32_t, kSteps> decoded{};
      for (size_t t = 0; t < kSteps; ++t) decoded[t] = crf.TagAt(*memory, static_cast<int64_t>(t));
      EXPECT_TRUE(std::equal(decoded.begin(), decoded.end(), best.begin())) << tags << " tags, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace plimsoll
