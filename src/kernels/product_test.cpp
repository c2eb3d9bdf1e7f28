#include "kernels/product.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

struct Operands {
  std::vector<float> rows, panel, out;
};

Operands RandomOperands(const TileShape& s, int pairs, uint64_t seed) {
  RandomSequence random(seed, 0);
  Operands made;
  made.rows.resize(static_cast<size_t>(pairs) * static_cast<size_t>((s.transposed ? s.k : s.n) * s.ldb));
  made.panel.resize(static_cast<size_t>(pairs) * static_cast<size_t>(s.k * s.lda));
  made.out.resize(static_cast<size_t>(s.n * s.ldc));
  for (auto* values : {&made.rows, &made.panel, &made.out}) {
    for (float& value : *values) value = random.Normal();
  }
  return made;
}

// One fmaf accumulator an element, ascending reduction: what product.h promises.
std::vector<float> PlainLoops(const TileShape& s, const Operands& in, int pairs) {
  std::vector<float> out = in.out;
  const size_t rows_of_pair = in.rows.size() / static_cast<size_t>(pairs),
               panel_of_pair = in.panel.size() / static_cast<size_t>(pairs);
  for (int n = 0; n < s.n; ++n) {
    for (int m = 0; m < s.m; ++m) {
      float& place = out[static_cast<size_t>(n * s.ldc + m)];
      float sum = s.add ? place : 0.0f;
      for (size_t pair = 0; pair < static_cast<size_t>(pairs); ++pair) {
        for (int k = 0; k < s.k; ++k) {
          const auto row = static_cast<size_t>(s.transposed ? k * s.ldb + n : n * s.ldb + k);
          sum = std::fmaf(in.rows[pair * rows_of_pair + row],
                          in.panel[pair * panel_of_pair + static_cast<size_t>(k * s.lda + m)], sum);
        }
      }
      place = sum;
    }
  }
  return out;
}

// Basic: the portable tiles.
void ExpectPromisedBits(const TileShape& s, InstructionSet instructions, int pairs = 1) {
  ProductSet set;
  const int number = set.AddNew(s);
  set.Compile(ProductBackend::Generated, instructions);
  ASSERT_EQ(set.backend(), instructions == InstructionSet::Basic ? ProductBackend::Portable : ProductBackend::Generated);
  const Operands in = RandomOperands(s, pairs, static_cast<uint64_t>(s.n * 1000 + s.k));
  std::vector<float> out = in.out;
  if (s.batch) {
    std::vector<uint64_t> panel_bytes, rows_bytes;
    for (size_t pair = 0; pair < static_cast<size_t>(pairs); ++pair) {
      panel_bytes.push_back(pair * in.panel.size() / static_cast<size_t>(pairs) * sizeof(float));
      rows_bytes.push_back(pair * in.rows.size() / static_cast<size_t>(pairs) * sizeof(float));
    }
    set[number].Batch(out.data(), in.rows.data(), in.panel.data(), static_cast<uint64_t>(pairs), panel_bytes.data(),
                      rows_bytes.data());
  } else {
    set[number](out.data(), in.rows.data(), in.panel.data());
  }
  const std::vector<float> wanted = PlainLoops(s, in, pairs);
  EXPECT_EQ(std::memcmp(out.data(), wanted.data(), out.size() * sizeof(float)), 0)
      << "m " << s.m << " n " << s.n << " k " << s.k << (s.add ? " add" : "") << (s.transposed ? " transposed" : "");
}

class Product : public testing::TestWithParam<InstructionSet> {
  void SetUp() override {
    if (GetParam() > BestInstructions()) GTEST_SKIP() << "this machine does not have them";
  }
};

TEST_P(Product, EveryHeightGivesTheBitsOfOneAccumulator) {
  for (int n = 1; n <= kTileRows; ++n) {
    for (const int k : {1, 2, 7, 17, 64, 129}) {
      for (const bool add : {false, true}) {
        ExpectPromisedBits({.m = 32, .n = n, .k = k, .lda = 32, .ldb = k + 3, .ldc = 40, .add = add}, GetParam());
      }
    }
    for (const int m : {8, 16, 24, 48, 64}) {
      ExpectPromisedBits({.m = m, .n = n, .k = 23, .lda = 64, .ldb = 26, .ldc = 72, .add = true}, GetParam());
    }
  }
}

TEST_P(Product, NarrowTilesAndTransposedRowsGiveTheSameBits) {
  for (const int m : {8, 16, 24, 32, 48, 64}) {
    for (const int n : {1, 3, 8, 11, 12, 17, 100}) {
      for (const int k : {1, 4, 128}) {
        ExpectPromisedBits({.m = m, .n = n, .k = k, .lda = 64, .ldb = 112, .ldc = 64, .add = true, .transposed = true},
                           GetParam());
      }
    }
  }
}

TEST_P(Product, ABatchIsOneLongReduction) {
  for (const int m : {8, 16, 32}) {
    for (const int n : {1, 5, 11, 12, 24, 32}) {
      for (const int pairs : {1, 2, 9, 32}) {
        ExpectPromisedBits({.m = m, .n = n, .k = 48, .lda = 32, .ldb = 64, .ldc = 64, .batch = true}, GetParam(), pairs);
      }
    }
  }
}

std::string NameOf(const testing::TestParamInfo<InstructionSet>& set) {
  return set.param == InstructionSet::Basic ? "Basic" : set.param == InstructionSet::Avx2 ? "Avx2" : "Avx512";
}
INSTANTIATE_TEST_SUITE_P(InstructionSets, Product,
                         testing::Values(InstructionSet::Basic, InstructionSet::Avx2, InstructionSet::Avx512), NameOf);

TEST(ProductSet, AFamilyThatIsThereIsShared) {
  ProductSet set;
  const TileShape shape{.m = 32, .k = 16, .lda = 32, .ldb = 16, .ldc = 32, .add = true};
  const int first = set.AddHeights(shape);
  TileShape other = shape;
  other.k = 17;
  EXPECT_NE(set.AddHeights(other), first);
  EXPECT_EQ(set.AddHeights(shape), first);
}

// A hardened container refuses memory that was written to become executable. The child process asks for that refusal.
TEST(ProductSetDeathTest, WhereExecutableMemoryIsRefusedThePortableTilesCompute) {
  constexpr int kSetMdwe = 65, kRefuseExecGain = 1;  // PR_SET_MDWE of Linux 6.3; older headers lack the names
  constexpr int kPortable = 0, kGenerated = 1, kUnsupported = 2;
  const auto child = [&] {
    if (prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) != 0) std::_Exit(kUnsupported);
    ProductSet set;
    const TileShape s{.m = 32, .n = 3, .k = 5, .lda = 32, .ldb = 5, .ldc = 32};
    set.AddNew(s);
    set.Compile(ProductBackend::Generated);
    const Operands in = RandomOperands(s, 1, 1);
    std::vector<float> out = in.out;
    set[0](out.data(), in.rows.data(), in.panel.data());
    const std::vector<float> wanted = PlainLoops(s, in, 1);
    const bool right = std::memcmp(out.data(), wanted.data(), out.size() * sizeof(float)) == 0;
    std::_Exit(right && set.backend() == ProductBackend::Portable ? kPortable : kGenerated);
  };
  if (prctl(/*PR_GET_MDWE=*/66, 0, 0, 0, 0) < 0) GTEST_SKIP() << "degraded: this kernel cannot refuse executable memory";
  EXPECT_EXIT(child(), testing::ExitedWithCode(kPortable), "");
}

TEST(ProductSet, TheBitComparisonNoticesAnotherOrderOfSums) {  // negative control of the tests above
  const TileShape s{.m = 8, .n = 1, .k = 64, .lda = 8, .ldb = 64, .ldc = 8};
  const Operands in = RandomOperands(s, 1, 3);
  std::vector<float> backwards(8);
  for (size_t m = 0; m < 8; ++m) {
    for (size_t k = 64; k-- > 0;) backwards[m] = std::fmaf(in.rows[k], in.panel[k * 8 + m], backwards[m]);
  }
  EXPECT_NE(std::memcmp(backwards.data(), PlainLoops(s, in, 1).data(), 8 * sizeof(float)), 0);
}

}  // namespace
}  // namespace plimsoll
