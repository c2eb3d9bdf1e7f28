// The engine against plain loops in double, over the sizes where packing, tails and threads go wrong.
#include "train/verify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plimsoll/trainer.h"
#include "reference/reference.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

void ExpectVerified(const Job& job, const std::string& what, InstructionSet instructions = BestInstructions()) {
  const Result<VerifyReport> report = VerifyOn(job, instructions);
  ASSERT_TRUE(report.ok()) << what << ": " << report.status().message();
  EXPECT_TRUE(report.value().same_bits) << what;
  for (const TensorDifference& tensor : report.value().tensors) {
    EXPECT_TRUE(tensor.ok) << what << ": " << tensor.tensor << " relative " << tensor.relative << " allowed " << tensor.allowed;
  }
}

Job MakeJob(Task task, std::string source, std::vector<LayerKind> layers, int64_t batch_size) {
  Job job;
  job.task = task;
  job.data.train = std::move(source);
  for (LayerKind& layer : layers) job.layers.push_back({"", std::move(layer)});
  job.train.batch_size = batch_size;
  job.train.threads = 2;
  job.memory.budget = "2GB";
  return job;
}

bool LooksUpProducts(const Job& job) {
  const auto setup = SetUpOrThrow(job);
  const std::vector<PlannedBuffer>& buffers = setup->plan.buffers;
  return std::any_of(buffers.begin(), buffers.end(),
                     [](const PlannedBuffer& one) { return one.name == "products of the table"; });
}

LSTMOptions Units(int64_t units) { return LSTMOptions{.units = units}; }

enum class Kind { Lstm, Gru, GruBefore, Rnn, Projected, Normalized };
LayerKind LayerOf(Kind kind, int64_t units, bool use_bias = true) {
  switch (kind) {
    case Kind::Lstm:
      return LSTMOptions{.units = units, .use_bias = use_bias};
    case Kind::Gru:
      return GRUOptions{.units = units, .use_bias = use_bias};
    case Kind::GruBefore:
      return GRUOptions{.units = units, .use_bias = use_bias, .reset_after = false};
    case Kind::Rnn:
      return SimpleRNNOptions{.units = units, .use_bias = use_bias};
    case Kind::Projected:  // h of 1, 1, 3, 7, 21 and more values: below and beyond a vector and a panel
      return LSTMOptions{.units = units, .use_bias = use_bias, .proj_size = units > 1 ? (units + 2) / 3 : 0};
    case Kind::Normalized:
      return LSTMOptions{.units = units, .use_bias = use_bias, .layer_normalization = true};
  }
  return {};
}

class Grid : public testing::TestWithParam<std::tuple<Kind, int64_t>> {
 protected:
  LayerKind Tested() const { return LayerOf(std::get<0>(GetParam()), std::get<1>(GetParam())); }
  std::string What(int64_t rows) const {
    return fmt::format("cell {}, {} units, {} rows", static_cast<int>(std::get<0>(GetParam())), std::get<1>(GetParam()), rows);
  }
};

// One feature, a target at every step: no gradient of the input, the head runs in slices of blocks.
TEST_P(Grid, FeaturesWithATargetAtEveryStepAgreeWithDouble) {
  // Under a sanitizer plain loops over the whole grid take most of an hour; what it looks for shows at the borders of tiles,
  // vectors and groups.
  const std::vector<int64_t> all = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 32, 64, 65}, borders = {1, 9, 31, 65};
  for (const int64_t rows : kSanitized ? borders : all) {
    const std::string source = fmt::format("generate:sine?steps=20&samples={}&min_steps=1", rows);
    ExpectVerified(MakeJob(Task::Regress, source, {Tested(), DenseOptions{}}, rows), What(rows));
  }
}

// Ids, two layers: gradients of inputs and of the table, pooled. One value normalised is zero, and over zeros a normalised
// layer never leaves them: no float holds its gradients, which then grow by 31 a step.
TEST_P(Grid, StackedLayersOverIdsAgreeWithDouble) {
  const auto [kind, units] = GetParam();
  const LayerKind above = LayerOf(kind == Kind::Normalized && units == 1 ? Kind::Lstm : kind, 9);
  const std::vector<int64_t> all = {1, 7, 33, 65}, borders = {7, 65};
  for (const int64_t rows : kSanitized ? borders : all) {
    const std::string source = fmt::format("generate:parity?steps=20&samples={}&min_steps=1&per_step=false", rows);
    ExpectVerified(MakeJob(Task::Classify, source,
                           {EmbeddingOptions{.input_dim = 2, .output_dim = 5}, Tested(), above, DenseOptions{}}, rows),
                   What(rows));
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, Grid,
                         testing::Combine(testing::Values(Kind::Lstm, Kind::Gru, Kind::GruBefore, Kind::Rnn, Kind::Projected,
                                                          Kind::Normalized),
                                          testing::Values(1, 3, 8, 17, 64, 100, 128, 256)));

// Layouts follow the width of the machine's vectors: a machine with the widest has to show the others too.
TEST(Verify, EveryInstructionSetAgreesWithDouble) {
  for (const InstructionSet set : {InstructionSet::Basic, InstructionSet::Avx2, InstructionSet::Avx512}) {
    if (set > BestInstructions()) continue;
    for (const Kind kind : {Kind::Lstm, Kind::Gru, Kind::GruBefore, Kind::Rnn, Kind::Projected}) {
      for (const int64_t units : {1, 8, 17, 24, 100}) {
        const std::string what = fmt::format("set {}, cell {}, {} units", static_cast<int>(set), static_cast<int>(kind), units);
        ExpectVerified(
            MakeJob(Task::Classify, "generate:parity?steps=20&samples=33&min_steps=1&per_step=false",
                    {EmbeddingOptions{.input_dim = 2, .output_dim = 5}, LayerOf(kind, units), LayerOf(kind, 9), DenseOptions{}},
                    33),
            what, set);
      }
    }
  }
}

TEST(Verify, AGradientThatNoFloatHoldsIsTheJobsNotAMistake) {
  Job job =
      MakeJob(Task::Regress, "generate:adding?steps=600&samples=4",
              {SimpleRNNOptions{.units = 8, .activation = Activation::Linear, .recurrent_dropout = 0.5}, DenseOptions{}}, 4);
  const Result<VerifyReport> report = Verify(job);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().exit_code(), 5) << report.status().message();
  EXPECT_NE(report.status().message().find("more than a float holds"), std::string::npos) << report.status().message();
}

TEST(Verify, CellsWithoutABiasAgreeWithDouble) {
  for (const Kind kind : {Kind::Lstm, Kind::Gru, Kind::GruBefore, Kind::Rnn, Kind::Projected, Kind::Normalized}) {
    ExpectVerified(MakeJob(Task::Regress, "generate:adding?steps=40&samples=70&min_steps=2",
                           {LayerOf(kind, 19, false), LayerOf(kind, 40, false), DenseOptions{}}, 70),
                   fmt::format("cell {}", static_cast<int>(kind)));
  }
}

TEST(Verify, EveryPoolingActivationAndDropoutAgreesWithDouble) {
  for (const PoolingMode mode : {PoolingMode::Last, PoolingMode::Mean, PoolingMode::Max}) {
    for (const Activation activation : {Activation::Linear, Activation::Relu, Activation::Tanh, Activation::Sigmoid}) {
      ExpectVerified(MakeJob(Task::Regress, "generate:adding?steps=40&samples=70&min_steps=2",
                             {DropoutOptions{.rate = 0.1}, DenseOptions{.units = 7, .activation = Activation::Tanh}, Units(13),
                              DropoutOptions{.rate = 0.2}, Units(11), PoolingOptions{.mode = mode}, DropoutOptions{.rate = 0.3},
                              DenseOptions{.units = 6, .activation = activation}, DenseOptions{}},
                             70),
                     fmt::format("pooling {} activation {}", static_cast<int>(mode), static_cast<int>(activation)));
    }
  }
}

// Of inputs, of h and of both, with other masks in each layer; features and the rows of a layer below are masked.
TEST(Verify, DropoutInsideACellAgreesWithDouble) {
  for (const Kind kind : {Kind::Lstm, Kind::Gru, Kind::GruBefore, Kind::Rnn, Kind::Projected}) {
    for (const auto& [dropout, recurrent_dropout] : {std::pair(0.3, 0.0), std::pair(0.0, 0.3), std::pair(0.2, 0.5)}) {
      for (const int64_t units : {1, 3, 17, 40}) {
        std::vector<LayerKind> layers = {LayerOf(kind, units), LayerOf(kind, 19), DenseOptions{}};
        for (LayerKind& layer : layers) {
          std::visit(
              [&](auto& options) {
                if constexpr (requires { options.recurrent_dropout; }) {
                  options.dropout = dropout;
                  options.recurrent_dropout = recurrent_dropout;
                }
              },
              layer);
        }
        ExpectVerified(MakeJob(Task::Regress, "generate:adding?steps=40&samples=70&min_steps=2", layers, 70),
                       fmt::format("cell {}, {} units, {} {}", static_cast<int>(kind), units, dropout, recurrent_dropout));
      }
    }
  }
}

// Features and ids, one target a step and one a sample; 40 steps are more than two blocks.
TEST(Verify, SequencesReadFromTheirEndAgreeWithDouble) {
  const LSTMOptions backwards{.units = 9, .dropout = 0.2, .go_backwards = true};
  ExpectVerified(MakeJob(Task::Regress, "generate:sine?steps=40&samples=70&min_steps=2",
                         {backwards, DropoutOptions{.rate = 0.2}, GRUOptions{.units = 7}, DenseOptions{}}, 70),
                 "features, a target a step");
  ExpectVerified(MakeJob(Task::Classify, "generate:parity?steps=40&samples=70&min_steps=1&per_step=false",
                         {EmbeddingOptions{.output_dim = 5}, DropoutOptions{.rate = 0.2}, backwards, DenseOptions{}}, 70),
                 "ids, a target a sample");
}

TEST(Verify, EveryFunctionInsideACellAgreesWithDouble) {
  for (const Activation activation : {Activation::Linear, Activation::Relu, Activation::Sigmoid, Activation::HardSigmoid,
                                      Activation::Softsign, Activation::Elu, Activation::LeakyRelu}) {
    for (const Activation gate : {Activation::HardSigmoid, Activation::Sigmoid}) {
      const std::vector<LayerKind> layers = {
          LSTMOptions{.units = 9, .activation = activation, .recurrent_activation = gate},
          LSTMOptions{.units = 10, .activation = activation, .recurrent_activation = gate, .proj_size = 9},
          GRUOptions{.units = 11, .activation = activation, .recurrent_activation = gate},
          GRUOptions{.units = 12, .activation = activation, .recurrent_activation = gate, .reset_after = false},
          SimpleRNNOptions{.units = 13, .activation = activation},
          DenseOptions{}};
      ExpectVerified(MakeJob(Task::Regress, "generate:sine?steps=20&samples=40&min_steps=2", layers, 40),
                     fmt::format("activation {} gate {}", static_cast<int>(activation), static_cast<int>(gate)));
    }
  }
}

TEST(Verify, NormalisationActivationAndSpatialDropoutAgreeWithDouble) {
  for (const int64_t units : {1, 3, 8, 17, 64}) {
    ExpectVerified(
        MakeJob(
            Task::Regress, "generate:adding?steps=40&samples=70&min_steps=2",
            {LayerNormalizationOptions{}, DenseOptions{.units = units}, ActivationOptions{.activation = Activation::Elu},
             LayerNormalizationOptions{}, DropoutOptions{.rate = 0.2, .spatial = true}, Units(units),
             LayerNormalizationOptions{.epsilon = 0.01}, ActivationOptions{.activation = Activation::Softsign}, DenseOptions{}},
            70),
        fmt::format("{} units", units));
  }
}

// Graphs: skips inside the body and from the body into the head, an input read twice, several poolings, branches.
TEST(Verify, GraphsAgreeWithDouble) {
  const auto reading = [](std::vector<std::string> inputs, LayerKind kind) {
    return LayerOptions{.name = "", .kind = std::move(kind), .inputs = std::move(inputs)};
  };
  const auto plain = [&](LayerKind kind) { return reading({}, std::move(kind)); };
  for (const MergeMode mode : {MergeMode::Concatenate, MergeMode::Add, MergeMode::Multiply}) {
    const MergeOptions merge{.mode = mode};
    Job job = MakeJob(Task::Regress, "generate:sine?steps=40&samples=70&min_steps=2", {}, 70);
    job.layers = {plain(Units(13)),
                  plain(Units(13)),
                  reading({"lstm", "lstm_1"}, merge),
                  plain(LayerNormalizationOptions{}),
                  plain(Units(13)),
                  {.name = "second", .kind = merge, .inputs = {"lstm_2", "lstm", "lstm"}},
                  plain(DenseOptions{.units = 9}),
                  reading({"second"}, DenseOptions{.units = 9}),
                  reading({"dense", "dense_1", "dense"}, merge),
                  plain(DenseOptions{})};
    ExpectVerified(job, fmt::format("steps, mode {}", static_cast<int>(mode)));

    job.data.train = "generate:adding?steps=40&samples=70&min_steps=2";
    job.layers = {plain(Units(13)),
                  plain(PoolingOptions{.mode = PoolingMode::Mean}),
                  reading({"lstm"}, PoolingOptions{.mode = PoolingMode::Max}),
                  reading({"input"}, GRUOptions{.units = 13}),
                  reading({"pooling", "pooling_1", "gru"}, merge),
                  plain(DenseOptions{.units = 13}),
                  reading({"dense", "pooling"}, merge),
                  plain(DenseOptions{})};
    ExpectVerified(job, fmt::format("pooled, mode {}", static_cast<int>(mode)));
  }
}

// Every layer in turn is held still, and all but one: the gradients of the others are those of the whole model.
TEST(Verify, LayersThatDoNotLearnLeaveTheGradientsOfTheOthersAsTheyAre) {
  const std::vector<LayerKind> stack = {EmbeddingOptions{.input_dim = 2, .output_dim = 5},
                                        DenseOptions{.units = 7},
                                        Units(9),
                                        LayerNormalizationOptions{},
                                        GRUOptions{.units = 11},
                                        GRUOptions{.units = 6, .reset_after = false},
                                        SimpleRNNOptions{.units = 8},
                                        DenseOptions{.units = 5, .activation = Activation::Tanh},
                                        LayerNormalizationOptions{},
                                        DenseOptions{}};
  for (const bool per_step : {false, true}) {
    for (const bool all_others : {false, true}) {
      for (size_t chosen = 0; chosen < stack.size(); ++chosen) {
        Job job = MakeJob(Task::Classify, fmt::format("generate:parity?steps=40&samples=33&min_steps=2&per_step={}", per_step),
                          stack, 33);
        for (size_t i = 0; i < stack.size(); ++i) job.layers[i].trainable = (i == chosen) == all_others;
        ExpectVerified(job, fmt::format("layer {}, all others {}, per step {}", chosen, all_others, per_step));
      }
    }
  }
}

TEST(Verify, LayersThatDoNotLearnStillDropAndProject) {
  for (const bool first : {true, false}) {
    Job job = MakeJob(Task::Regress, "generate:adding?steps=40&samples=33&min_steps=2",
                      {LSTMOptions{.units = 13, .proj_size = 7, .dropout = 0.25, .recurrent_dropout = 0.25},
                       GRUOptions{.units = 9, .dropout = 0.25, .recurrent_dropout = 0.25}, DenseOptions{}},
                      33);
    job.layers[first ? 0 : 1].trainable = false;
    ExpectVerified(job, first ? "the first" : "the second");
  }
}

// Normalisation enlarges what the layers below have rounded, so these stand on few.
TEST(Verify, NormalisedLayersByOtherFunctionsPenalisedAndTruncatedAgreeWithDouble) {
  for (const Activation activation : {Activation::Linear, Activation::Sigmoid, Activation::Softsign, Activation::Elu}) {
    const LSTMOptions lstm{.units = 14,
                           .activation = activation,
                           .recurrent_activation = Activation::HardSigmoid,
                           .layer_normalization = true,
                           .epsilon = 0.01};
    ExpectVerified(MakeJob(Task::Regress, "generate:sine?steps=20&samples=40&min_steps=2", {lstm, DenseOptions{}}, 40),
                   fmt::format("activation {}", static_cast<int>(activation)));
  }
  const LSTMOptions penalised{
      .units = 11, .kernel_l2 = 0.02, .recurrent_l1 = 0.01, .bias_l2 = 0.03, .layer_normalization = true};
  for (const int64_t truncate : {0, 1, 7, 16, 33}) {
    Job job = MakeJob(Task::Regress, "generate:sine?steps=70&samples=33&min_steps=2", {penalised, DenseOptions{}}, 33);
    job.train.truncate = truncate;
    ExpectVerified(job, fmt::format("after {} steps", truncate));
  }
}

TEST(Verify, NormalisedLayersThatDoNotLearnAgreeWithDouble) {
  for (const size_t still : {0, 1, 2}) {
    Job job = MakeJob(
        Task::Regress, "generate:adding?steps=40&samples=33&min_steps=2",
        {LayerOf(Kind::Normalized, 13), LayerOf(Kind::Normalized, 9), LayerOf(Kind::Normalized, 7), DenseOptions{}}, 33);
    job.layers[still].trainable = false;
    ExpectVerified(job, fmt::format("layer {}", still));
  }
}

TEST(Verify, LooksAtTheGradientsOfLayersThatLearnAndOfNoOthers) {
  Job job = MakeJob(Task::Regress, "generate:adding?steps=20&samples=8", {Units(5), Units(6), DenseOptions{}}, 8);
  job.layers[1].trainable = false;
  const Result<VerifyReport> report = Verify(job);
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::vector<std::string> names;
  for (const TensorDifference& tensor : report.value().tensors) names.push_back(tensor.tensor);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "outputs", "gradient of lstm.weight_ih", "gradient of lstm.weight_hh",
                                             "gradient of lstm.bias", "gradient of dense.weight", "gradient of dense.bias"}));
}

TEST(Verify, PenaltiesOnEveryTensorAgreeWithDouble) {
  for (const int64_t units : {1, 9, 64}) {
    ExpectVerified(
        MakeJob(Task::Classify, "generate:parity?steps=30&samples=70&min_steps=2",
                {EmbeddingOptions{.output_dim = 5, .embeddings_l1 = 0.03, .embeddings_l2 = 0.02},
                 LSTMOptions{.units = units, .kernel_l1 = 0.01, .recurrent_l2 = 0.04, .bias_l1 = 0.02},
                 GRUOptions{.units = units, .kernel_l2 = 0.05, .recurrent_l1 = 0.01, .bias_l2 = 0.07},
                 GRUOptions{.units = units, .use_bias = false, .reset_after = false, .kernel_l2 = 0.05, .recurrent_l1 = 0.01},
                 SimpleRNNOptions{.units = units, .kernel_l1 = 0.02, .kernel_l2 = 0.01, .bias_l2 = 0.03},
                 DenseOptions{.kernel_l1 = 0.01, .kernel_l2 = 0.02, .bias_l1 = 0.03, .bias_l2 = 0.04}},
                70),
        fmt::format("{} units", units));
  }
}

TEST(Verify, ChainsOfTagsAgreeWithDouble) {
  for (const int64_t symbols : {2, 3, 8, 17, 60}) {  // the tags are these, a blank and a delimiter
    for (const bool frozen : {false, true}) {
      Job job = MakeJob(Task::Classify, fmt::format("generate:copy?delay=30&samples=40&symbols={}", symbols),
                        {EmbeddingOptions{.output_dim = 5}, Units(13), DenseOptions{}, CRFOptions{}}, 40);
      job.layers.back().trainable = !frozen;
      ExpectVerified(job, fmt::format("{} symbols, frozen {}", symbols, frozen));
    }
  }
  ExpectVerified(MakeJob(Task::Classify, "generate:parity?steps=70&samples=33&min_steps=1",
                         {EmbeddingOptions{.output_dim = 5}, GRUOptions{.units = 9}, DenseOptions{}, CRFOptions{}}, 33),
                 "ragged");
}

Job CtcJob(const std::string& settings, std::vector<LayerKind> layers, int64_t rows) {
  Job job = MakeJob(Task::Classify, fmt::format("generate:spell?samples={}&{}", rows, settings), std::move(layers), rows);
  job.train.loss = Loss::Ctc;
  return job;
}

TEST(Verify, CtcAgreesWithDouble) {
  for (const int64_t symbols : {1, 2, 7, 8, 30}) {
    for (const char* extent : {"labels=1&hold=2", "labels=3&min_labels=1&hold=5", "labels=24&min_labels=1&hold=3"}) {
      ExpectVerified(CtcJob(fmt::format("symbols={}&{}", symbols, extent),
                            {EmbeddingOptions{.output_dim = 5}, Units(13), DenseOptions{}}, 40),
                     fmt::format("{} symbols, {}", symbols, extent));
    }
  }
  ExpectVerified(CtcJob("labels=40&min_labels=30&hold=2",
                        {EmbeddingOptions{.output_dim = 5, .embeddings_l2 = 1e-3}, GRUOptions{.units = 9},
                         DropoutOptions{.rate = 0.2}, Units(20), DenseOptions{.units = 12}},
                        70),
                 "two groups");
}

TEST(Verify, TruncatedGradientsAgreeWithDouble) {
  for (const int64_t truncate : {1, 7, 16, 33, 1000}) {
    Job job = MakeJob(Task::Regress, "generate:sine?steps=70&samples=33&min_steps=2",
                      {LSTMOptions{.units = 13, .proj_size = 7, .recurrent_dropout = 0.2}, GRUOptions{.units = 9},
                       GRUOptions{.units = 6, .reset_after = false}, SimpleRNNOptions{.units = 8}, DenseOptions{}},
                      33);
    job.train.truncate = truncate;
    ExpectVerified(job, fmt::format("after {} steps", truncate));
  }
}

// Blocks have 16 steps: a convolution looks back within a block, into the one before, and over several.
TEST(Verify, ConvolutionsAgreeWithDouble) {
  for (const auto& [taps, dilation] : {std::pair{1, 1}, {2, 1}, {3, 1}, {3, 5}, {2, 16}, {2, 17}, {4, 9}, {3, 20}}) {
    for (const bool first : {true, false}) {
      const Conv1DOptions convolution{
          .filters = 11, .kernel_size = taps, .dilation_rate = dilation, .activation = Activation::Tanh, .use_bias = !first};
      std::vector<LayerKind> layers = {convolution, Units(9), convolution, DenseOptions{}};
      if (!first) layers.insert(layers.begin(), DenseOptions{.units = 5});
      ExpectVerified(MakeJob(Task::Regress, "generate:sine?steps=70&samples=33&min_steps=1", layers, 33),
                     fmt::format("{} taps {} apart, first {}", taps, dilation, first));
      layers.insert(layers.end() - 1, PoolingOptions{.mode = PoolingMode::Max});
      ExpectVerified(MakeJob(Task::Regress, "generate:adding?steps=70&samples=33&min_steps=2", layers, 33),
                     fmt::format("pooled, {} taps {} apart, first {}", taps, dilation, first));
    }
  }
}

TEST(Verify, EveryLossAgreesWithDouble) {
  for (const Loss loss : {Loss::MeanSquaredError, Loss::MeanAbsoluteError, Loss::Huber}) {
    Job job = MakeJob(Task::Regress, "generate:sine?steps=30&samples=70&min_steps=2", {Units(13), DenseOptions{}}, 70);
    job.train.loss = loss;
    job.train.huber_delta = loss == Loss::Huber ? 0.2 : 1.0;
    ExpectVerified(job, fmt::format("loss {}", static_cast<int>(loss)));
  }
  Job smoothed = MakeJob(Task::Classify, "generate:parity?steps=30&samples=70&min_steps=2",
                         {EmbeddingOptions{.output_dim = 5}, Units(13), DenseOptions{}}, 70);
  smoothed.train.label_smoothing = 0.1;
  smoothed.train.class_weight = {0.5, 3.0};
  ExpectVerified(smoothed, "label smoothing");
}

// Tables below, at and beyond a panel, vectors below and beyond a vector register; looked up at every step.
TEST(Verify, TiedTablesAgreeWithDouble) {
  const auto tied = [](int64_t symbols, int64_t width) {  // ids are these, a blank and a delimiter
    return MakeJob(
        Task::Classify, fmt::format("generate:copy?delay=30&samples=40&symbols={}", symbols),
        {EmbeddingOptions{.output_dim = width}, Units(9), DenseOptions{.units = width}, DenseOptions{.tied_to = "embedding"}},
        40);
  };
  for (const auto& [symbols, width] : {std::pair{2, 3}, {29, 1}, {30, 8}, {31, 33}, {300, 40}}) {
    ExpectVerified(tied(symbols, width), fmt::format("{} symbols of {}", symbols, width));
  }
  Job frozen = tied(31, 9);
  frozen.layers.front().trainable = frozen.layers.back().trainable = false;
  ExpectVerified(frozen, "frozen");
  ExpectVerified(MakeJob(Task::Classify, "generate:parity?steps=40&samples=33&min_steps=1&per_step=false",
                         {EmbeddingOptions{.input_dim = 5, .output_dim = 7, .embeddings_l2 = 0.02}, DropoutOptions{.rate = 0.2},
                          LSTMOptions{.units = 9, .proj_size = 7}, DenseOptions{.tied_to = "embedding"}},
                         33),
                 "pooled");
  ExpectVerified(
      MakeJob(Task::Classify, "generate:copy?delay=30&samples=40&symbols=50",
              {EmbeddingOptions{.output_dim = 7}, DenseOptions{.activation = Activation::Tanh, .tied_to = "embedding"},
               Units(7), DenseOptions{.tied_to = "embedding"}},
              40),
      "tied twice");
}

// On steps, on pooled rows and on both; over one body, over branches of it, over layers that only the head has; tied, frozen,
// and wide enough for several slices.
TEST(Verify, SeveralOutputsAgreeWithDouble) {
  const Folder folder;
  const std::string file = PutSeveralTargets(folder / "data.npz", 70, 40);
  const auto named = [](std::string name, LayerKind kind, std::vector<std::string> inputs = {}) {
    return LayerOptions{.name = std::move(name), .kind = std::move(kind), .inputs = std::move(inputs)};
  };
  const auto verified = [&](std::vector<LayerOptions> layers, std::vector<OutputOptions> outputs, const std::string& what) {
    Job job = MakeJob(Task::Classify, file, {}, 70);
    job.layers = std::move(layers);
    job.outputs = std::move(outputs);
    ExpectVerified(job, what);
    return job;
  };
  const LayerOptions table = named("words", EmbeddingOptions{.output_dim = 9});
  Job frozen = verified({table, named("body", Units(9)), named("mean", PoolingOptions{.mode = PoolingMode::Mean}),
                         named("mood", DenseOptions{}), named("tags", DenseOptions{}, {"body"})},
                        {{.layer = "tags"}, {.layer = "mood", .loss = Loss::Huber, .loss_weight = 3.0}}, "steps and rows");
  frozen.layers.back().trainable = false;
  ExpectVerified(frozen, "one of two frozen");
  verified({table, named("body", Units(9)), named("drop", DropoutOptions{.rate = 0.2}),
            named("next", DenseOptions{.tied_to = "words"}), named("values", DenseOptions{}, {"body"})},
           {{.layer = "next", .loss_weight = 0.5}, {.layer = "values", .loss = Loss::MeanAbsoluteError}}, "steps, tied");
  verified(
      {table, named("body", GRUOptions{.units = 11}), named("shared", DenseOptions{.units = 6, .activation = Activation::Tanh}),
       named("mood", DenseOptions{}), named("kind", DenseOptions{}, {"shared"}), named("more", DenseOptions{}, {"body"})},
      {{.layer = "mood", .loss = Loss::BinaryCrossentropy}, {.layer = "kind"}, {.layer = "more", .targets = "y_kind"}}, "rows");
  verified(
      {table, named("low", Units(9)), named("high", GRUOptions{.units = 7, .dropout = 0.2}),
       named("max", PoolingOptions{.mode = PoolingMode::Max}, {"low"}), named("last", PoolingOptions{}, {"high"}),
       named("both", MergeOptions{}, {"max", "last"}), named("kind", DenseOptions{}), named("mood", DenseOptions{}, {"max"}),
       named("tags", DenseOptions{}, {"low"}), named("values", DenseOptions{}, {"high"})},
      {{.layer = "kind", .loss_weight = 0.1}, {.layer = "tags"}, {.layer = "mood", .loss_weight = 2.0}, {.layer = "values"}},
      "four of them");
}

TEST(Verify, LongSequencesStayWithinFourTimesThePlainFloatLoops) {
  ExpectVerified(MakeJob(Task::Classify, "generate:copy?delay=150&samples=9",
                         {EmbeddingOptions{.output_dim = 8}, Units(24), DenseOptions{}}, 9),
                 "copy memory");
}

TEST(Verify, MoreWordsThanASliceAndAPanelAgreeWithDouble) {
  ExpectVerified(MakeJob(Task::Classify, "generate:copy?delay=30&samples=20&symbols=300",
                         {EmbeddingOptions{.output_dim = 40}, Units(24), DenseOptions{}}, 20),
                 "wide softmax");
}

TEST(Verify, MoreWordsThanACopyIsKeptOfAgreeWithDouble) {
  ExpectVerified(MakeJob(Task::Classify, "generate:copy?delay=4&count=10&samples=3&symbols=9000",
                         {EmbeddingOptions{.output_dim = 8}, Units(128), DenseOptions{}}, 3),
                 "chunks of the output layer");
}

// Few ids beside the steps of a batch: their products with Wx are looked up. Beyond a tile and a panel, and with a part frozen.
TEST(Verify, ProductsThatAreLookedUpAgreeWithDouble) {
  for (const Kind kind : {Kind::Lstm, Kind::Gru, Kind::GruBefore, Kind::Rnn, Kind::Projected}) {
    for (const int64_t symbols : {1, 29, 70}) {
      for (const int frozen : {-1, 0, 1}) {
        Job job = MakeJob(
            Task::Classify, fmt::format("generate:copy?delay=30&samples=20&symbols={}", symbols),
            {EmbeddingOptions{.output_dim = symbols == 29 ? 40 : 5}, LayerOf(kind, 21), GRUOptions{.units = 9}, DenseOptions{}},
            20);
        if (frozen >= 0) job.layers[static_cast<size_t>(frozen)].trainable = false;
        ASSERT_TRUE(LooksUpProducts(job));
        ExpectVerified(job, fmt::format("cell {}, {} symbols, frozen {}", static_cast<int>(kind), symbols, frozen));
      }
    }
  }
}

TEST(Verify, ProductsAreLookedUpWhereThatIsLessWorkAndTheSame) {
  const auto job_of = [](const std::string& settings, std::vector<LayerKind> layers) {
    return MakeJob(Task::Classify, "generate:copy?delay=10&samples=20&" + settings, std::move(layers), 20);
  };
  const EmbeddingOptions table{.output_dim = 5};
  EXPECT_TRUE(LooksUpProducts(job_of("symbols=100", {table, Units(9), DenseOptions{}})));
  EXPECT_FALSE(LooksUpProducts(job_of("symbols=300", {table, Units(9), DenseOptions{}}))) << "many ids";
  EXPECT_FALSE(LooksUpProducts(job_of("symbols=100&count=1", {table, Units(9), DenseOptions{}}))) << "few steps";
  EXPECT_FALSE(LooksUpProducts(job_of("symbols=9", {table, LSTMOptions{.units = 9, .dropout = 0.1}, DenseOptions{}})))
      << "masks";
  EXPECT_FALSE(LooksUpProducts(job_of("symbols=9", {table, DropoutOptions{.rate = 0.1}, Units(9), DenseOptions{}}))) << "masks";
  EXPECT_FALSE(LooksUpProducts(job_of("symbols=9", {table, LayerOf(Kind::Normalized, 9), DenseOptions{}}))) << "normalised";
  EXPECT_FALSE(LooksUpProducts(job_of("symbols=9", {table, Units(5), DenseOptions{.tied_to = "embedding"}}))) << "tied";
  Job lazy = job_of("symbols=9", {table, Units(9), DenseOptions{}});
  lazy.train.optimizer = OptimizerKind::LazyAdam;
  EXPECT_FALSE(LooksUpProducts(lazy)) << "it asks which vectors were read";
  Job twice = job_of("symbols=9", {table, Units(5), MergeOptions{.mode = MergeMode::Add}, DenseOptions{}});
  twice.layers[2].inputs = {"embedding", "lstm"};
  EXPECT_FALSE(LooksUpProducts(twice)) << "another layer reads the vectors";
}

// Negative controls: what a wrong gate, a wrong sign or a missing term does to a tensor is always seen.
TEST(JudgeTensor, SeesAWrongGateAWrongSignAndAMissingTerm) {
  std::vector<double> exact;
  for (int i = 0; i < 64; ++i) exact.push_back(0.01 * ((i * 37) % 23 - 11) + 0.001);
  const std::vector<float> twin(exact.begin(), exact.end());
  EXPECT_TRUE(JudgeTensor("right", twin, exact, {twin}, 20).ok);
  std::vector<float> wrong_gate = twin;
  std::swap_ranges(wrong_gate.begin(), wrong_gate.begin() + 16, wrong_gate.begin() + 16);
  EXPECT_FALSE(JudgeTensor("gates swapped", wrong_gate, exact, {twin}, 20).ok);
  std::vector<float> wrong_sign = twin;
  wrong_sign[40] = -wrong_sign[40];
  EXPECT_FALSE(JudgeTensor("one sign", wrong_sign, exact, {twin}, 20).ok);
  std::vector<float> missing = twin;
  missing[63] = 0.0f;
  EXPECT_FALSE(JudgeTensor("one term missing", missing, exact, {twin}, 20).ok);
  std::vector<float> not_finite = twin;
  not_finite[5] = NAN;
  EXPECT_FALSE(JudgeTensor("not finite", not_finite, exact, {twin}, 20).ok);
}

}  // namespace
}  // namespace plimsoll
