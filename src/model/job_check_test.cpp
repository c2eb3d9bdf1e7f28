#include "model/job_check.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll {
namespace {

Job GoodJob() {
  Job job;
  job.data.train = "x.npy";
  job.layers = {{"", EmbeddingOptions{}},
                {"", LSTMOptions{}},
                {"", GRUOptions{}},
                {"mine", SimpleRNNOptions{}},
                {"", LayerNormalizationOptions{}},
                {"", ActivationOptions{}},
                {"", DropoutOptions{}},
                {"", PoolingOptions{}},
                {"", DenseOptions{}}};
  return job;
}

TEST(CheckJob, DefaultsAndOrdinaryJobsPass) {
  EXPECT_TRUE(CheckJob({}).ok());
  const Status good = CheckJob(GoodJob());
  EXPECT_TRUE(good.ok()) << good.message();
}

TEST(CheckJob, AValueOutOfRangeIsRefusedWithItsKey) {
  const auto refused = [](const char* part, const auto& spoil) {
    Job job = GoodJob();
    spoil(job);
    const Status status = CheckJob(job);
    EXPECT_EQ(status.kind(), StatusKind::Usage) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused("train.batch_size: wanted a whole number from 1", [](Job& job) { job.train.batch_size = 0; });
  refused("train.epochs", [](Job& job) { job.train.epochs = -1; });
  refused("train.learning_rate", [](Job& job) { job.train.learning_rate = std::numeric_limits<double>::quiet_NaN(); });
  refused("train.threads", [](Job& job) { job.train.threads = 1000; });
  refused("data.valid", [](Job& job) { job.data.valid_share = 1.0; });
  refused("memory.budget", [](Job& job) { job.memory.budget = "12 apples"; });
  refused("model.layers[1].units", [](Job& job) { std::get<LSTMOptions>(job.layers[1].kind).units = 0; });
  refused("model.layers[6].rate", [](Job& job) { std::get<DropoutOptions>(job.layers[6].kind).rate = 1.0; });
}

}  // namespace
}  // namespace plimsoll
