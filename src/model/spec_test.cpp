// Tests of spec: what is decided where the job is silent, and what is refused with which words.
#include "model/spec.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

constexpr SampleShape kIdsToClass = {.ids = true, .target_classes = true, .vocabulary = 50, .classes = 3};
constexpr SampleShape kIdsToClasses = {
    .ids = true, .target_per_step = true, .target_classes = true, .vocabulary = 50, .classes = 3};
constexpr SampleShape kFeaturesToClass = {.width = 6, .target_classes = true, .classes = 3};
constexpr SampleShape kFeaturesToValues = {.width = 6, .target_width = 2};

Job JobOf(std::vector<LayerOptions> layers, Task task = Task::Classify) {
  Job job;
  job.task = task;
  job.layers = std::move(layers);
  return job;
}
LayerOptions Embedding(EmbeddingOptions options = {}) { return {.name = "", .kind = options}; }
LayerOptions Lstm(int64_t units = 4, std::optional<bool> return_sequences = std::nullopt) {
  return {.name = "", .kind = LSTMOptions{.units = units, .return_sequences = return_sequences}};
}
LayerOptions Pool(PoolingMode mode = PoolingMode::Last) { return {.name = "", .kind = PoolingOptions{.mode = mode}}; }
LayerOptions Dense(DenseOptions options = {}) { return {.name = "", .kind = options}; }
LayerOptions Dropout(double rate) { return {.name = "", .kind = DropoutOptions{.rate = rate}}; }
LayerOptions Named(std::string name, LayerOptions layer) {
  layer.name = std::move(name);
  return layer;
}

std::vector<std::string> NodeNames(const Spec& spec) {
  std::vector<std::string> names;
  for (const Node& node : spec.nodes) names.push_back(node.name);
  return names;
}

// Refused, with this kind, every text in the message, and a hint.
AssertionResult Refused(const Result<Spec>& made, StatusKind kind, const std::vector<std::string>& texts) {
  if (made.ok()) return AssertionFailure() << "was accepted";
  if (made.status().kind() != kind) return AssertionFailure() << "exit code " << made.status().exit_code();
  for (const std::string& text : texts)
    if (made.status().message().find(text) == std::string::npos)
      return AssertionFailure() << "no '" << text << "' in: " << made.status().message();
  if (made.status().hint().empty()) return AssertionFailure() << "no hint with: " << made.status().message();
  return AssertionSuccess();
}
AssertionResult RefusedAsUsage(const Result<Spec>& made, const std::vector<std::string>& texts) {
  return Refused(made, StatusKind::Usage, texts);
}

TEST(Spec, AClassifierOverIdsHasEveryWidthDecided) {
  auto made = MakeSpec(JobOf({Embedding({.output_dim = 8}), Lstm(5), Dense()}), kIdsToClass);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Spec& spec = *made;
  EXPECT_TRUE(spec.id_input);
  EXPECT_EQ(spec.input_width, 1);
  EXPECT_EQ(spec.vocabulary, 50);
  EXPECT_EQ(spec.output().width, 3);
  EXPECT_FALSE(spec.output().per_step);
  EXPECT_EQ(spec.output().loss, Loss::SparseCategoricalCrossentropy);
  ASSERT_EQ(NodeNames(spec), (std::vector<std::string>{"embedding", "lstm", "lstm_last", "dense"}));

  EXPECT_EQ(std::get<EmbeddingOptions>(spec.nodes[0].kind).input_dim, 50);
  EXPECT_EQ(std::get<LSTMOptions>(spec.nodes[1].kind).return_sequences, false);
  EXPECT_EQ(std::get<PoolingOptions>(spec.nodes[2].kind).mode, PoolingMode::Last);
  EXPECT_EQ(std::get<DenseOptions>(spec.nodes[3].kind).units, 3);
  const int64_t in_widths[] = {1, 8, 5, 5}, widths[] = {8, 5, 5, 3};
  const bool per_step[] = {true, true, false, false};
  for (int i = 0; i < 4; ++i) {
    const Node& node = spec.nodes[static_cast<size_t>(i)];
    EXPECT_EQ(node.inputs, std::vector<int>{i - 1}) << node.name;  // kModelInput is -1
    EXPECT_EQ(node.in_width, in_widths[i]) << node.name;
    EXPECT_EQ(node.width, widths[i]) << node.name;
    EXPECT_EQ(node.per_step, per_step[i]) << node.name;
  }
}

TEST(Spec, CanonicalTensorsComeInNodeOrder) {
  auto made = MakeSpec(JobOf({Embedding({.output_dim = 8}), Lstm(5), Dropout(0.1), Dense()}), kIdsToClass);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto tensors = CanonicalTensors(*made);
  const std::vector<std::pair<std::string, std::vector<int64_t>>> wanted = {
      {"embedding.weight", {50, 8}}, {"lstm.weight_ih", {20, 8}}, {"lstm.weight_hh", {20, 5}},
      {"lstm.bias", {20}},           {"dense.weight", {3, 5}},    {"dense.bias", {3}}};
  ASSERT_EQ(tensors.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(tensors[i].name, wanted[i].first);
    EXPECT_EQ(tensors[i].shape, wanted[i].second) << wanted[i].first;
  }
}

TEST(Spec, NamesCountAsKerasDoesAndLeaveTheUsersNamesAlone) {
  auto made = MakeSpec(JobOf({Named("lstm_1", Lstm()), Lstm(), Lstm(), Dense({.units = 4}), Dense()}), kFeaturesToClass);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(NodeNames(*made), (std::vector<std::string>{"lstm_1", "lstm", "lstm_2", "lstm_2_last", "dense", "dense_1"}));
}

TEST(Spec, DuplicateNamesAreRefused) {
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Named("a", Lstm()), Named("a", Dense())}), kFeaturesToClass),
                             {"layer 2 \"a\" (Dense)", "layer 1 \"a\" (LSTM)"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Named("a", Lstm()), Named("a_last", Dense())}), kFeaturesToClass),
                             {"layer 1 \"a\"", "\"a_last\"", "layer 2 \"a_last\""}));
}

TEST(Spec, ACrfStandsBehindTheDenseThatScoresItsTags) {
  const LayerOptions crf = {.name = "", .kind = CRFOptions{}};
  auto made = MakeSpec(JobOf({Embedding(), Lstm(4), Dense(), crf}), kIdsToClasses);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(NodeNames(*made), (std::vector<std::string>{"embedding", "lstm", "dense", "crf"}));
  EXPECT_EQ(made->output().loss, Loss::Crf);
  EXPECT_EQ(made->output().width, 3);
  const auto tensors = CanonicalTensors(made->nodes.back());
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "crf.transitions");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{3, 3}));

  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Lstm(4), Dense(), crf}), kIdsToClass),
                             {"a tag at every step", "one class a sample"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(4), Dense(), crf}, Task::Regress), kFeaturesToValues), {"CRF", "values"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Lstm(4), crf}), kIdsToClasses), {"must be a Dense"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Lstm(4), Dense({.units = 300}), crf}), kIdsToClasses),
                             {"300 tags", "at most 256"}));
  Job job = JobOf({Embedding(), Lstm(4), Dense()});
  job.train.loss = Loss::Crf;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClasses), {"\"crf\"", "no CRF"}));
  job = JobOf({Embedding(), Lstm(4), Dense(), crf});
  job.train.loss = Loss::SparseCategoricalCrossentropy;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClasses), {"its own loss"}));
}

TEST(Spec, LossCtcStandsBehindADenseWithSteps) {
  const SampleShape labels = {.ids = true, .target_classes = true, .vocabulary = 5, .classes = 4, .longest_target = 6};
  const auto with_ctc = [](std::vector<LayerOptions> layers, Task task = Task::Classify) {
    Job job = JobOf(std::move(layers), task);
    job.train.loss = Loss::Ctc;
    return job;
  };
  auto made = MakeSpec(with_ctc({Embedding(), Lstm(4), Dense()}), labels);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(NodeNames(*made), (std::vector<std::string>{"embedding", "lstm", "dense", "dense_ctc"}));
  EXPECT_EQ(made->output().width, 4) << "three labels and the blank";
  EXPECT_EQ(std::get<CTCOptions>(made->nodes.back().kind).longest, 6);
  EXPECT_TRUE(made->nodes[1].per_step);
  EXPECT_TRUE(made->output().per_step_outputs());
  EXPECT_FALSE(made->output().per_step);
  EXPECT_TRUE(CanonicalTensors(made->nodes.back()).empty());

  const auto refused = [&](const Job& job, const SampleShape& shape, const std::vector<std::string>& parts) {
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, shape), parts));
  };
  refused(with_ctc({Embedding(), {.name = "", .kind = LSTMOptions{.units = 4, .go_backwards = true}}, Dense()}), labels,
          {"ctc", "go_backwards"});
  refused(with_ctc({Embedding(), Lstm(4), Pool(), Dense()}), labels, {"layer 3 \"pooling\"", "reads one a step"});
  refused(with_ctc({Embedding(), {.name = "", .kind = LSTMOptions{.units = 4, .return_sequences = false}}, Dense()}), labels,
          {"one row a sample", "reads one a step"});
  refused(with_ctc({Embedding(), Lstm(4), Dense({.units = 1})}), labels, {"units = 1", "labels up to 3", "0 is the blank"});
  refused(with_ctc({Embedding(), Lstm(4), Dense({.units = 3})}), labels, {"units = 3", "labels up to 3"});
  refused(with_ctc({Embedding(), Lstm(4), Dense(), {.name = "", .kind = CRFOptions{}}}), labels, {"CRF", "its own loss"});
  refused(with_ctc({Embedding(), Lstm(4), Dense(), {.name = "", .kind = CTCOptions{}}}), labels,
          {"layer 4 \"ctc\"", "CTC is a loss"});
  refused(with_ctc({Embedding(), Lstm(4), {.name = "", .kind = CTCOptions{}}, Dense()}), labels,
          {"layer 3 \"ctc\"", "CTC is a loss"});
  refused(with_ctc({Embedding(), Lstm(4), Dense()}), kIdsToClasses, {"\"ctc\"", "a sequence of labels"});
  refused(JobOf({Embedding(), Lstm(4), Dense()}), labels, {"sequences of labels", "loss \"ctc\""});
  refused(with_ctc({Lstm(4), Dense()}, Task::Regress), kFeaturesToValues, {"does not go with task \"regress\""});
  Job job = with_ctc({Embedding(), Lstm(4), Dense()});
  job.train.label_smoothing = 0.1;
  refused(job, labels, {"label_smoothing"});
  job = with_ctc({Embedding(), Lstm(4), Dense()});
  job.train.class_weight = {1.0, 1.0, 2.0, 1.0};
  refused(job, labels, {"class_weight"});
  job = with_ctc({Embedding(), Lstm(4), Dense()});
  job.layers[1].name = "dense_ctc";
  refused(job, labels, {"layer 2 \"dense_ctc\"", "the loss of \"dense\""});
}

LayerOptions Reading(std::vector<std::string> inputs, LayerKind kind) {
  return {.name = "", .kind = std::move(kind), .inputs = std::move(inputs)};
}
const LayerKind kAdd = MergeOptions{.mode = MergeMode::Add}, kConcatenate = MergeOptions{};

TEST(SpecGraph, NodesStandInTheOrderOfTheListAndInputsAreTheirNumbers) {
  auto made =
      MakeSpec(JobOf({Lstm(4), Pool(), Reading({"lstm"}, LSTMOptions{.units = 6}),
                      Reading({"pooling"}, DenseOptions{.units = 5}), Reading({"dense", "lstm_1"}, kConcatenate), Dense()}),
               kFeaturesToClass);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(NodeNames(*made),
            (std::vector<std::string>{"lstm", "pooling", "lstm_1", "lstm_1_last", "dense", "concatenate", "dense_1"}));
  const std::vector<std::vector<int>> inputs = {{-1}, {0}, {0}, {2}, {1}, {4, 3}, {5}};
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(made->nodes[i].inputs, inputs[i]) << i;
  EXPECT_EQ(made->nodes[5].width, 11);
  EXPECT_EQ(made->nodes[6].in_width, 11);
}

TEST(SpecGraph, WhatHasNoMeaningIsRefusedWithTheReason) {
  const auto refused = [](std::vector<LayerOptions> layers, const std::vector<std::string>& texts,
                          const SampleShape& shape = kFeaturesToClass) {
    return RefusedAsUsage(MakeSpec(JobOf(std::move(layers)), shape), texts);
  };
  EXPECT_TRUE(refused({Lstm(4), Reading({"dense"}, LSTMOptions{}), Dense()}, {"lstm_1", "\"dense\"", "listed behind it"}));
  EXPECT_TRUE(refused({Lstm(4), Reading({"lstm_1"}, LSTMOptions{}), Dense()}, {"lstm_1", "itself"}));
  EXPECT_TRUE(refused({Lstm(4), Reading({"lstn"}, DenseOptions{})}, {"\"lstn\"", "did you mean", "lstm"}));
  EXPECT_TRUE(refused({Lstm(4), Reading({"lstm"}, kAdd), Dense()}, {"\"add\"", "1 input", "two or more"}));
  EXPECT_TRUE(refused({Lstm(4), Lstm(4), Reading({"lstm", "lstm_1"}, DenseOptions{})}, {"2 inputs", "wanted one"}));
  EXPECT_TRUE(refused({Lstm(4), Reading({"input"}, LSTMOptions{}), Dense()}, {"layer 1 \"lstm\"", "no layer reads"}));
  EXPECT_TRUE(refused({Lstm(4), Lstm(5), Reading({"lstm", "lstm_1"}, kAdd), Pool(), Dense()}, {"4 and 5 wide", "same width"}));
  EXPECT_TRUE(refused({Lstm(4), Pool(), Reading({"input"}, LSTMOptions{.units = 4, .return_sequences = true}),
                       Reading({"pooling", "lstm_1"}, kAdd), Dense()},
                      {"layer 2 \"pooling\"", "one row a sample", "one row a step"}));
  EXPECT_TRUE(refused({Lstm(4), Pool(), Dense({.units = 5}), Reading({"lstm"}, LSTMOptions{.units = 6}),
                       Reading({"dense", "lstm_1"}, kConcatenate), Dense()},
                      {"\"dense\"", "one row a sample", "\"lstm_1_last\"", "listed behind it"}));
  EXPECT_TRUE(refused({Named("input", Lstm(4)), Dense()}, {"\"input\"", "the data"}));
  EXPECT_TRUE(refused({Reading({}, LSTMOptions{.units = 4, .go_backwards = true}), Pool(), Reading({"input"}, LSTMOptions{}),
                       Reading({"pooling", "lstm_1"}, kConcatenate), Dense()},
                      {"go_backwards", "Merge", "both directions"}));
  EXPECT_TRUE(refused({Embedding(), Lstm(4), Reading({"input", "lstm"}, kConcatenate), Dense()},
                      {"\"concatenate\"", "ids", "Embedding"}, kIdsToClass));
}

TEST(Spec, AnLstmReturnsSequencesWhereSomethingBehindItReadsThem) {
  auto returns = [](std::vector<LayerOptions> layers, const SampleShape& shape) {
    auto made = MakeSpec(JobOf(std::move(layers)), shape);
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::vector<bool> answers;
    for (const Node& node : made->nodes)
      if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
        answers.push_back(lstm->return_sequences.value());
        EXPECT_TRUE(node.per_step) << "the node itself gives one row a step";
      }
    return answers;
  };
  using Answers = std::vector<bool>;
  EXPECT_EQ(returns({Lstm(), Dense()}, kFeaturesToClass), Answers{false});
  EXPECT_EQ(returns({Lstm(), Dense({.units = 4}), Lstm(), Dense()}, kFeaturesToClass), (Answers{true, false}));
  EXPECT_EQ(returns({Lstm(), Dropout(0.5), Pool(), Dense()}, kFeaturesToClass), Answers{true});
  EXPECT_EQ(returns({Embedding(), Lstm(), Lstm(), Dense()}, kIdsToClasses), (Answers{true, true}));
  EXPECT_EQ(returns({Lstm(4, /*return_sequences=*/true), Pool(), Dense()}, kFeaturesToClass), Answers{true});
}

TEST(Spec, PerStepTargetsGiveAModelWithoutPooling) {
  auto made = MakeSpec(JobOf({Embedding(), Lstm(), Dense()}), kIdsToClasses);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(NodeNames(*made), (std::vector<std::string>{"embedding", "lstm", "dense"}));
  EXPECT_TRUE(made->nodes.back().per_step);
  EXPECT_TRUE(made->output().per_step);
}

TEST(Spec, AnEmptyLayerListIsRefusedWithAnExample) {
  const auto features = MakeSpec(JobOf({}), kFeaturesToClass);
  EXPECT_TRUE(RefusedAsUsage(features, {"no layers"}));
  EXPECT_NE(features.status().hint().find("[model]\nlayers = [{type = \"LSTM\", units = 64}, {type = \"Dense\"}]"),
            std::string::npos)
      << features.status().hint();
  EXPECT_NE(MakeSpec(JobOf({}), kIdsToClass).status().hint().find("Embedding"), std::string::npos);
}

TEST(Spec, IdsNeedAnEmbeddingFirstAndOnlyIdsDo) {
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense()}), kIdsToClass), {"layer 1 \"lstm\"", "Embedding first"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Dense()}), kFeaturesToClass),
                             {"layer 1 \"embedding\"", "features (6 a step)"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Embedding(), Lstm(), Dense()}), kIdsToClass),
                             {"layer 2 \"embedding_1\"", "first layer"}));
}

TEST(Spec, TheVocabularyIsTheLargerOfTheJobsAndTheDatas) {
  Job job = JobOf({Embedding(), Lstm(), Dense()});
  job.data.vocabulary = 70;
  EXPECT_EQ(MakeSpec(job, kIdsToClass)->vocabulary, 70);
  job.data.vocabulary = 30;
  EXPECT_EQ(MakeSpec(job, kIdsToClass)->vocabulary, 50);
  job.data.vocabulary = 0;
  job.layers[0] = Embedding({.input_dim = 1000});
  EXPECT_EQ(MakeSpec(job, kIdsToClass)->vocabulary, 1000);
}

TEST(Spec, IdsBeyondTheEmbeddingAreADataError) {
  EXPECT_TRUE(Refused(MakeSpec(JobOf({Embedding({.input_dim = 49}), Lstm(), Dense()}), kIdsToClass), StatusKind::Data,
                      {"layer 1 \"embedding\"", "id 49", "input_dim = 49"}));
  EXPECT_TRUE(MakeSpec(JobOf({Embedding({.input_dim = 50}), Lstm(), Dense()}), kIdsToClass).ok());
}

TEST(Spec, AVocabularyThatContradictsTheEmbeddingIsRefused) {
  Job job = JobOf({Embedding({.input_dim = 60}), Lstm(), Dense()});
  job.data.vocabulary = 70;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"input_dim = 60", "data.vocabulary = 70"}));
  job.data.vocabulary = -1;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"data.vocabulary = -1"}));
  SampleShape unknown = kIdsToClass;
  unknown.vocabulary = 0;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Lstm(), Dense()}), unknown), {"not known"}));
}

TEST(Spec, RowsAreRefusedWhereTheNextLayerOrTheTargetsNeedSteps) {
  const LayerOptions last_only = Lstm(4, /*return_sequences=*/false);
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({last_only, Lstm(), Dense()}), kFeaturesToClass),
                             {"layer 2 \"lstm_1\"", "layer 1 \"lstm\"", "one row a sample"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Pool(), Lstm(), Dense()}), kFeaturesToClass),
                             {"layer 2 \"lstm\"", "layer 1 \"pooling\""}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Pool(), Pool(), Dense()}), kFeaturesToClass),
                             {"layer 3 \"pooling_1\"", "layer 2 \"pooling\""}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({last_only, Pool(), Dense()}), kFeaturesToClass),
                             {"layer 2 \"pooling\"", "layer 1 \"lstm\""}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), Lstm(), Pool(), Dense()}), kIdsToClasses),
                             {"layer 3 \"pooling\"", "one target a step"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding(), last_only, Dense()}), kIdsToClasses),
                             {"layer 2 \"lstm\"", "one target a step"}));
}

TEST(Spec, OneTargetASampleNeedsPooling) {
  const auto sequences = MakeSpec(JobOf({Lstm(), Lstm(4, /*return_sequences=*/true), Dense()}), kFeaturesToClass);
  EXPECT_TRUE(RefusedAsUsage(sequences, {"layer 2 \"lstm_1\"", "return_sequences = true", "one target a sample"}));
  EXPECT_NE(sequences.status().hint().find("Pooling"), std::string::npos);
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Dense()}), kFeaturesToClass), {"layer 1 \"dense\"", "one target a sample"}));
}

TEST(Spec, TheLastLayerMustBeADense) {
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm()}), kFeaturesToClass), {"layer 1 \"lstm\"", "must be a Dense"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense(), Dropout(0.1)}), kFeaturesToClass), {"layer 3 \"dropout\""}));
}

TEST(Spec, EveryRecurrentLayerHasItsTensors) {
  const auto tensors = [](LayerKind kind) {
    const Spec spec = MakeSpec(JobOf({Named("r", {.name = "", .kind = kind}), Dense()}), kFeaturesToClass).value();
    std::vector<std::string> texts;
    for (const TensorShape& tensor : CanonicalTensors(spec.nodes[0]))
      texts.push_back(tensor.name + " " + std::to_string(tensor.shape[0]));
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(tensors(LSTMOptions{.units = 4}), (Texts{"r.weight_ih 16", "r.weight_hh 16", "r.bias 16"}));
  EXPECT_EQ(tensors(GRUOptions{.units = 4}), (Texts{"r.weight_ih 12", "r.weight_hh 12", "r.bias_ih 12", "r.bias_hh 12"}));
  EXPECT_EQ(tensors(GRUOptions{.units = 4, .reset_after = false}), (Texts{"r.weight_ih 12", "r.weight_hh 12", "r.bias 12"}));
  EXPECT_EQ(tensors(GRUOptions{.units = 4, .use_bias = false}), (Texts{"r.weight_ih 12", "r.weight_hh 12"}));
  EXPECT_EQ(tensors(SimpleRNNOptions{.units = 4}), (Texts{"r.weight_ih 4", "r.weight_hh 4", "r.bias 4"}));
}

TEST(Spec, ABiasIsAVectorAndMustBeThereToBegin) {
  const auto lstm = [](Initializer start, bool use_bias) {
    const LayerKind kind = LSTMOptions{.units = 4, .use_bias = use_bias, .bias_initializer = start};
    return MakeSpec(JobOf({{.name = "", .kind = kind}, Dense()}), kFeaturesToClass);
  };
  EXPECT_TRUE(lstm(Initializer::Ones, true).ok());
  EXPECT_TRUE(RefusedAsUsage(lstm(Initializer::Ones, false), {"layer 1 \"lstm\"", "use_bias = false"}));
  EXPECT_TRUE(RefusedAsUsage(lstm(Initializer::Orthogonal, true), {"layer 1 \"lstm\"", "for matrices"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense({.bias_initializer = Initializer::Identity})}), kFeaturesToClass),
                             {"layer 2 \"dense\"", "for matrices"}));
}

TEST(Spec, LazyAdamNeedsATableWithRowsToLeaveAlone) {
  Job job = JobOf({Embedding(), Lstm(), Dense()});
  job.train.optimizer = OptimizerKind::LazyAdam;
  EXPECT_TRUE(MakeSpec(job, kIdsToClass).ok());
  job.layers[0].trainable = false;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"lazy_adam", "Embedding that learns"}));
  job.layers[0] = Embedding({.embeddings_l2 = 0.1});
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"lazy_adam", "penalty"}));
  Job features = JobOf({Lstm(), Dense()});
  features.train.optimizer = OptimizerKind::LazyAdam;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(features, kFeaturesToClass), {"lazy_adam", "Embedding that learns"}));
}

TEST(Spec, ATableBeginsWithOneThing) {
  Job job = JobOf({Embedding({.weights = "vectors.txt"}), Lstm(), Dense()});
  EXPECT_TRUE(MakeSpec(job, kIdsToClass).ok());
  job.init_from = "run/model";
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"layer 1 \"embedding\"", "weights and init_from"}));
  job = JobOf({Embedding({.embeddings_initializer = Initializer::Ones, .weights = "vectors.txt"}), Lstm(), Dense()});
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"weights and embeddings_initializer"}));
}

TEST(Spec, ATiedDenseHasTheTablesWidthAndNoKernel) {
  const auto tied = [](EmbeddingOptions table, int64_t units, DenseOptions dense) {
    dense.tied_to = "embedding";
    return JobOf({Embedding(table), Lstm(units), Dense(dense)});
  };
  auto made = MakeSpec(tied({.output_dim = 4}, 4, {}), kIdsToClass);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->output().width, 50);
  EXPECT_EQ(made->nodes.back().table, 0);
  const std::vector<TensorShape> tensors = CanonicalTensors(made->nodes.back());
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].name, "dense.bias");
  EXPECT_TRUE(MakeSpec(tied({.output_dim = 4}, 4, {.units = 50}), kIdsToClass).ok());

  EXPECT_TRUE(RefusedAsUsage(MakeSpec(tied({.output_dim = 5}, 4, {}), kIdsToClass), {"layer 3 \"dense\"", "4 wide", "5 wide"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(tied({.output_dim = 4}, 4, {.units = 49}), kIdsToClass), {"units = 49", "50 ids"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(tied({.output_dim = 4}, 4, {.kernel_initializer = Initializer::Zeros}), kIdsToClass),
                             {"kernel_initializer"}));
  EXPECT_TRUE(
      RefusedAsUsage(MakeSpec(tied({.output_dim = 4}, 4, {.kernel_l2 = 0.1}), kIdsToClass), {"a penalty on the kernel"}));
  SampleShape more = kIdsToClass;
  more.classes = 51;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(tied({.output_dim = 4}, 4, {}), more), {"51 classes", "50 ids"}));

  for (const size_t frozen : {0, 2}) {
    Job job = tied({.output_dim = 4}, 4, {});
    job.layers[frozen].trainable = false;
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kIdsToClass), {"layer 3 \"dense\"", "trainable"}));
    job.layers[2 - frozen].trainable = false;
    EXPECT_TRUE(MakeSpec(job, kIdsToClass).ok());
  }
  Job lazy = tied({.output_dim = 4}, 4, {});
  lazy.train.optimizer = OptimizerKind::LazyAdam;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(lazy, kIdsToClass), {"lazy_adam", "\"dense\" tied"}));
}

TEST(Spec, ADenseIsTiedToAnEmbeddingListedBeforeIt) {
  const auto tied_to = [](std::string name) { return Dense({.tied_to = std::move(name)}); };
  const auto named = [&](std::string name) {
    return MakeSpec(JobOf({Embedding({.output_dim = 4}), Lstm(), tied_to(std::move(name))}), kIdsToClass);
  };
  EXPECT_TRUE(named("embedding").ok());
  EXPECT_TRUE(RefusedAsUsage(named("table"), {"layer 3 \"dense\"", "tied_to = \"table\"", "no layer is called so"}));
  EXPECT_TRUE(RefusedAsUsage(named("lstm"), {"tied_to = \"lstm\"", "layer 2 \"lstm\" (LSTM)", "wanted an Embedding"}));
  EXPECT_TRUE(RefusedAsUsage(named("dense"), {"tied_to = \"dense\"", "wanted an Embedding"}));
  const LayerOptions later{.name = "later", .kind = EmbeddingOptions{.output_dim = 4}, .inputs = {"input"}};
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding({.output_dim = 4}),
                                             Named("first", tied_to("later")),
                                             later,
                                             {.name = "", .kind = MergeOptions{}, .inputs = {"first", "later"}},
                                             Lstm(),
                                             Dense()}),
                                      kIdsToClass),
                             {"layer 2 \"first\"", "listed behind"}));
}

TEST(Spec, SomethingMustLearn) {
  Job job = JobOf({Lstm(), Dropout(0.1), Dense()});
  job.layers[0].trainable = false;
  const Result<Spec> one = MakeSpec(job, kFeaturesToClass);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_FALSE(one.value().nodes[0].trainable);
  EXPECT_TRUE(one.value().nodes.back().trainable);
  job.layers[2].trainable = false;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kFeaturesToClass), {"trainable = false", "nothing would learn"}));
}

TEST(Spec, TheLossGoesWithTheTask) {
  Job classify = JobOf({Lstm(), Dense()});
  EXPECT_EQ(MakeSpec(classify, kFeaturesToClass).value().output().loss, Loss::SparseCategoricalCrossentropy);
  classify.train.loss = Loss::Huber;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(classify, kFeaturesToClass), {"train.loss", "\"classify\""}));
  classify.train.loss = Loss::Auto;
  classify.train.huber_delta = 2.0;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(classify, kFeaturesToClass), {"train.huber_delta = 2", "huber alone"}));

  Job regress = JobOf({Lstm(), Dense({.units = 0, .activation = Activation::Sigmoid})}, Task::Regress);
  EXPECT_EQ(MakeSpec(regress, kFeaturesToValues).value().output().loss, Loss::MeanSquaredError);
  EXPECT_EQ(std::get<DenseOptions>(MakeSpec(regress, kFeaturesToValues).value().nodes.back().kind).activation,
            Activation::Sigmoid);
  regress.train.label_smoothing = 0.1;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(regress, kFeaturesToValues), {"train.label_smoothing", "crossentropies"}));
  regress.train.loss = Loss::BinaryCrossentropy;  // applies the sigmoid itself
  EXPECT_EQ(std::get<DenseOptions>(MakeSpec(regress, kFeaturesToValues).value().nodes.back().kind).activation,
            Activation::Linear);
  regress.train.loss = Loss::SparseCategoricalCrossentropy;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(regress, kFeaturesToValues), {"train.loss", "\"regress\""}));
  regress.train.loss = Loss::BinaryCrossentropy;
  std::get<DenseOptions>(regress.layers.back().kind).activation = Activation::Relu;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(regress, kFeaturesToValues), {"\"relu\"", "binary_crossentropy"}));
}

TEST(Spec, TheHeadFitsTheTargets) {
  auto head = [](DenseOptions dense) { return MakeSpec(JobOf({Lstm(), Dense(dense)}), kFeaturesToClass); };
  EXPECT_EQ(head({})->output().width, 3);
  EXPECT_EQ(head({.units = 7})->output().width, 7);
  EXPECT_TRUE(head({.activation = Activation::Softmax}).ok());
  EXPECT_TRUE(RefusedAsUsage(head({.units = 2}), {"layer 2 \"dense\"", "units = 2", "3 classes"}));
  EXPECT_TRUE(RefusedAsUsage(head({.activation = Activation::Sigmoid}), {"layer 2 \"dense\"", "\"sigmoid\""}));

  auto values = [](DenseOptions dense) { return MakeSpec(JobOf({Lstm(), Dense(dense)}, Task::Regress), kFeaturesToValues); };
  EXPECT_EQ(values({})->output().width, 2);
  EXPECT_EQ(values({})->output().loss, Loss::MeanSquaredError);
  EXPECT_TRUE(values({.units = 2, .activation = Activation::Sigmoid}).ok());
  EXPECT_TRUE(RefusedAsUsage(values({.units = 3}), {"layer 2 \"dense\"", "units = 3", "2 value(s)"}));
  EXPECT_TRUE(RefusedAsUsage(values({.activation = Activation::Softmax}), {"layer 2 \"dense\"", "softmax"}));

  SampleShape unknown = kFeaturesToClass;
  unknown.classes = 0;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense()}), unknown), {"layer 2 \"dense\"", "not known"}));
  SampleShape many = kFeaturesToClass;
  many.classes = 65537;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense()}), many), {"layer 2 \"dense\"", "65537"}));
}

// Ids with a tag at every step and two values a sample.
constexpr SampleShape kTagsAndValues = {
    .ids = true,
    .target_per_step = true,
    .target_classes = true,
    .vocabulary = 50,
    .classes = 3,
    .several = 2,
    .targets = {TargetShape{.per_step = true, .are_classes = true, .classes = 3}, TargetShape{.width = 2}}};

Job TwoOutputs() {
  Job job = JobOf({Embedding(), Lstm(), Pool(PoolingMode::Mean), Named("mood", Dense()), Named("tags", Dense())});
  job.layers[4].inputs = {"lstm"};
  job.outputs = {{.layer = "tags", .loss_weight = 2.0}, {.layer = "mood", .loss = Loss::Huber}};
  return job;
}

TEST(Spec, SeveralOutputsHaveTheirOwnLossWidthAndRows) {
  auto made = MakeSpec(TwoOutputs(), kTagsAndValues);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(made->outputs.size(), 2U);
  const ModelOutput &tags = made->outputs[0], &mood = made->outputs[1];
  EXPECT_EQ(made->nodes[static_cast<size_t>(tags.node)].name, "tags");
  EXPECT_EQ(tags.loss, Loss::SparseCategoricalCrossentropy);
  EXPECT_EQ(tags.width, 3);
  EXPECT_TRUE(tags.per_step);
  EXPECT_EQ(tags.weight, 2.0);
  EXPECT_EQ(made->nodes[static_cast<size_t>(mood.node)].name, "mood");
  EXPECT_EQ(mood.loss, Loss::Huber);
  EXPECT_EQ(mood.width, 2);
  EXPECT_FALSE(mood.per_step);
  EXPECT_EQ(mood.weight, 1.0);
}

TEST(Spec, OutputsThatHaveNoMeaningAreRefused) {
  const auto refused = [](const auto& change, const std::vector<std::string>& texts) {
    Job job = TwoOutputs();
    change(job);
    return RefusedAsUsage(MakeSpec(job, kTagsAndValues), texts);
  };
  EXPECT_TRUE(refused([](Job& job) { job.outputs[0].layer = "tag"; }, {"outputs[0]", "\"tag\"", "no layer is called so"}));
  EXPECT_TRUE(refused([](Job& job) { job.outputs[1].layer = "tags"; }, {"outputs[1]", "\"tags\"", "output already"}));
  EXPECT_TRUE(refused([](Job& job) { job.outputs[0].layer = "lstm"; }, {"outputs[0]", "(LSTM)", "wanted a Dense"}));
  for (const double weight : {0.0, -1.0, std::nan("")})
    EXPECT_TRUE(refused([&](Job& job) { job.outputs[1].loss_weight = weight; }, {"outputs[1]", "loss_weight", "more than 0"}));
  for (const Loss loss : {Loss::Crf, Loss::Ctc, Loss::Custom})
    EXPECT_TRUE(refused([&](Job& job) { job.outputs[1].loss = loss; }, {"outputs[1]", "one output"}));
  Job unread = TwoOutputs();
  EXPECT_TRUE(CheckOutputs(unread).ok());
  unread.outputs[0].layer = "tag";
  EXPECT_NE(CheckOutputs(unread).message().find("no layer is called so"), std::string::npos) << "before there are data";
  EXPECT_TRUE(refused([](Job& job) { job.outputs[1].loss = Loss::SparseCategoricalCrossentropy; }, {"outputs[1]", "values"}));
  EXPECT_TRUE(refused([](Job& job) { job.outputs[0].loss = Loss::MeanSquaredError; }, {"outputs[0]", "class numbers"}));
  EXPECT_TRUE(refused([](Job& job) { job.train.loss = Loss::Huber; }, {"train.loss beside [[outputs]]"}));
  EXPECT_TRUE(refused([](Job& job) { job.train.class_weight = {1.0, 2.0, 3.0}; }, {"class_weight"}));
  EXPECT_TRUE(refused([](Job& job) { job.layers[2].kind = DenseOptions{.units = 5}; }, {"\"mood\" has one target a sample"}));
  EXPECT_TRUE(refused([](Job& job) { job.layers[4].inputs = {"pooling"}; }, {"\"tags\" has one target a step"}));
  EXPECT_TRUE(refused([](Job& job) { std::get<DenseOptions>(job.layers[4].kind).units = 2; }, {"\"tags\"", "3 classes"}));
  EXPECT_TRUE(refused([](Job& job) { job.layers.push_back(Named("more", Dense({.units = 4}))); },
                      {"\"tags\"", "an output, but a layer reads it"}));
  EXPECT_TRUE(refused(
      [](Job& job) {
        job.layers.push_back(Named("more", Dense({.units = 4})));
        job.layers.back().inputs = {"lstm"};
      },
      {"\"more\"", "no layer reads", "no output"}));
  EXPECT_TRUE(refused(  // the head stands behind all that reads steps
      [](Job& job) {
        job.layers.insert(job.layers.begin() + 2, Named("early", Dense()));
        job.layers[3].inputs = {"lstm"};
        job.outputs[0].layer = "early";
        job.layers.pop_back();
      },
      {"\"early\" is an output", "\"pooling\""}));
}

TEST(Spec, TheTaskNeedsItsKindOfTargets) {
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense()}), kFeaturesToValues), {"classify", "class numbers"}));
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense()}, Task::Regress), kFeaturesToClass), {"regress", "values"}));
}

TEST(Spec, WidthsAndRatesOutOfRangeAreRefused) {
  for (const int64_t width : {int64_t{0}, int64_t{-1}, int64_t{65537}, std::numeric_limits<int64_t>::max()}) {
    const std::string got = " = " + std::to_string(width);
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(width), Dense()}), kFeaturesToClass),
                               {"layer 1 \"lstm\"", "units" + got, "65536"}));
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding({.output_dim = width}), Lstm(), Dense()}), kIdsToClass),
                               {"layer 1 \"embedding\"", "output_dim" + got, "65536"}));
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dense({.units = width}), Dense()}), kFeaturesToClass),
                               {"layer 2 \"dense\"", "units" + got, "65536"}));
  }
  EXPECT_TRUE(MakeSpec(JobOf({Lstm(65536), Dense()}), kFeaturesToClass).ok());
  for (const int64_t ids : {int64_t{-1}, int64_t{1} << 31})
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Embedding({.input_dim = ids}), Lstm(), Dense()}), kIdsToClass), {"input_dim"}));
  for (const double rate : {-0.1, 1.0, 1.5, std::nan("")})
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({Lstm(), Dropout(rate), Dense()}), kFeaturesToClass),
                               {"layer 2 \"dropout\"", "rate = ", "less than 1"}));
  EXPECT_TRUE(MakeSpec(JobOf({Lstm(), Dropout(0.0), Dense()}), kFeaturesToClass).ok());
  for (const double rate : {-0.1, 1.0, std::nan("")}) {
    const LayerOptions of_inputs{.name = "", .kind = GRUOptions{.dropout = rate}};
    const LayerOptions of_state{.name = "", .kind = SimpleRNNOptions{.recurrent_dropout = rate}};
    EXPECT_TRUE(
        RefusedAsUsage(MakeSpec(JobOf({of_inputs, Dense()}), kFeaturesToClass), {"\"gru\"", "dropout = ", "less than 1"}));
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({of_state, Dense()}), kFeaturesToClass),
                               {"\"simplernn\"", "recurrent_dropout = ", "less than 1"}));
  }
}

TEST(Spec, AProjectionIsTheLayersWidthAndSmallerThanItsUnits) {
  const auto projected = [](int64_t proj_size) {
    return JobOf({{.name = "", .kind = LSTMOptions{.units = 5, .proj_size = proj_size}}, Lstm(), Dense()});
  };
  auto made = MakeSpec(projected(2), kFeaturesToClass);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->nodes[0].width, 2);
  EXPECT_EQ(made->nodes[1].in_width, 2);
  const std::vector<TensorShape> tensors = CanonicalTensors(made->nodes[0]);
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[1].shape, (std::vector<int64_t>{20, 2}));
  EXPECT_EQ(tensors[3].name, "lstm.weight_hr");
  EXPECT_EQ(tensors[3].shape, (std::vector<int64_t>{2, 5}));
  for (const int64_t wrong : {-1, 5, 6})
    EXPECT_TRUE(
        RefusedAsUsage(MakeSpec(projected(wrong), kFeaturesToClass), {"layer 1 \"lstm\"", "proj_size = ", "less than"}));
}

TEST(Spec, ANormalisedLstmHasSixVectorsMoreAndNeitherProjectionNorDropout) {
  const auto made = [](const LSTMOptions& lstm) {
    return MakeSpec(JobOf({{.name = "", .kind = lstm}, Dense()}), kFeaturesToClass);
  };
  auto spec = made({.units = 5, .layer_normalization = true, .epsilon = 0.01});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const std::vector<TensorShape> tensors = CanonicalTensors(spec->nodes[0]);
  ASSERT_EQ(tensors.size(), 9U);
  const char* names[] = {"norm_ih_weight", "norm_ih_bias", "norm_hh_weight", "norm_hh_bias", "norm_c_weight", "norm_c_bias"};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(tensors[3 + i].name, std::string("lstm.") + names[i]);
    EXPECT_EQ(tensors[3 + i].shape, (std::vector<int64_t>{i < 4 ? 20 : 5}));
  }
  EXPECT_TRUE(RefusedAsUsage(made({.units = 5, .proj_size = 3, .layer_normalization = true}),
                             {"layer 1 \"lstm\"", "proj_size together with layer_normalization"}));
  EXPECT_TRUE(RefusedAsUsage(made({.units = 5, .dropout = 0.1, .layer_normalization = true}),
                             {"layer 1 \"lstm\"", "dropout together with layer_normalization"}));
  EXPECT_TRUE(RefusedAsUsage(made({.units = 5, .recurrent_dropout = 0.1, .layer_normalization = true}),
                             {"layer 1 \"lstm\"", "recurrent_dropout together with layer_normalization"}));
  EXPECT_TRUE(RefusedAsUsage(made({.units = 5, .epsilon = 0.01}), {"layer 1 \"lstm\"", "epsilon", "normalises nothing"}));
  EXPECT_TRUE(made({.units = 5, .proj_size = 3, .dropout = 0.1, .recurrent_dropout = 0.1}).ok()) << "the control";
}

TEST(Spec, OnlyTheFirstRecurrentLayerGoesBackwards) {
  const LayerOptions backwards{.name = "", .kind = LSTMOptions{.units = 4, .go_backwards = true}};
  for (const auto& layers : {std::vector{backwards, Dense()}, std::vector{Dense({.units = 3}), backwards, Lstm(), Dense()}}) {
    auto made = MakeSpec(JobOf(layers), kFeaturesToClass);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(made->reversed);
  }
  EXPECT_FALSE(MakeSpec(JobOf({Lstm(), Dense()}), kFeaturesToClass)->reversed);
  for (const LayerOptions& first : {Lstm(), backwards})
    EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({first, backwards, Dense()}), kFeaturesToClass),
                               {"layer 2 \"lstm_1\"", "go_backwards", "layer 1 \"lstm\"", "one direction"}));
}

// A branch that does not read the layer that turns sequences round would be turned round all the same.
TEST(Spec, WhatKnowsTimeOrHasATargetAtEveryStepStandsBehindTheLayerThatGoesBackwards) {
  const LayerOptions backwards{.name = "back", .kind = LSTMOptions{.units = 4, .go_backwards = true}};
  const LayerOptions convolution{.name = "conv", .kind = Conv1DOptions{.filters = 3, .kernel_size = 2}};
  EXPECT_TRUE(MakeSpec(JobOf({backwards, convolution, Pool(), Dense()}), kFeaturesToClass).ok());
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(JobOf({convolution, backwards, Dense()}), kFeaturesToClass),
                             {"\"conv\" does not stand behind", "one direction"}));
  const auto two = [&](std::vector<std::string> second) {
    Job job = JobOf({Embedding(), backwards, Pool(PoolingMode::Mean), Named("mood", Dense()), Named("tags", Dense())});
    job.layers[4].inputs = std::move(second);
    job.outputs = {{.layer = "tags"}, {.layer = "mood"}};
    return MakeSpec(job, kTagsAndValues);
  };
  EXPECT_TRUE(two({"back"}).ok());
  EXPECT_TRUE(RefusedAsUsage(two({"embedding"}), {"\"tags\" does not stand behind"}));
}

TEST(Spec, TruncationIsForRecurrentLayers) {
  const LayerOptions convolution{.name = "conv", .kind = Conv1DOptions{.filters = 3, .kernel_size = 2}};
  Job job = JobOf({convolution, Pool(), Dense()});
  EXPECT_TRUE(MakeSpec(job, kFeaturesToClass).ok());
  job.train.truncate = 5;
  EXPECT_TRUE(RefusedAsUsage(MakeSpec(job, kFeaturesToClass), {"train.truncate = 5", "recurrent"}));
  job.layers.insert(job.layers.begin(), Lstm());
  EXPECT_TRUE(MakeSpec(job, kFeaturesToClass).ok());
}

TEST(Spec, SoftmaxIsForTheLastDenseOnly) {
  EXPECT_TRUE(RefusedAsUsage(
      MakeSpec(JobOf({Lstm(), Dense({.units = 4, .activation = Activation::Softmax}), Dense()}), kFeaturesToClass),
      {"layer 2 \"dense\"", "softmax"}));
}

}  // namespace
}  // namespace plimsoll
