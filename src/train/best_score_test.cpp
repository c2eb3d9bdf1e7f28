#include "train/best_score.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

EpochReport Report(double train_loss, double valid_loss, double valid_accuracy) {
  EpochReport report;
  report.train.loss = train_loss;
  report.train.accuracy = 0.5;
  report.valid.loss = valid_loss;
  report.valid.accuracy = valid_accuracy;
  return report;
}

TEST(BestScore, AutoIsTheLossOfValidationWhereThereIsSome) {
  const EpochReport report = Report(1.0, 2.0, 0.25);
  EXPECT_EQ(BestScore({}, {.valid = true}).ValueOf(report), 2.0);
  EXPECT_EQ(BestScore({}, {}).ValueOf(report), 1.0);
  TrainOptions options;
  options.monitor = Monitor::ValAccuracy;
  EXPECT_EQ(BestScore(options, {.valid = true, .classes = true}).ValueOf(report), -0.25) << "more accuracy is better";
}

TEST(BestScore, AMetricIsTurnedSoThatTheLowerIsTheBetter) {
  EpochReport report = Report(1.0, 2.0, 0.25);
  report.valid.metrics.Add(Metric::F1Macro, 0.75);
  report.valid.metrics.Add(Metric::Rmse, 3.0);
  TrainOptions options;
  options.monitor = MonitorOf(Metric::F1Macro);
  EXPECT_EQ(BestScore(options, {.valid = true}).ValueOf(report), -0.75);
  EXPECT_FALSE(BestScore::Check(options, {}).ok()) << "it is of validation";
  EXPECT_TRUE(BestScore::Check(options, {.valid = true}).ok());
  options.monitor = MonitorOf(Metric::Rmse);
  EXPECT_EQ(BestScore(options, {.valid = true}).ValueOf(report), 3.0);
}

TEST(BestScore, PatienceEndsBehindSoManyEpochsWithoutABetterOne) {
  TrainOptions options;
  options.patience = 2;
  options.min_delta = 0.1;
  BestScore best(options, {});
  EXPECT_TRUE(best.EpochEnded(1, 5.0));
  EXPECT_FALSE(best.EpochEnded(2, 4.95)) << "not by more than min_delta";
  EXPECT_FALSE(best.OutOfPatience());
  EXPECT_TRUE(best.EpochEnded(3, 4.0));
  EXPECT_FALSE(best.EpochEnded(4, std::nan("")));
  EXPECT_FALSE(best.OutOfPatience());
  EXPECT_FALSE(best.EpochEnded(5, 4.0));
  EXPECT_TRUE(best.OutOfPatience());
  EXPECT_EQ(best.state().epoch, 3);
  BestScore again(options, {});
  again.Restore(best.state());
  EXPECT_TRUE(again.OutOfPatience());
}

TEST(BestScore, AMonitorThatTheScoresDoNotHaveIsRefused) {
  TrainOptions options;
  EXPECT_TRUE(BestScore::Check(options, {}).ok());
  options.monitor = Monitor::ValLoss;
  EXPECT_FALSE(BestScore::Check(options, {}).ok());
  EXPECT_TRUE(BestScore::Check(options, {.valid = true}).ok());
  options.monitor = Monitor::Accuracy;
  EXPECT_FALSE(BestScore::Check(options, {.valid = true}).ok());
  options.monitor = Monitor::ValLabelErrorRate;
  EXPECT_FALSE(BestScore::Check(options, {.valid = true, .classes = true}).ok());
  EXPECT_TRUE(BestScore::Check(options, {.valid = true, .labels = true}).ok());
}

}  // namespace
}  // namespace plimsoll
