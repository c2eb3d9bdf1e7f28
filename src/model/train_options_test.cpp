#include "model/train_options.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace plimsoll {
namespace {

TrainOptions With(OptimizerKind optimizer, double momentum = 0.0) {
  TrainOptions options;
  options.optimizer = optimizer;
  options.momentum = momentum;
  return options;
}

TEST(TrainOptions, AnOptimizerHasTheMomentsOfItsFormulaAndNoMore) {
  EXPECT_EQ(MomentsOf(With(OptimizerKind::Adam)), 2);
  EXPECT_EQ(MomentsOf(With(OptimizerKind::AdamW)), 2);
  EXPECT_EQ(MomentsOf(With(OptimizerKind::LazyAdam)), 2);
  EXPECT_EQ(MomentsOf(With(OptimizerKind::Sgd)), 0);
  EXPECT_EQ(MomentsOf(With(OptimizerKind::Sgd, 0.9)), 1);
  EXPECT_EQ(MomentsOf(With(OptimizerKind::RmsProp)), 1);
  EXPECT_EQ(MomentsOf(With(OptimizerKind::Adagrad)), 1);
}

TEST(TrainOptions, TheLearningRateIsTheStatedOneOrKerass) {
  EXPECT_EQ(LearningRateOf(With(OptimizerKind::Sgd)), 0.01);
  for (const OptimizerKind kind : {OptimizerKind::Adam, OptimizerKind::AdamW, OptimizerKind::RmsProp, OptimizerKind::Adagrad}) {
    EXPECT_EQ(LearningRateOf(With(kind)), 0.001);
  }
  TrainOptions stated = With(OptimizerKind::Sgd);
  stated.learning_rate = 0.0;
  EXPECT_EQ(LearningRateOf(stated), 0.0);
}

TEST(TrainOptions, SettingsOfAnotherChoiceAreRefusedByName) {
  const struct {
    std::function<void(TrainOptions&)> change;
    std::string says;
  } cases[] = {
      {[](TrainOptions& o) { o.momentum = 0.9; }, "train.momentum = 0.9: a setting of optimizer sgd alone"},
      {[](TrainOptions& o) { o.weight_decay = 0.1; }, "train.weight_decay = 0.1: a setting of optimizer adamw alone"},
      {[](TrainOptions& o) { o.rho = 0.5; }, "train.rho = 0.5: a setting of optimizer rmsprop alone"},
      {[](TrainOptions& o) { o.nesterov = true; }, "train.nesterov = true: a setting of optimizer sgd with momentum alone"},
      {[](TrainOptions& o) { o.lr_power = 2.0; }, "train.lr_power = 2: a setting of lr_schedule polynomial alone"},
      {[](TrainOptions& o) { o.lr_decay_steps = 5; },
       "train.lr_decay_steps = 5: a setting of lr_schedule step and exponential alone"},
      {[](TrainOptions& o) { o.plateau_factor = 0.5; }, "train.plateau_factor = 0.5: a setting of lr_schedule plateau alone"},
      {[](TrainOptions& o) { o.plateau_patience = 3; }, "train.plateau_patience = 3: a setting of lr_schedule plateau alone"},
      {[](TrainOptions& o) { o.clip_norm = o.clip_value = 1.0; },
       "train.clip_norm = 1 and train.clip_value = 1: a gradient is clipped by one of them"},
      {[](TrainOptions& o) { o.clip_value = o.clip_tensor_norm = 1.0; },
       "train.clip_value = 1 and train.clip_tensor_norm = 1: a gradient is clipped by one of them"},
  };
  for (const auto& [change, says] : cases) {
    TrainOptions options;
    EXPECT_TRUE(CheckTrainOptions(options).ok());
    change(options);
    const Status status = CheckTrainOptions(options);
    EXPECT_EQ(status.kind(), StatusKind::Usage);
    EXPECT_EQ(status.message(), says);
  }
}

TEST(TrainOptions, SnapshotsComeBehindSomeTimeOrSomeUpdates) {
  EXPECT_EQ(ReadSaveInterval("10m").value().seconds, 600.0);
  EXPECT_EQ(ReadSaveInterval("10m").value().updates, 0);
  EXPECT_EQ(ReadSaveInterval("500").value().updates, 500);
  EXPECT_EQ(ReadSaveInterval("500").value().seconds, 0.0);
  EXPECT_EQ(ReadSaveInterval("0").value().updates, 0);
  for (const char* text : {"", "-5", "0s", "often", "99999999999999", "1e999h"}) {
    EXPECT_FALSE(ReadSaveInterval(text).ok()) << text;
  }
}

TEST(TrainOptions, TheBestEpochIsGoneBackToWherePatienceIsThereOrItWasAsked) {
  TrainOptions options;
  EXPECT_FALSE(RestoresBest(options));
  options.patience = 3;
  EXPECT_TRUE(RestoresBest(options));
  options.restore_best = false;
  EXPECT_FALSE(RestoresBest(options));
  options = {};
  options.min_delta = 0.5;
  EXPECT_FALSE(CheckTrainOptions(options).ok());
  options.restore_best = true;
  EXPECT_TRUE(CheckTrainOptions(options).ok());
}

TEST(TrainOptions, EveryChoiceTakesItsOwnSettings) {
  TrainOptions sgd = With(OptimizerKind::Sgd, 0.9);
  sgd.nesterov = true;
  TrainOptions adamw = With(OptimizerKind::AdamW);
  adamw.beta_1 = adamw.beta_2 = adamw.epsilon = adamw.weight_decay = 0.5;
  TrainOptions rmsprop = With(OptimizerKind::RmsProp);
  rmsprop.rho = rmsprop.epsilon = 0.5;
  TrainOptions adagrad = With(OptimizerKind::Adagrad);
  adagrad.initial_accumulator_value = adagrad.epsilon = 0.5;
  TrainOptions polynomial;
  polynomial.lr_schedule = LrSchedule::Polynomial;
  polynomial.lr_power = polynomial.lr_end_factor = 0.5;
  TrainOptions step;
  step.lr_schedule = LrSchedule::Step;
  step.lr_decay_rate = 0.5;
  step.lr_decay_steps = 5;
  for (const TrainOptions& options : {sgd, adamw, rmsprop, adagrad, polynomial, step}) {
    EXPECT_TRUE(CheckTrainOptions(options).ok()) << CheckTrainOptions(options).message();
  }
}

}  // namespace
}  // namespace plimsoll
