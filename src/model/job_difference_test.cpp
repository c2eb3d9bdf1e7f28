#include "model/job_difference.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

Job SmallJob() {
  Job job;
  job.data.train = "/data/x.npz";
  job.layers = {{"first", LSTMOptions{.units = 8}}, {"out", DenseOptions{.units = 2}}};
  return job;
}

TEST(JobDifference, AJobReadBackFromItsTextIsTheSame) {
  Job job = SmallJob();
  job.train.restore_best = true;
  job.train.monitor = Monitor::ValAccuracy;
  job.train.save_every = "500";
  const Result<Job> again = JobFromText(JobAsToml(job), "snapshot");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(DifferencesOf(job, again.value()).empty());
  EXPECT_EQ(again.value().train.save_every, "500");
}

TEST(JobDifference, EveryKeyThatDiffersIsNamedWithBothValues) {
  const Job was = SmallJob();
  Job is = was;
  is.train.epochs = 7;
  is.train.patience = 3;
  std::get<LSTMOptions>(is.layers[0].kind).units = 16;
  const std::vector<JobDifference> differences = DifferencesOf(was, is);
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].key, "train.epochs");
  EXPECT_EQ(differences[0].was, "1");
  EXPECT_EQ(differences[0].is, "7");
  EXPECT_EQ(differences[1].key, "train.patience");
  EXPECT_EQ(differences[2].key, "model.layers[0].units");
}

TEST(JobDifference, LayersOfOtherTypesAreOneDifference) {
  const Job was = SmallJob();
  Job is = was;
  is.layers[0].kind = GRUOptions{.units = 8};
  is.outputs = {{.layer = "out"}};
  const std::vector<JobDifference> differences = DifferencesOf(was, is);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].key, "model.layers");
  EXPECT_EQ(differences[0].is, "[GRU, Dense]");
  EXPECT_EQ(differences[1].key, "outputs");
}

}  // namespace
}  // namespace plimsoll
