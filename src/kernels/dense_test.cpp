#include "kernels/dense.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

std::vector<float> Values(int64_t count, uint64_t seed) {
  RandomSequence random(seed, 0);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.Unit()) - 0.5f);
  return values;
}

TEST(TransposeTile, RowsBecomeColumnsAndWhatIsNotThereZero) {
  for (const int64_t rows : {1, 3, 4, 7, 30, 32, 40}) {
    for (const int64_t columns : {1, 4, 10, 31, 32, 48, 64}) {
      const int64_t stride = columns + 3;
      const std::vector<float> panel = Values(rows * stride, 3);
      std::vector<float> out(static_cast<size_t>(columns * kPanelColumns + 8), 7.0f), wanted = out;
      for (int64_t column = 0; column < columns; ++column) {
        for (int64_t row = 0; row < kPanelColumns; ++row) {
          const float value = row < rows ? panel[static_cast<size_t>(row * stride + column)] : 0.0f;
          wanted[static_cast<size_t>(column * kPanelColumns + row)] = value;
        }
      }
      TransposeTile(out.data(), panel.data(), rows, columns, stride);
      EXPECT_EQ(out, wanted) << rows << " rows, " << columns << " columns";
    }
  }
}

// What a copy of all weights gives, a chunk at a time gives to the last bit, on any number of threads.
TEST(DenseBackward, InChunksHasTheBitsOfAWholeCopy) {
  for (const int64_t units : {31, 512, 513, 1100, 1536}) {
    for (const int64_t inputs : {5, 32, 100, 256}) {
      DenseShape whole{.inputs = inputs, .units = units, .input_stride = ActivationStride(inputs), .input_gradient = true};
      DenseShape chunks = whole;
      chunks.in_chunks = true;
      EXPECT_LE(chunks.transposed(), whole.transposed());
      ProductSet set;
      const DenseTiles whole_tiles = AddDenseTiles(set, whole), chunk_tiles = AddDenseTiles(set, chunks);
      set.Compile(ProductBackend::Generated);
      const std::vector<float> weights = Values(whole.weights(), 1);
      for (const int64_t rows : {1, 7, 24, 65, 256}) {
        const std::vector<float> delta = Values(rows * whole.stride(), 2);
        std::vector<float> wanted(static_cast<size_t>(rows * ActivationStride(inputs)), 7.0f);
        for (const int threads : {1, 2, 3}) {
          ThreadPool pool(threads);
          std::vector<float> copy(static_cast<size_t>(whole.transposed())), chunk(static_cast<size_t>(chunks.transposed()));
          std::vector<float> got(wanted.size(), 7.0f);
          if (threads == 1) {
            dense_transpose(copy.data(), weights.data(), whole, pool);
            dense_backward(wanted.data(), delta.data(), copy.data(), rows, whole, whole_tiles, pool);
          }
          dense_backward_in_chunks(got.data(), delta.data(), weights.data(), chunk.data(), rows, chunks, chunk_tiles, pool);
          EXPECT_EQ(got, wanted) << units << " units, " << inputs << " inputs, " << rows << " rows, " << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
