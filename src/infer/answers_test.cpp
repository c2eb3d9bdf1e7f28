#include "infer/answers.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "infer/input_window.h"

namespace plimsoll {
namespace {

TokenTable Names(std::initializer_list<std::string_view> names) {
  TokenTable table;
  for (const std::string_view name : names) table.Add(name);
  return table;
}

// Three rows of 2, 3 and 1 steps, as a group sorts them: 1, 0, 2.
struct Three {
  InputWindow window{{.ids = true}, {.rows = 4, .steps = 16}, 0};
  std::array<int64_t, 3> samples = {1, 0, 2};
  std::array<int32_t, 3> lengths = {3, 2, 1};
  RowGroup group{.rows = 3, .steps = 3, .samples = samples.data(), .lengths = lengths.data()};
  Three() {
    const std::array<int32_t, 3> ids = {1, 2, 3};
    for (const size_t steps : {2, 3, 1}) window.AddIds(std::span(ids).first(steps), {});
  }
};

std::string LinesOf(const Answers& answers, int64_t rows = 3, std::string_view name = {}) {
  std::string lines;
  for (int64_t row = 0; row < rows; ++row) answers.Append(lines, row, name);
  return lines;
}

TEST(Answers, ComeInTheOrderOfTheDataWithTheLikeliestFirst) {
  const Three three;
  // Of samples 1, 0, 2: probabilities of softmax; 0.5 and 0.25 twice where logits are ln 2, 0, 0.
  constexpr float kTwo = 0.6931472f;
  const std::array<float, 12> y = {0.0f, kTwo, 0.0f, 9.0f, kTwo, 0.0f, 0.0f, 9.0f, 0.0f, 0.0f, kTwo, 9.0f};
  AnswerOptions options{.width = 3, .top = 2, .rows = 4, .steps = 16, .names = Names({"a", "b\"", "c\t"})};
  Answers json(options);
  json.Start(three.window, 0, 3);
  json.Rows(0, three.group, 0, 2, y.data(), 4);
  json.Rows(0, three.group, 2, 1, y.data() + 8, 4);
  EXPECT_EQ(
      LinesOf(json),
      "{\"label\":\"a\",\"probability\":0.5,\"top\":[{\"label\":\"a\",\"probability\":0.5},{\"label\":\"b\\\"\","
      "\"probability\":0.25}]}\n"
      "{\"label\":\"b\\\"\",\"probability\":0.5,\"top\":[{\"label\":\"b\\\"\",\"probability\":0.5},{\"label\":\"a\","
      "\"probability\":0.25}]}\n"
      "{\"label\":\"c\\u0009\",\"probability\":0.5,\"top\":[{\"label\":\"c\\u0009\",\"probability\":0.5},{\"label\":\"a\","
      "\"probability\":0.25}]}\n");
  options.format = PredictFormat::Tsv;
  options.top = 1;
  Answers tsv(options);
  tsv.Start(three.window, 0, 3);
  tsv.Rows(0, three.group, 0, 3, y.data(), 4);
  EXPECT_EQ(LinesOf(tsv), "a\t0.5\nb\"\t0.5\nc \t0.5\n");
}

TEST(Answers, TagsOfAStepGoToTheirRow) {
  const Three three;
  Answers answers(
      {.per_step = true, .width = 2, .rows = 4, .steps = 16, .format = PredictFormat::Tsv, .names = Names({"O", "B"})});
  answers.Start(three.window, 0, 3);
  // Packed: step 0 of samples 1, 0, 2; step 1 of 1, 0; step 2 of 1.
  const std::array<float, 12> y = {0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1};
  answers.Rows(0, three.group, 0, 4, y.data(), 2);
  answers.Rows(0, three.group, 4, 2, y.data() + 8, 2);
  EXPECT_EQ(LinesOf(answers), "O B\nB O B\nB\n");
}

TEST(Answers, ACrfSaysItsOwnTags) {
  const Three three;
  Answers answers({.per_step = true, .decoded = true, .width = 2, .rows = 4, .steps = 16, .names = Names({"O", "B"})});
  answers.Start(three.window, 0, 3);
  const std::array<float, 12> y = {};
  answers.Rows(0, three.group, 0, 6, y.data(), 2);
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t step = 0; step < three.lengths[static_cast<size_t>(row)]; ++step)
      answers.Decoded(three.group, row, step, 0, step == 1 ? 1 : 0);
  }
  EXPECT_EQ(LinesOf(answers), "{\"tags\":[\"O\",\"B\"]}\n{\"tags\":[\"O\",\"B\",\"O\"]}\n{\"tags\":[\"O\"]}\n");
}

TEST(Answers, SeveralLabelsAreThoseAboveAHalf) {
  const Three three;
  AnswerOptions options{.kind = AnswerOptions::Kind::Labels, .width = 2, .rows = 4, .steps = 16, .names = Names({"x", "y"})};
  Answers json(options);
  const std::array<float, 6> y = {100.0f, 100.0f, -1.0f, 100.0f, -1.0f, -1.0f};
  json.Start(three.window, 0, 3);
  json.Rows(0, three.group, 0, 3, y.data(), 2);
  EXPECT_EQ(LinesOf(json),
            "{\"labels\":[\"y\"],\"probabilities\":[1]}\n{\"labels\":[\"x\",\"y\"],\"probabilities\":[1,1]}\n"
            "{\"labels\":[],\"probabilities\":[]}\n");
}

TEST(Answers, SeveralLabelsOfAStepAreAListForEach) {
  const Three three;
  AnswerOptions options{
      .kind = AnswerOptions::Kind::Labels, .per_step = true, .width = 2, .rows = 4, .steps = 16, .names = Names({"x", "y"})};
  // Packed: step 0 of samples 1, 0, 2; step 1 of 1, 0; step 2 of 1.
  const std::array<float, 12> y = {100, 100, -1, 100, -1, -1, -1, -1, 100, 100, 100, -1};
  Answers json(options);
  json.Start(three.window, 0, 3);
  json.Rows(0, three.group, 0, 6, y.data(), 2);
  EXPECT_EQ(LinesOf(json),
            "{\"labels\":[[\"y\"],[\"x\",\"y\"]],\"probabilities\":[[1],[1,1]]}\n"
            "{\"labels\":[[\"x\",\"y\"],[],[\"x\"]],\"probabilities\":[[1,1],[],[1]]}\n"
            "{\"labels\":[[]],\"probabilities\":[[]]}\n");
  options.format = PredictFormat::Tsv;
  Answers tsv(options);
  tsv.Start(three.window, 0, 3);
  tsv.Rows(0, three.group, 0, 6, y.data(), 2);
  EXPECT_EQ(LinesOf(tsv), "y x,y\nx,y , x\n,\n");
}

TEST(Answers, ForecastsAreInTheUnitOfTheData) {
  const Three three;
  AnswerOptions options{.kind = AnswerOptions::Kind::Forecast, .width = 4, .rows = 4, .steps = 16};
  options.units = {{.mean = 10.0, .deviation = 2.0}, {.mean = 0.0, .deviation = 1.0}};
  Answers json(options);
  const std::array<float, 12> y = {0, 0, 1, 5, 0, 0, 1, 5, 0, 0, 1, 5};
  json.Start(three.window, 0, 3);
  json.Rows(0, three.group, 0, 3, y.data(), 4);
  EXPECT_EQ(LinesOf(json, 1, "s"), "{\"series\":\"s\",\"forecast\":[[10,0],[12,5]]}\n");
  options.format = PredictFormat::Tsv;
  Answers tsv(options);
  tsv.Start(three.window, 0, 3);
  tsv.Rows(0, three.group, 0, 3, y.data(), 4);
  EXPECT_EQ(LinesOf(tsv, 1, "s"), "s\t10\t0\t12\t5\n");
}

TEST(Answers, WhatIsNotFiniteIsSaidAsItIsButInJson) {
  const Three three;
  constexpr float kMost = std::numeric_limits<float>::infinity();
  const std::array<float, 12> y = {kMost, -kMost, std::numeric_limits<float>::quiet_NaN(), 5, kMost, -kMost, 1, 5, 0, 0, 1, 5};
  AnswerOptions options{.kind = AnswerOptions::Kind::Forecast, .width = 4, .rows = 4, .steps = 16};
  options.units = {{.mean = 0.0, .deviation = 1.0}};
  Answers json(options);
  json.Start(three.window, 0, 3);
  json.Rows(0, three.group, 0, 3, y.data(), 4);
  EXPECT_EQ(LinesOf(json, 2), "{\"forecast\":[null,null,1,5]}\n{\"forecast\":[null,null,null,5]}\n");
  options.format = PredictFormat::Tsv;
  Answers tsv(options);
  tsv.Start(three.window, 0, 3);
  tsv.Rows(0, three.group, 0, 3, y.data(), 4);
  EXPECT_EQ(LinesOf(tsv, 2), "inf\t-inf\t1\t5\ninf\t-inf\tnan\t5\n");
}

TEST(Answers, WhatCtcSpellsHasNoBlanksAndNoRepetitions) {
  const Three three;
  Answers answers({.kind = AnswerOptions::Kind::Spelling, .width = 3, .rows = 4, .steps = 16});
  answers.Start(three.window, 0, 3);
  // Sample 1: 2, 2, 1; sample 0: 1, 0; sample 2: 0.
  const std::array<float, 18> y = {0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0};
  answers.Rows(0, three.group, 0, 6, y.data(), 3);
  EXPECT_EQ(LinesOf(answers), "{\"labels\":[1]}\n{\"labels\":[2,1]}\n{\"labels\":[]}\n");
}

TEST(InputWindow, BeforeItsFirstSampleItHasTheLongestThatAnyWindowCanHave) {
  InputWindow window({.ids = true}, {.rows = 4, .steps = 12}, 0);
  for (const auto& [row, length] : {std::pair<int64_t, int64_t>{0, 12}, {1, 6}, {2, 4}, {3, 3}})
    EXPECT_EQ(window.length(row), length);
  const std::vector<int32_t> ids = {5, 6, 7, 8, 9, 10};
  EXPECT_TRUE(window.HasRoom(6));
  window.AddIds(ids, "a");
  window.AddIds(std::span(ids).first(5), "b");
  EXPECT_EQ(window.length(1), 5);
  EXPECT_TRUE(window.HasRoom(1));
  EXPECT_FALSE(window.HasRoom(2)) << "12 steps in all";
  std::array<int32_t, 2> read = {};
  ASSERT_TRUE(window.ReadInputs(1, 3, 2, read.data()).ok());
  EXPECT_EQ(read, (std::array<int32_t, 2>{8, 9}));
  EXPECT_EQ(window.name(window.entries()[1]), "b");
  window.Clear();
  EXPECT_EQ(window.rows(), 0);
  EXPECT_TRUE(window.HasRoom(12));
}

}  // namespace
}  // namespace plimsoll
