// First weights: what each initializer draws, and that the defaults are the bits they have always been.
#include "model/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "train/setup.h"

namespace plimsoll {
namespace {

struct Tensor {
  std::string name;
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values;
  float At(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
};

std::vector<Tensor> FirstWeights(std::vector<LayerOptions> layers, const char* data, Task task, uint64_t seed = 1) {
  Job job;
  job.task = task;
  job.data.train = data;
  job.layers = std::move(layers);
  job.train.seed = seed;
  job.memory.budget = "1GB";
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {});
  if (!setup.ok()) throw std::runtime_error(setup.status().message());
  Result<std::unique_ptr<Engine>> engine = Open(**setup);
  if (!engine.ok()) throw std::runtime_error(engine.status().message());
  InitialiseWeights(*(*setup)->network, (*engine)->memory, seed);
  std::vector<Tensor> tensors;
  for (const WeightPlace& place : WeightPlaces(*(*setup)->network)) {
    Tensor& tensor = tensors.emplace_back(Tensor{place.name, place.tensor.rows, place.tensor.columns, {}});
    tensor.values.resize(static_cast<size_t>(place.elements()));
    GatherWeights(tensor.values.data(), (*engine)->memory.layer(place.layer).F32(kWeights), place.tensor, 0, place.elements());
  }
  return tensors;
}

uint64_t HashOf(const std::vector<Tensor>& tensors) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a over the bits
  for (const Tensor& tensor : tensors) {
    for (const float value : tensor.values) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (bits >> (8 * byte) & 0xffu)) * 1099511628211u;
    }
  }
  return hash;
}

std::vector<LayerOptions> EveryLayer() {
  return {{"", EmbeddingOptions{.output_dim = 5}},
          {"", LSTMOptions{.units = 9}},
          {"", LayerNormalizationOptions{}},
          {"", GRUOptions{.units = 11}},
          {"", GRUOptions{.units = 6, .reset_after = false}},
          {"", SimpleRNNOptions{.units = 8}},
          {"", DenseOptions{}}};
}

TEST(FirstWeights, OfTheDefaultsAreTheBitsTheyHaveAlwaysBeen) {
  const std::vector<Tensor> tensors = FirstWeights(EveryLayer(), "generate:parity?steps=9&samples=4", Task::Classify);
  EXPECT_EQ(HashOf(tensors), 16346468993648518982u);
  EXPECT_NE(HashOf(FirstWeights(EveryLayer(), "generate:parity?steps=9&samples=4", Task::Classify, 2)), HashOf(tensors));
}

constexpr Initializer kEvery[] = {Initializer::GlorotUniform,   Initializer::GlorotNormal,  Initializer::HeUniform,
                                  Initializer::HeNormal,        Initializer::LecunUniform,  Initializer::LecunNormal,
                                  Initializer::Orthogonal,      Initializer::RandomUniform, Initializer::RandomNormal,
                                  Initializer::TruncatedNormal, Initializer::Zeros,         Initializer::Ones,
                                  Initializer::Identity};

// Mean square and bound that an initializer is to have on a matrix from `in` to `out`; no bound: 0.
struct Wanted {
  double square = 0.0;
  double bound = 0.0;
};
Wanted WantedOf(Initializer start, double in, double out) {
  const auto uniform = [](double limit) { return Wanted{limit * limit / 3.0, limit}; };
  const auto truncated = [](double deviation) { return Wanted{deviation * deviation, 2.0 * deviation / 0.87962566103423978}; };
  switch (start) {
    case Initializer::GlorotUniform:
      return uniform(std::sqrt(6.0 / (in + out)));
    case Initializer::GlorotNormal:
      return truncated(std::sqrt(2.0 / (in + out)));
    case Initializer::HeUniform:
      return uniform(std::sqrt(6.0 / in));
    case Initializer::HeNormal:
      return truncated(std::sqrt(2.0 / in));
    case Initializer::LecunUniform:
      return uniform(std::sqrt(3.0 / in));
    case Initializer::LecunNormal:
      return truncated(std::sqrt(1.0 / in));
    case Initializer::Orthogonal:
      return {1.0 / std::max(in, out), 0.0};
    case Initializer::RandomUniform:
      return uniform(0.05);
    case Initializer::RandomNormal:
      return {0.05 * 0.05, 0.0};
    case Initializer::TruncatedNormal:
      return truncated(0.05 * 0.87962566103423978);
    case Initializer::Zeros:
      return {};
    case Initializer::Ones:
      return {1.0, 1.0};
    case Initializer::Identity:
      return {1.0 / std::max(in, out), 1.0};
  }
  return {};
}

// Within three hundredths of the mean square, no value beyond the bound, and the largest close to it.
bool Fits(const Tensor& tensor, const Wanted& wanted) {
  double squares = 0.0, largest = 0.0;
  for (const float value : tensor.values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  const double square = squares / static_cast<double>(tensor.values.size());
  if (std::abs(square - wanted.square) > 0.03 * wanted.square) return false;
  const double spread = largest / std::sqrt(std::max(square, 1e-30));
  if (wanted.bound == 0.0) return square == 0.0 || (spread > 3.0 && spread < 8.0);  // a normal number's
  return largest <= wanted.bound * 1.000001 && largest > 0.98 * wanted.bound;
}

// Each is also held against all others, none of which it may be taken for.
TEST(FirstWeights, HaveTheBoundsAndTheVarianceOfTheirInitializerAndOfNoOther) {
  for (const Initializer start : kEvery) {
    const std::vector<Tensor> tensors = FirstWeights({{"", DenseOptions{.units = 150, .kernel_initializer = start}},
                                                      {"", LSTMOptions{.units = 20, .kernel_initializer = start}},
                                                      {"", DenseOptions{.units = 70, .kernel_initializer = start}},
                                                      {"", DenseOptions{.units = 350, .kernel_initializer = start}},
                                                      {"", DenseOptions{}}},
                                                     "generate:adding?steps=9&samples=4", Task::Regress);
    for (const size_t which : {size_t{2}, size_t{7}}) {  // the input's weights of the LSTM, and 70 to 350
      const Tensor& tensor = tensors[which];
      for (const Initializer other : kEvery) {
        const Wanted wanted = WantedOf(other, static_cast<double>(tensor.columns), static_cast<double>(tensor.rows));
        EXPECT_EQ(Fits(tensor, wanted), start == other)
            << tensor.name << " of " << static_cast<int>(start) << " as " << static_cast<int>(other);
      }
    }
  }
}

TEST(FirstWeights, OfAConvolutionCountItsOutputsOnceForEveryStepItLooksAt) {
  const std::vector<Tensor> tensors = FirstWeights(
      {{"", DenseOptions{.units = 60}}, {"", Conv1DOptions{.filters = 90, .kernel_size = 4}}, {"", DenseOptions{}}},
      "generate:sine?steps=9&samples=4", Task::Regress);
  EXPECT_TRUE(Fits(tensors[2], WantedOf(Initializer::GlorotUniform, 4 * 60, 4 * 90)));
  EXPECT_FALSE(Fits(tensors[2], WantedOf(Initializer::GlorotUniform, 4 * 60, 90))) << "the control";
}

TEST(FirstWeights, OfATableCountItsRowsAsInputs) {
  const std::vector<Tensor> tensors = FirstWeights(
      {{"", EmbeddingOptions{.input_dim = 500, .output_dim = 40, .embeddings_initializer = Initializer::HeUniform}},
       {"", LSTMOptions{.units = 3}},
       {"", DenseOptions{}}},
      "generate:parity?steps=9&samples=4", Task::Classify);
  EXPECT_TRUE(Fits(tensors[0], WantedOf(Initializer::HeUniform, 500, 40)));
  EXPECT_FALSE(Fits(tensors[0], WantedOf(Initializer::HeUniform, 40, 500)));
}

// Largest difference between the products of all pairs along the longer side and those of orthonormal vectors.
double FarFromOrthonormal(const Tensor& tensor) {
  const bool tall = tensor.rows >= tensor.columns;
  const int64_t longer = std::max(tensor.rows, tensor.columns), shorter = std::min(tensor.rows, tensor.columns);
  double worst = 0.0;
  for (int64_t a = 0; a < shorter; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      double product = 0.0;
      for (int64_t i = 0; i < longer; ++i) {
        product += static_cast<double>(tall ? tensor.At(i, a) : tensor.At(a, i)) *
                   static_cast<double>(tall ? tensor.At(i, b) : tensor.At(b, i));
      }
      worst = std::max(worst, std::abs(product - (a == b ? 1.0 : 0.0)));
    }
  }
  return worst;
}

TEST(FirstWeights, AreOrthonormalAlongTheLongerSideWhereThatIsAsked) {
  for (const Initializer start : {Initializer::Orthogonal, Initializer::LecunNormal}) {
    const std::vector<Tensor> tensors = FirstWeights({{"", DenseOptions{.units = 90, .kernel_initializer = start}},
                                                      {"", SimpleRNNOptions{.units = 61, .recurrent_initializer = start}},
                                                      {"", GRUOptions{.units = 30, .kernel_initializer = start}},
                                                      {"", DenseOptions{.units = 29, .kernel_initializer = start}},
                                                      {"", DenseOptions{.units = 70, .kernel_initializer = start}},
                                                      {"", DenseOptions{}}},
                                                     "generate:adding?steps=9&samples=4", Task::Regress);
    for (const Tensor& tensor : tensors) {
      const bool asked = tensor.name == "dense.weight" || tensor.name == "simplernn.weight_hh" ||
                         tensor.name == "gru.weight_ih" || tensor.name == "dense_1.weight" || tensor.name == "dense_2.weight";
      if (!asked) continue;
      if (start == Initializer::Orthogonal) {
        EXPECT_LT(FarFromOrthonormal(tensor), 2e-6) << tensor.name;
      } else {
        EXPECT_GT(FarFromOrthonormal(tensor), 0.1) << tensor.name;
      }
    }
  }
}

TEST(FirstWeights, OfAnIdentityAreOnesOnTheDiagonal) {
  const std::vector<Tensor> tensors =
      FirstWeights({{"", LSTMOptions{.units = 9, .recurrent_initializer = Initializer::Identity}}, {"", DenseOptions{}}},
                   "generate:adding?steps=9&samples=4", Task::Regress);
  const Tensor& state = tensors[1];
  ASSERT_EQ(state.name, "lstm.weight_hh");
  for (int64_t row = 0; row < state.rows; ++row) {
    for (int64_t column = 0; column < state.columns; ++column) EXPECT_EQ(state.At(row, column), row == column ? 1.0f : 0.0f);
  }
}

TEST(FirstWeights, OfAForgetGateAreOnesWhateverTheOtherBiasesBeginWith) {
  for (const bool forget_one : {true, false}) {
    const std::vector<Tensor> tensors = FirstWeights(
        {{"", LSTMOptions{.units = 9, .unit_forget_bias = forget_one, .bias_initializer = Initializer::RandomNormal}},
         {"", DenseOptions{}}},
        "generate:adding?steps=9&samples=4", Task::Regress);
    const Tensor& bias = tensors[2];
    ASSERT_EQ(bias.name, "lstm.bias");
    for (int64_t row = 0; row < bias.rows; ++row) {
      EXPECT_EQ(bias.At(row, 0) == 1.0f, forget_one && row / 9 == 1) << row;
      EXPECT_NE(bias.At(row, 0), 0.0f) << row;
    }
  }
}

TEST(FirstWeights, OfANormalisedLstmScaleByOneAndShiftNothing) {
  const std::vector<Tensor> tensors =
      FirstWeights({{"", LSTMOptions{.units = 9, .layer_normalization = true}}, {"", DenseOptions{}}},
                   "generate:adding?steps=9&samples=4", Task::Regress);
  ASSERT_EQ(tensors.size(), 11U);
  EXPECT_LT(FarFromOrthonormal(tensors[1]), 2e-6);
  for (int64_t row = 0; row < tensors[2].rows; ++row) EXPECT_EQ(tensors[2].At(row, 0), row / 9 == 1 ? 1.0f : 0.0f);
  for (size_t i = 3; i < 9; ++i) {
    for (int64_t row = 0; row < tensors[i].rows; ++row) EXPECT_EQ(tensors[i].At(row, 0), i % 2 == 1 ? 1.0f : 0.0f);
  }
}

TEST(FirstWeights, OfALayerThatDoesNotLearnAreThoseOfOneThatDoes) {
  std::vector<LayerOptions> still = EveryLayer();
  for (size_t i = 0; i + 1 < still.size(); ++i) still[i].trainable = false;
  const char* data = "generate:parity?steps=9&samples=4";
  EXPECT_EQ(HashOf(FirstWeights(still, data, Task::Classify)), HashOf(FirstWeights(EveryLayer(), data, Task::Classify)));
}

}  // namespace
}  // namespace plimsoll
