#include "plimsoll/session.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "plimsoll/trainer.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

// Ragged rows, dropout, a last batch that is smaller, and a rate that changes from update to update.
Job RaggedJob() {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=40&samples=200&min_steps=2";
  job.data.valid_share = 0.2;
  job.layers = {
      {"", LSTMOptions{.units = 19}}, {"", DropoutOptions{.rate = 0.2}}, {"", GRUOptions{.units = 12}}, {"", DenseOptions{}}};
  job.train.batch_size = 70;
  job.train.epochs = 3;
  job.train.clip_norm = 1.0;
  job.train.lr_schedule = LrSchedule::Cosine;
  job.train.threads = 2;
  job.memory.budget = "1GB";
  return job;
}

std::unique_ptr<Session> Opened(const Job& job) {
  Result<std::unique_ptr<Session>> opened = Session::Open(job);
  if (!opened.ok()) throw std::runtime_error(opened.status().message());
  return std::move(opened).value();
}

std::vector<float> Weights(const Session& session, const TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  EXPECT_TRUE(session.ReadWeights(tensor.name, values).ok());
  return values;
}

std::vector<float> Gradient(const Session& session, const TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  EXPECT_TRUE(session.ReadGradient(tensor.name, values).ok());
  return values;
}

// The weights file of a loop over the whole job; looks around in every batch if asked to.
std::string LoopWeights(const Job& job, const std::string& folder, double rate_factor, bool looks_around) {
  const std::unique_ptr<Session> session = Opened(job);
  while (session->NextBatch()) {
    EXPECT_TRUE(session->Gradients().ok());
    if (looks_around) {
      EXPECT_TRUE(session->Evaluate().ok());
      EXPECT_TRUE(session->Gradients().ok());
      EXPECT_TRUE(session->Evaluate().ok());
      for (const TensorInfo& tensor : session->tensors()) {
        EXPECT_TRUE(session->WriteWeights(tensor.name, Weights(*session, tensor)).ok());
        EXPECT_TRUE(session->WriteGradient(tensor.name, Gradient(*session, tensor)).ok());
      }
    }
    EXPECT_TRUE(session->Apply(rate_factor).ok());
  }
  EXPECT_TRUE(session->Save(folder).ok());
  return Contents(folder + "/model.safetensors");
}

TEST(Session, ALoopOfGradientsAndApplyGivesTheWeightsOfTrain) {
  Folder folder;
  Job job = RaggedJob();
  for (const char* kind : {"whole", "limited", "averaged"}) {
    if (kind == std::string("limited")) job.train.max_steps = 4;
    if (kind == std::string("averaged")) {
      job.train.max_steps = 0;
      job.train.use_ema = true;
    }
    const std::string out = folder / kind;
    const Result<RunResult> run = Train(job, {.out = out});
    ASSERT_TRUE(run.ok()) << run.status().message();
    const std::string trained = Contents(out + "/model/model.safetensors");
    ASSERT_GT(trained.size(), 1000u);
    EXPECT_TRUE(LoopWeights(job, out + "_loop", 1.0, false) == trained) << kind;
    if (!job.train.use_ema) {
      EXPECT_TRUE(LoopWeights(job, out + "_look", 1.0, true) == trained) << kind << ": looking changes nothing";
    }
    // Negative control: the comparison sees another rate.
    EXPECT_FALSE(LoopWeights(job, out + "_other", 0.999, false) == trained) << kind;
  }
}

TEST(Session, CountsBatchesAsTrainDoes) {
  Job job = RaggedJob();
  job.train.max_steps = 5;
  const std::unique_ptr<Session> session = Opened(job);
  std::vector<std::vector<int64_t>> seen;
  while (session->NextBatch()) {
    seen.push_back({session->epoch(), session->step_in_epoch(), session->updates()});
    ASSERT_TRUE(session->Gradients().ok());
    ASSERT_TRUE(session->Apply().ok());
  }
  ASSERT_EQ(session->steps_per_epoch(), 3);  // about 160 samples, 70 a batch
  EXPECT_EQ(seen, (std::vector<std::vector<int64_t>>{{1, 1, 0}, {1, 2, 1}, {1, 3, 2}, {2, 1, 3}, {2, 2, 4}}));
  EXPECT_FALSE(session->NextBatch());
}

TEST(Session, GivesTheScoresOfTrainAndAModelFolderThatGivesThemAgain) {
  Folder folder;
  const Job job = RaggedJob();
  const Result<RunResult> run = Train(job, {});
  ASSERT_TRUE(run.ok());
  const std::unique_ptr<Session> session = Opened(job);
  EXPECT_EQ(session->Evaluate()->loss, run.value().first.loss);
  while (session->NextBatch()) {
    ASSERT_TRUE(session->Gradients().ok());
    ASSERT_TRUE(session->Apply().ok());
  }
  EXPECT_EQ(session->Evaluate()->loss, run.value().last.loss);
  EXPECT_NE(run.value().first.loss, run.value().last.loss);
  ASSERT_TRUE(session->Save(folder / "model").ok());
  const Result<EvaluateResult> again = Evaluate({.model = folder / "model"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again.value().score.loss, run.value().last.loss);
}

// Plain gradient descent says what the gradient is: the weights move by it, and the loss falls as it foretells.
TEST(Session, TheGradientThatIsReadIsTheOneThatIsApplied) {
  Job job = RaggedJob();
  job.layers = {{"", LSTMOptions{.units = 19}}, {"", DenseOptions{}}};
  job.train.optimizer = OptimizerKind::Sgd;
  job.train.lr_schedule = LrSchedule::Constant;
  job.train.learning_rate = 0.5;
  job.train.clip_norm = 0.0;
  const std::unique_ptr<Session> session = Opened(job);
  ASSERT_TRUE(session->NextBatch());
  const double loss = session->Gradients()->loss;
  EXPECT_EQ(session->learning_rate(), 0.5);
  std::vector<std::vector<float>> weights, gradients;
  double squares = 0.0;
  for (const TensorInfo& tensor : session->tensors()) {
    weights.push_back(Weights(*session, tensor));
    gradients.push_back(Gradient(*session, tensor));
    for (const float value : gradients.back()) squares += static_cast<double>(value) * value;
  }
  ASSERT_GT(squares, 0.0);
  const double factor = 1e-3;
  ASSERT_TRUE(session->Apply(factor).ok());
  for (size_t t = 0; t < weights.size(); ++t) {
    const std::vector<float> now = Weights(*session, session->tensors()[t]);
    for (size_t i = 0; i < now.size(); ++i) {
      ASSERT_EQ(now[i], weights[t][i] - static_cast<float>(0.5 * factor) * gradients[t][i]) << session->tensors()[t].name;
    }
  }
  const double fell = loss - session->Gradients()->loss;
  EXPECT_NEAR(fell / (0.5 * factor * squares), 1.0, 0.05);
}

TEST(Session, AGradientThatIsWrittenIsTheOneThatIsApplied) {
  Job job = RaggedJob();
  job.train.optimizer = OptimizerKind::Sgd;
  job.train.clip_norm = 0.0;
  const std::unique_ptr<Session> session = Opened(job);
  ASSERT_TRUE(session->NextBatch());
  ASSERT_TRUE(session->Gradients().ok());
  const TensorInfo& first = session->tensors().front();
  const TensorInfo& last = session->tensors().back();
  const std::vector<float> first_before = Weights(*session, first), last_before = Weights(*session, last);
  ASSERT_TRUE(session->WriteGradient(first.name, std::vector<float>(first_before.size(), 0.0f)).ok());
  ASSERT_TRUE(session->Apply().ok());
  EXPECT_EQ(Weights(*session, first), first_before);
  EXPECT_NE(Weights(*session, last), last_before);
}

// Scores, the loss and the gradient follow the weights that were written, the copies for backward included.
TEST(Session, WeightsThatAreWrittenAreUsed) {
  Job job = RaggedJob();
  job.layers = {{"", LSTMOptions{.units = 19}}, {"", GRUOptions{.units = 12}}, {"", DenseOptions{}}};
  for (const bool averages : {false, true}) {
    job.train.use_ema = averages;
    const std::unique_ptr<Session> trained = Opened(job), written = Opened(job);
    for (Session* session : {trained.get(), written.get()}) {
      ASSERT_TRUE(session->NextBatch());
      ASSERT_TRUE(session->Gradients().ok());
    }
    ASSERT_TRUE(trained->Apply().ok());
    EXPECT_NE(written->Evaluate()->loss, trained->Evaluate()->loss);
    for (const TensorInfo& tensor : written->tensors()) {
      ASSERT_TRUE(written->WriteWeights(tensor.name, Weights(*trained, tensor)).ok());
    }
    EXPECT_EQ(written->Evaluate()->loss, trained->Evaluate()->loss);
    EXPECT_EQ(written->Gradients()->loss, trained->Gradients()->loss);
    for (const TensorInfo& tensor : written->tensors()) EXPECT_EQ(Gradient(*written, tensor), Gradient(*trained, tensor));
  }
}

TEST(Session, WhatIsAskedOutOfTurnIsRefused) {
  Folder folder;
  const std::unique_ptr<Session> session = Opened(RaggedJob());
  const auto refused = [](const Status& status, const std::string& part) {
    EXPECT_EQ(status.kind(), StatusKind::Usage) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  std::vector<float> values(19 * 4);
  refused(session->Gradients().status(), "there is no batch");
  refused(session->Apply(), "there is no gradient");
  ASSERT_TRUE(session->NextBatch());
  refused(session->ReadGradient("lstm.bias", values), "there is no gradient");
  ASSERT_TRUE(session->Gradients().ok());
  EXPECT_TRUE(session->ReadGradient("lstm.bias", values).ok());
  refused(session->ReadGradient("lstm.biass", values), "did you mean 'lstm.bias'");
  refused(session->ReadWeights("lstm.weight_hh", values), "wanted 1444 values, got 76");
  refused(session->Apply(-1.0), "wanted a factor of 0 or more");
  values[3] = std::numeric_limits<float>::quiet_NaN();
  refused(session->WriteWeights("lstm.bias", values), "not finite, at element 3");
  ASSERT_TRUE(session->WriteGradient("lstm.bias", values).ok());
  EXPECT_EQ(session->Apply().kind(), StatusKind::Diverged);
  refused(session->Apply(), "there is no gradient");
  ASSERT_TRUE(session->Gradients().ok());
  ASSERT_TRUE(session->Save(folder / "model").ok());
  refused(session->Apply(), "there is no gradient");
  EXPECT_EQ(session->Save(folder / "model").kind(), StatusKind::CannotWrite) << "a folder is not written over";
  ASSERT_TRUE(session->Gradients().ok());
  ASSERT_TRUE(session->NextBatch());
  refused(session->Apply(), "there is no gradient");
}

TEST(Session, ABudgetThatIsTooSmallIsRefusedWithTheSmallestThatWorks) {
  Job job = RaggedJob();
  job.memory.budget = "1MB";
  const Result<std::unique_ptr<Session>> refused = Session::Open(job);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), StatusKind::OverBudget);
  EXPECT_GT(refused.status().min_bytes(), 1000000);
}

TEST(Session, AFrozenLayerHasWeightsAndNoGradient) {
  Job job = RaggedJob();
  job.layers[0].trainable = false;
  job.train.use_ema = true;
  const std::unique_ptr<Session> session = Opened(job);
  ASSERT_TRUE(session->NextBatch());
  ASSERT_TRUE(session->Gradients().ok());
  const TensorInfo& frozen = session->tensors().front();
  std::vector<float> values = Weights(*session, frozen);
  for (const Status& refused : {session->ReadGradient(frozen.name, values), session->WriteGradient(frozen.name, values)}) {
    EXPECT_NE(refused.message().find("trainable = false"), std::string::npos) << refused.message();
  }
  values[0] += 1.0f;
  EXPECT_TRUE(session->WriteWeights(frozen.name, values).ok());
  ASSERT_TRUE(session->Gradients().ok());
  EXPECT_TRUE(session->Apply().ok());
  EXPECT_EQ(Weights(*session, frozen), values);
}

TEST(Session, ARateThatWaitsForAPlateauIsRefused) {
  Job job = RaggedJob();
  job.train.lr_schedule = LrSchedule::Plateau;
  const Result<std::unique_ptr<Session>> opened = Session::Open(job);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("plateau"), std::string::npos) << opened.status().message();
}

}  // namespace
}  // namespace plimsoll
