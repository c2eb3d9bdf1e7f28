// Text from small models, and the step that makes it. Counts what operator new is asked for.
#include "plimsoll/generate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/allocation_test_count.h"
#include "train/setup.h"
#include "train/train_test_files.h"
#include "train/update.h"

namespace plimsoll {
namespace {

// Keeps the texts, in room that was there before, and what was allocated from the third piece on.
struct Texts final : TextSink {
  Texts() {
    for (std::string& text : texts) text.reserve(4096);
  }
  Status Begin(int64_t number) override {
    now = static_cast<size_t>(number);
    pieces = 0;
    return Status::Ok();
  }
  Status Text(std::string_view text) override {
    texts[now] += text;
    if (++pieces == 3) first = heap.allocations;
    last = heap.allocations;
    return Status::Ok();
  }
  Status End(const TextEnd& end) override {
    ends[now] = end;
    return Status::Ok();
  }
  std::array<std::string, 4> texts;
  std::array<TextEnd, 4> ends = {};
  size_t now = 0;
  int64_t pieces = 0, first = 0, last = 0;
};

// A text whose next character is certain but behind a "c", where it is one of two.
Job LettersJob(const Folder& folder, TokenKind tokens) {
  RandomSequence random(4, 0);
  std::string text;
  for (int i = 0; i < 700; ++i) text += random.Below(2) == 0 ? "abcd " : "abcefg ";
  std::ofstream(folder / "letters.txt") << text;
  Job job;
  job.task = Task::Lm;
  job.data.train = folder / "letters.txt";
  job.data.cache = folder / "cache";
  job.data.tokens = tokens;
  job.data.window = 24;
  if (tokens == TokenKind::Bpe) job.data.vocabulary = 262;
  job.layers = {{"", EmbeddingOptions{.output_dim = 8}}, {"", GRUOptions{.units = 24}}, {"", DenseOptions{}}};
  job.train.batch_size = 16;
  job.train.epochs = tokens == TokenKind::Bpe ? 80 : 15;  // the text has fewer tokens
  job.train.learning_rate = 0.02;
  job.train.threads = 1;
  job.memory.budget = "1GB";
  return job;
}

std::string Trained(const Folder& folder, TokenKind tokens) {
  const Result<RunResult> run = Train(LettersJob(folder, tokens), {.out = folder / "run"});
  EXPECT_TRUE(run.ok()) << run.status().message();
  std::filesystem::remove(folder / "letters.txt");  // a model needs its data no more
  std::filesystem::remove_all(folder / "cache");
  return folder / "run";
}

bool IsInTheLanguage(std::string text) {
  while (text.starts_with("abcd ") || text.starts_with("abcefg ")) text.erase(0, text[3] == 'd' ? 5 : 7);
  return std::string("abcd ").starts_with(text) || std::string("abcefg ").starts_with(text);
}

TEST(Generate, WhatFollowsThePromptIsWhatTheTextSays) {
  for (const TokenKind kind : {TokenKind::Char, TokenKind::Byte, TokenKind::Bpe}) {
    const Folder folder;
    GenerateRequest request{.model = Trained(folder, kind), .prompt = "abcd abcefg", .tokens = 150, .temperature = 0.4};
    std::array<std::string, 3> texts;
    for (size_t i = 0; i < texts.size(); ++i) {
      Texts sink;
      request.sink = &sink;
      request.seed = i == 2 ? 2 : 1;
      request.threads = i == 1 ? 2 : 1;
      request.memory = i == 1 ? "600MB" : "";
      const Result<GenerateResult> made = Generate(request);
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_EQ(sink.ends[0].why, "length");
      EXPECT_EQ(sink.ends[0].tokens, 150);
      EXPECT_TRUE(IsInTheLanguage(request.prompt + sink.texts[0])) << sink.texts[0];
      texts[i] = sink.texts[0];
    }
    EXPECT_EQ(texts[0], texts[1]) << "threads and budget change nothing";
    EXPECT_NE(texts[0], texts[2]) << "another seed";
  }
}

TEST(Generate, TextsOfOneRequestDifferAndAreMadeWithoutAllocating) {
  const Folder folder;
  const std::string model = Trained(folder, TokenKind::Char);
  Texts sink, again;
  const GenerateRequest request{.model = model, .prompt = "abc", .tokens = 200, .count = 2, .sink = &sink};
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_NE(sink.texts[0], sink.texts[1]);
  EXPECT_EQ(sink.texts[0].size(), 200u);
  EXPECT_EQ(sink.last - sink.first, 0);
  EXPECT_GT(sink.pieces, 100);
  GenerateRequest greedy{.model = model, .prompt = "abcd", .tokens = 9, .temperature = 0.0, .count = 2, .sink = &again};
  ASSERT_TRUE(Generate(greedy).ok());
  EXPECT_EQ(again.texts[0], again.texts[1]) << "nothing is drawn at temperature 0";
  EXPECT_TRUE(again.texts[0].starts_with(" abc")) << again.texts[0];
}

TEST(Generate, TheStopTextEndsIt) {
  const Folder folder;
  Texts sink;
  const GenerateRequest request{
      .model = Trained(folder, TokenKind::Char), .prompt = "abcd ", .tokens = 500, .stop = "efg", .sink = &sink};
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(sink.ends[0].why, "stop");
  EXPECT_TRUE(sink.texts[0].ends_with("abc")) << sink.texts[0];
}

TEST(Generate, TextsOfTheirOwnEndBySelfAndWordsAreJoined) {
  const Folder folder;
  std::ofstream file(folder / "lines.txt");
  for (int i = 0; i < 300; ++i) file << "we saw it, twice.\n";
  file.close();
  Job job = LettersJob(folder, TokenKind::Word);
  job.data.train = folder / "lines.txt";
  job.data.window = 0;
  ASSERT_TRUE(Train(job, {.out = folder / "run"}).ok());
  Texts sink;
  GenerateRequest request{.model = folder / "run", .tokens = 50, .temperature = 0.0, .sink = &sink};
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(sink.texts[0], "we saw it, twice.");
  EXPECT_EQ(sink.ends[0].why, "end");
  Texts behind;
  request.prompt = "we saw";
  request.sink = &behind;
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(behind.texts[0], " it, twice.");
}

TEST(Generate, WhatIsNoLanguageModelAndWhatIsNoRequestIsRefused) {
  const Folder folder;
  Texts sink;
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=5&samples=20";
  job.layers = {{"", LSTMOptions{.units = 4}}, {"", DenseOptions{}}};
  job.memory.budget = "1GB";
  ASSERT_TRUE(Train(job, {.out = folder / "adding"}).ok());
  const Result<GenerateResult> other = Generate({.model = folder / "adding", .sink = &sink});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().kind(), StatusKind::Usage);
  EXPECT_NE(other.status().message().find("\"regress\""), std::string::npos) << other.status().message();

  const std::string model = Trained(folder, TokenKind::Char);
  const auto refused = [&](GenerateRequest request) {
    request.model = model;
    request.sink = &sink;
    const Result<GenerateResult> made = Generate(request);
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : made.status().message();
  };
  EXPECT_NE(refused({.tokens = 0}).find("tokens"), std::string::npos);
  EXPECT_NE(refused({.temperature = -1.0}).find("temperature"), std::string::npos);
  EXPECT_NE(refused({.top_p = 0.0}).find("top_p"), std::string::npos);
  EXPECT_NE(refused({.prompt = "a\xFF"}).find("byte 2 is not UTF-8"), std::string::npos);
  EXPECT_NE(refused({.prompt_file = folder / "none"}).find("none"), std::string::npos);
  EXPECT_NE(refused({.prompt = ""}).find("no beginning"), std::string::npos) << "the text has no line ends";
}

// Outputs of one sample, step by step.
class StepOutputs final : public OutputSink {
 public:
  void Rows(size_t /*output*/, const RowGroup&, int64_t, int64_t count, const float* outputs, int64_t stride) override {
    for (int64_t i = 0; i < count; ++i) values.emplace_back(outputs + i * stride, outputs + i * stride + 7);
  }
  std::vector<std::vector<float>> values;
};

TEST(Advance, StepByStepGivesTheBitsOfTheWholeSequence) {
  const Folder folder;
  const std::string data = PutSeveralTargets(folder / "a.npz", 6, 45);
  const std::vector<std::vector<LayerOptions>> models = {
      {{"", EmbeddingOptions{.output_dim = 8}},
       {"", LSTMOptions{.units = 20}},
       {"", GRUOptions{.units = 9}},
       {"", DenseOptions{}}},
      {{"", EmbeddingOptions{.output_dim = 8}},
       {"", Conv1DOptions{.filters = 12, .kernel_size = 4}},
       {"", LSTMOptions{.units = 10, .layer_normalization = true}},
       {"", DropoutOptions{}},
       {"", DenseOptions{.units = 11, .activation = Activation::Tanh}},
       {"", DenseOptions{}}},
      {{"", EmbeddingOptions{.output_dim = 6}}, {"", SimpleRNNOptions{.units = 7}}, {"", DenseOptions{}}}};
  for (const std::vector<LayerOptions>& layers : models) {
    Job job;
    job.task = Task::Tag;
    job.data.train = data;
    job.layers = layers;
    job.train.threads = 2;
    job.memory.budget = "1GB";
    Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {});
    ASSERT_TRUE(setup.ok()) << setup.status().message();
    Result<std::unique_ptr<Engine>> engine = Open(**setup);
    ASSERT_TRUE(engine.ok());
    Update update(**setup, **engine);
    ASSERT_TRUE(update.Start().ok());
    Batch batch((*setup)->samples.get(), (*engine)->batch_buffers(), (*setup)->plan.group_rows, /*reversed=*/false,
                *(*setup)->pool);
    const int64_t sample = 0;
    batch.Start(&sample, 1);
    StepOutputs whole;
    StepSums sums;
    (*engine)->step.SetOutputSink(&whole);
    const RowGroup group = batch.Read(0).value();
    (*engine)->step.EvaluateGroup(group, sums);
    (*engine)->step.SetOutputSink(nullptr);
    ASSERT_EQ(whole.values.size(), 45u);
    // Some steps together, then one at a time; twice, so that a second sequence begins with zeros again.
    for (int round = 0; round < 2; ++round) {
      for (int32_t at = 0; at < 45;) {
        const int32_t length = at == 0 ? 16 : at == 16 ? 5 : 1;
        const RowGroup part{.rows = 1, .steps = length, .samples = &sample, .lengths = &length, .ids = group.ids + at};
        const float* outputs = (*engine)->step.Advance(part, at == 0);
        at += length;
        EXPECT_EQ(std::memcmp(outputs, whole.values[static_cast<size_t>(at - 1)].data(), 7 * sizeof(float)), 0) << at;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
