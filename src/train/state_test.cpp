// State that somebody reads, brings along or carries on: what a layer returns, begins with and keeps from batch to batch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/npy_test_files.h"
#include "plimsoll/session.h"
#include "plimsoll/trainer.h"

namespace plimsoll {
namespace {

LSTMOptions Lstm(int64_t units) { return {.units = units}; }

Job JobOf(std::string source, std::vector<LayerOptions> layers, Task task = Task::Regress) {
  Job job;
  job.task = task;
  job.data.train = std::move(source);
  job.layers = std::move(layers);
  job.train.batch_size = 33;
  job.train.threads = 2;
  job.memory.budget = "1GB";
  return job;
}

void ExpectVerified(const Job& job, const std::string& what) {
  Result<VerifyReport> report = Verify(job);
  ASSERT_TRUE(report.ok()) << what << ": " << report.status().message();
  EXPECT_TRUE(report->same_bits) << what;
  for (const TensorDifference& tensor : report->tensors) {
    EXPECT_TRUE(tensor.ok) << what << ": " << tensor.tensor << " relative " << tensor.relative << " allowed " << tensor.allowed;
  }
}

std::string Refusal(const Job& job) {
  const Result<Plan> plan = MakePlan(job);
  return plan.ok() ? "" : plan.status().message();
}

std::vector<LayerKind> Cells() {
  return {Lstm(9),
          LSTMOptions{.units = 17, .proj_size = 5},
          LSTMOptions{.units = 9, .layer_normalization = true},
          GRUOptions{.units = 9},
          GRUOptions{.units = 9, .reset_after = false},
          SimpleRNNOptions{.units = 9}};
}

template <typename Change>
LayerKind Changed(LayerKind kind, const Change& change) {
  std::visit(
      [&](auto& options) {
        if constexpr (requires { options.return_state; }) change(options);
      },
      kind);
  return kind;
}

TEST(ReturnState, OfEveryCellAgreesWithDouble) {
  for (const LayerKind& cell : Cells()) {
    const std::string what = fmt::format("cell {}", cell.index());
    const LayerKind returning = Changed(cell, [](auto& options) { options.return_state = true; });
    Job job = JobOf("generate:adding?steps=40&samples=70&min_steps=2",
                    {{"cell", returning}, {.name = "", .kind = DenseOptions{}, .inputs = {"cell_state"}}});
    ExpectVerified(job, what);
    job.train.truncate = 8;  // a row whose end is a border keeps what its State is told
    ExpectVerified(job, what + ", truncated");
    job.train.truncate = 0;
    job.layers = {{"below", returning},
                  {"above", GRUOptions{.units = 7}},
                  {.name = "", .kind = MergeOptions{.mode = MergeMode::Concatenate}, .inputs = {"above", "below_state"}},
                  {"", DenseOptions{}}};
    ExpectVerified(job, what + ", read twice");
    job.layers[0].trainable = false;
    ExpectVerified(job, what + ", frozen");
  }
}

TEST(ReturnState, WhatHasNoMeaningIsRefused) {
  const std::string adding = "generate:adding?steps=10&samples=40";
  EXPECT_NE(Refusal(JobOf(adding, {{"a", Lstm(4)}, {.name = "", .kind = DenseOptions{}, .inputs = {"a_state"}}}))
                .find("does not return its State"),
            std::string::npos);
  LSTMOptions returning = Lstm(4);
  returning.return_state = true;
  EXPECT_NE(Refusal(JobOf(adding, {{"a", returning}, {"", DenseOptions{}}})).find("no layer reads \"a_state\""),
            std::string::npos);
  EXPECT_NE(
      Refusal(JobOf(adding,
                    {{"", DenseOptions{.units = 4}}, {"", PoolingOptions{.mode = PoolingMode::State}}, {"", DenseOptions{}}}))
          .find("reads no recurrent one"),
      std::string::npos);
}

constexpr int64_t kSamples = 40, kSteps = 21, kWidth = 3;

// Around 0.5 and not around 0: gradients that are all but zero have no relative error to judge.
std::vector<float> Wave(int64_t count, double speed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(0.5 + std::sin(speed * static_cast<double>(i))));
  return values;
}

// x, y at every step, and where asked a State to begin with.
std::string Archive(const TestFolder& folder, int64_t state_width) {
  std::vector<TestMember> members;
  members.emplace_back("x.npy",
                       Npy(Wave(kSamples * kSteps * kWidth, 0.7), fmt::format("({}, {}, {})", kSamples, kSteps, kWidth)));
  members.emplace_back("y.npy", Npy(Wave(kSamples * kSteps, 0.3), fmt::format("({}, {}, 1)", kSamples, kSteps)));
  if (state_width > 0) {
    members.emplace_back("initial_state.npy",
                         Npy(Wave(kSamples * state_width, 1.1), fmt::format("({}, {})", kSamples, state_width)));
  }
  return folder.Put(fmt::format("data{}.npz", state_width), Zip(members));
}

double FirstLoss(const Job& job) {
  Result<std::unique_ptr<Session>> session = Session::Open(job);
  EXPECT_TRUE(session.ok()) << session.status().message();
  EXPECT_TRUE((*session)->NextBatch());
  Result<Score> score = (*session)->Gradients();
  EXPECT_TRUE(score.ok());
  return score->loss;
}

TEST(InitialState, OfTheDataAgreesWithDouble) {
  const TestFolder folder;
  for (const LayerKind& cell : Cells()) {
    const LayerKind beginning = Changed(cell, [](auto& options) { options.initial_state = "data"; });
    const auto* lstm = std::get_if<LSTMOptions>(&cell);
    const int64_t width = lstm == nullptr ? 9 : lstm->units + (lstm->proj_size > 0 ? lstm->proj_size : lstm->units);
    const Job job = JobOf(Archive(folder, width), {{"", beginning}, {"", DenseOptions{}}});
    ExpectVerified(job, fmt::format("cell {}", cell.index()));
    const Job zeros = JobOf(Archive(folder, 0), {{"", cell}, {"", DenseOptions{}}});
    EXPECT_NE(FirstLoss(job), FirstLoss(zeros)) << "the control";
    const Job two = JobOf(Archive(folder, width + 4),
                          {{"", beginning}, {"", GRUOptions{.units = 4, .initial_state = "data"}}, {"", DenseOptions{}}});
    ExpectVerified(two, fmt::format("two layers, cell {}", cell.index()));
  }
}

TEST(InitialState, OfAnotherSizeIsRefused) {
  const TestFolder folder;
  LSTMOptions beginning = Lstm(4);
  beginning.initial_state = "data";
  const std::string message = Refusal(JobOf(Archive(folder, 7), {{"a", beginning}, {"", DenseOptions{}}}));
  EXPECT_NE(message.find("7 values"), std::string::npos) << message;
  EXPECT_NE(message.find("want 8: \"a\" h 4 and c 4"), std::string::npos) << message;
  EXPECT_NE(Refusal(JobOf(Archive(folder, 0), {{"", beginning}, {"", DenseOptions{}}})).find("none"), std::string::npos);
  EXPECT_NE(Refusal(JobOf(Archive(folder, 7), {{"", Lstm(4)}, {"", DenseOptions{}}})).find("no layer reads it"),
            std::string::npos);
  beginning.initial_state = "random";
  EXPECT_NE(Refusal(JobOf(Archive(folder, 0), {{"", beginning}, {"", DenseOptions{}}})).find("\"data\""), std::string::npos);
}

// One wave for each of 6 rows, whole or cut into pieces: sample p * 6 + row is piece p of it.
std::string Waves(const TestFolder& folder, int64_t pieces) {
  constexpr int64_t kRows = 6, kLength = 36;
  const int64_t steps = kLength / pieces;
  std::vector<float> x, y;
  for (int64_t piece = 0; piece < pieces; ++piece)
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t t = piece * steps; t < (piece + 1) * steps; ++t) {
        x.push_back(static_cast<float>(std::sin(0.4 * static_cast<double>(t + 3 * row))));
        y.push_back(static_cast<float>(std::cos(0.2 * static_cast<double>(t + 5 * row))));
      }
  const std::string shape = fmt::format("({}, {}, 1)", kRows * pieces, steps);
  return folder.Put(fmt::format("waves{}.npz", pieces), Zip({{"x.npy", Npy(x, shape)}, {"y.npy", Npy(y, shape)}}));
}

Job Stateful(const TestFolder& folder, int64_t pieces, bool stateful) {
  LSTMOptions lower = Lstm(9);
  lower.stateful = stateful;
  GRUOptions upper{.units = 5, .stateful = stateful};
  Job job = JobOf(Waves(folder, pieces), {{"", lower}, {"", upper}, {"", DenseOptions{}}});
  job.train.batch_size = 6;
  job.train.shuffle = false;
  job.train.epochs = 2;
  return job;
}

struct Sums {
  double loss = 0.0;
  std::vector<double> gradient;
};
// Of one epoch without updates: mean loss, and the mean gradient of the lower layer's weights.
Sums Epoch(Session& session, int64_t batches) {
  Sums sums;
  std::vector<float> gradient(4 * 9 * 9);
  sums.gradient.resize(gradient.size());
  for (int64_t batch = 0; batch < batches; ++batch) {
    EXPECT_TRUE(session.NextBatch());
    EXPECT_TRUE(session.Gradients().ok());
    Result<Score> again = session.Gradients();  // the same once more: State has not moved on
    EXPECT_TRUE(again.ok());
    EXPECT_TRUE(session.ReadGradient("lstm.weight_hh", gradient).ok());
    sums.loss += again->loss / static_cast<double>(batches);
    for (size_t i = 0; i < gradient.size(); ++i)
      sums.gradient[i] += static_cast<double>(gradient[i]) / static_cast<double>(batches);
    EXPECT_TRUE(session.Evaluate().ok());  // scores have a State of their own
  }
  return sums;
}

// Pieces in consecutive batches are the whole, with gradients that end at the borders: truncated backpropagation.
TEST(StatefulTraining, PiecesAreTheWhole) {
  const TestFolder folder;
  for (const int64_t pieces : {2, 3, 4}) {
    Job whole_job = Stateful(folder, 1, false);
    whole_job.train.truncate = 36 / pieces;
    Result<std::unique_ptr<Session>> whole = Session::Open(whole_job), cut = Session::Open(Stateful(folder, pieces, true)),
                                     apart = Session::Open(Stateful(folder, pieces, false));
    ASSERT_TRUE(whole.ok() && cut.ok() && apart.ok()) << cut.status().message();
    const Sums wanted = Epoch(**whole, 1);
    for (int epoch = 1; epoch <= 2; ++epoch) {  // the second begins anew
      const Sums got = Epoch(**cut, pieces);
      EXPECT_NEAR(got.loss, wanted.loss, 1e-6) << pieces << " pieces, epoch " << epoch;
      double difference = 0.0, size = 0.0;
      for (size_t i = 0; i < wanted.gradient.size(); ++i) {
        difference += std::pow(got.gradient[i] - wanted.gradient[i], 2);
        size += std::pow(wanted.gradient[i], 2);
      }
      EXPECT_LT(std::sqrt(difference / size), 1e-5) << pieces << " pieces, epoch " << epoch;
    }
    EXPECT_GT(std::abs(Epoch(**apart, pieces).loss - wanted.loss), 1e-4) << "the control";
  }
}

// At any budget: see the random jobs of tests/rel/budget_test.py, of which some are stateful.
TEST(StatefulTraining, IsTheSameWithAnyNumberOfThreads) {
  const TestFolder folder;
  std::vector<double> losses;
  for (const int64_t threads : {1, 2, 3}) {
    Job job = Stateful(folder, 2, true);
    job.train.threads = threads;
    Result<RunResult> run = Train(job, {});
    ASSERT_TRUE(run.ok()) << run.status().message();
    losses.push_back(run->last.loss);
  }
  for (const double loss : losses) EXPECT_EQ(loss, losses[0]);
}

// A batch that was taken and left alone has no end that the next could go on from.
TEST(StatefulTraining, BeginsAnewBehindABatchThatWasNotRun) {
  const TestFolder folder;
  const auto third = [&](bool stateful, bool skip) {
    Result<std::unique_ptr<Session>> session = Session::Open(Stateful(folder, 3, stateful));
    EXPECT_TRUE(session.ok());
    for (int batch = 0; batch < 2; ++batch) {
      EXPECT_TRUE((*session)->NextBatch());
      EXPECT_TRUE(skip || (*session)->Gradients().ok());
    }
    EXPECT_TRUE((*session)->NextBatch());
    Result<Score> score = (*session)->Gradients();
    EXPECT_TRUE(score.ok());
    return score->loss;
  };
  EXPECT_EQ(third(true, true), third(false, true));
  EXPECT_NE(third(true, false), third(false, false)) << "the control";
}

TEST(StatefulTraining, WhatHasNoMeaningIsRefused) {
  const TestFolder folder;
  Job job = Stateful(folder, 2, true);
  EXPECT_EQ(Refusal(job), "");
  job.data.valid_file = Waves(folder, 3);
  job.train.batch_size = 12;
  EXPECT_NE(Refusal(job).find("18 samples are no whole number of batches of 12"), std::string::npos) << "of validation";
  job.train.batch_size = 6;
  EXPECT_EQ(Refusal(job), "");
  job.data.valid_file = "";
  job.data.valid_targets = "y.npy";
  EXPECT_NE(Refusal(job).find("\"y.npy\" belongs to a validation file"), std::string::npos);
  job.data.valid_targets = "";
  job.train.shuffle = true;
  EXPECT_NE(Refusal(job).find("shuffled"), std::string::npos);
  job.train.shuffle = false;
  job.train.batch_size = 5;
  EXPECT_NE(Refusal(job).find("no whole number of batches"), std::string::npos);
  job.train.batch_size = 6;
  job.data.valid_share = 0.3;
  EXPECT_NE(Refusal(job).find("data.valid"), std::string::npos);
  job.data.valid_share = 0.0;
  std::get<LSTMOptions>(job.layers[0].kind).go_backwards = true;
  EXPECT_NE(Refusal(job).find("go_backwards"), std::string::npos);
  std::get<LSTMOptions>(job.layers[0].kind).go_backwards = false;
  std::get<GRUOptions>(job.layers[1].kind).initial_state = "data";
  EXPECT_NE(Refusal(job).find("both say"), std::string::npos);
  std::get<GRUOptions>(job.layers[1].kind).initial_state = "";
  job.data.train = "generate:sine?steps=20&samples=36&min_steps=5";
  EXPECT_NE(Refusal(job).find("steps and sample 0 has"), std::string::npos) << Refusal(job);
}

}  // namespace
}  // namespace plimsoll
