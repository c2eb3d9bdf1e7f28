// Layers, losses and metrics of a program's own, judged as the library's are.
#include "plimsoll/custom.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plimsoll/trainer.h"
#include "train/train_test_files.h"

namespace plimsoll {
namespace {

// y = x sigmoid(w x) with a learned w for each unit; `mistake` is its share of the slope.
class Swish : public CustomLayerOf<Swish> {
 public:
  explicit Swish(double mistake = 0.0) : mistake_(mistake) {}
  int64_t Width(int64_t inputs) const override { return inputs; }
  std::vector<CustomTensor> Weights(int64_t inputs) const override { return {{"slope", {inputs}, Initializer::Ones}}; }

  template <typename T>
  void Compute(const CustomForward<T>& at) const {
    for (int64_t row = 0; row < at.rows; ++row) {
      for (int64_t u = 0; u < at.width; ++u) at.y_row(row)[u] = at.x_row(row)[u] * Gate(at, row, u);
    }
  }
  template <typename T>
  void Differentiate(const CustomBackward<T>& at) const {
    const CustomForward<T>& forward = at.forward;
    for (int64_t row = 0; row < forward.rows; ++row) {
      for (int64_t u = 0; u < forward.width; ++u) {
        const T x = forward.x_row(row)[u], gate = Gate(forward, row, u), d = at.d_y_row(row)[u];
        const T inner = d * x * gate * (T(1) - gate) * static_cast<T>(1.0 + mistake_);
        if (at.d_x != nullptr) at.d_x_row(row)[u] = d * gate + inner * forward.weights[0][u];
        if (!at.d_weights.empty()) at.d_weights[0][u] += inner * x;
      }
    }
  }

 private:
  template <typename T>
  static T Gate(const CustomForward<T>& at, int64_t row, int64_t u) {
    return T(1) / (T(1) + std::exp(-at.weights[0][u] * at.x_row(row)[u]));
  }
  double mistake_;
};

// A matrix: rows become narrower or wider.
class Mix : public CustomLayerOf<Mix> {
 public:
  explicit Mix(int64_t width) : width_(width) {}
  int64_t Width(int64_t) const override { return width_; }
  std::vector<CustomTensor> Weights(int64_t inputs) const override {
    return {{"matrix", {width_, inputs}, Initializer::GlorotUniform}, {"shift", {width_}, Initializer::Zeros}};
  }
  template <typename T>
  void Compute(const CustomForward<T>& at) const {
    for (int64_t row = 0; row < at.rows; ++row) {
      for (int64_t u = 0; u < at.width; ++u) {
        T sum = at.weights[1][u];
        for (int64_t i = 0; i < at.inputs; ++i) sum += at.weights[0][u * at.inputs + i] * at.x_row(row)[i];
        at.y_row(row)[u] = sum;
      }
    }
  }
  template <typename T>
  void Differentiate(const CustomBackward<T>& at) const {
    const CustomForward<T>& forward = at.forward;
    for (int64_t row = 0; row < forward.rows; ++row) {
      for (int64_t i = 0; i < forward.inputs && at.d_x != nullptr; ++i) at.d_x_row(row)[i] = T(0);
      for (int64_t u = 0; u < forward.width; ++u) {
        const T d = at.d_y_row(row)[u];
        if (!at.d_weights.empty()) at.d_weights[1][u] += d;
        for (int64_t i = 0; i < forward.inputs; ++i) {
          if (!at.d_weights.empty()) at.d_weights[0][u * forward.inputs + i] += d * forward.x_row(row)[i];
          if (at.d_x != nullptr) at.d_x_row(row)[i] += d * forward.weights[0][u * forward.inputs + i];
        }
      }
    }
  }

 private:
  int64_t width_;
};

class LogCosh : public CustomLossOf<LogCosh> {
 public:
  explicit LogCosh(double mistake = 0.0) : mistake_(mistake) {}
  template <typename T>
  T Item(const T* y, const T* target, int64_t width, T* d_y) const {
    T sum = 0;
    for (int64_t u = 0; u < width; ++u) {
      const T difference = y[u] - target[u];
      sum += std::log(std::cosh(difference));
      d_y[u] = std::tanh(difference) + static_cast<T>(mistake_);
    }
    return sum;
  }

 private:
  double mistake_;
};

// The largest absolute error.
class WorstError final : public CustomMetric {
 public:
  void Start() override { worst_ = 0.0, items_ = 0; }
  void Item(std::span<const float> y, int32_t, std::span<const float> wanted) override {
    ++items_;
    for (size_t u = 0; u < y.size(); ++u) worst_ = std::max(worst_, std::abs(static_cast<double>(y[u] - wanted[u])));
  }
  double Value() const override { return worst_; }
  int64_t items() const { return items_; }

 private:
  double worst_ = 0.0;
  int64_t items_ = 0;
};

Job JobWith(std::vector<LayerOptions> layers, const std::string& data = "generate:sine?steps=40&samples=70&min_steps=2") {
  Job job;
  job.task = Task::Regress;
  job.data.train = data;
  job.layers = std::move(layers);
  job.train.batch_size = 33;
  job.train.threads = 2;
  job.memory.budget = "1GB";
  return job;
}
LayerOptions Own(std::shared_ptr<const CustomLayer> layer, std::string function = "own") {
  return {"", CustomOptions{.function = std::move(function), .layer = std::move(layer)}};
}

// The tensors that Verify refuses.
std::vector<std::string> Refused(const Job& job) {
  Result<VerifyReport> report = Verify(job);
  if (!report.ok()) return {report.status().message()};
  std::vector<std::string> refused;
  if (!report->same_bits) refused.emplace_back("bits");
  for (const TensorDifference& tensor : report->tensors) {
    if (!tensor.ok) refused.push_back(tensor.tensor);
  }
  return refused;
}
using Names = std::vector<std::string>;

TEST(Custom, LayersInBodyAndHeadAreVerified) {
  for (const bool frozen : {false, true}) {
    Job job = JobWith({Own(std::make_shared<Mix>(5)),
                       {"", LSTMOptions{.units = 9}},
                       Own(std::make_shared<Swish>()),
                       {"", GRUOptions{.units = 7}},
                       Own(std::make_shared<Mix>(19)),
                       Own(std::make_shared<Swish>()),
                       {"", DenseOptions{}}});
    if (frozen) job.layers[2].trainable = job.layers[4].trainable = false;
    EXPECT_EQ(Refused(job), Names{}) << "frozen " << frozen;
    job.data.train = "generate:adding?steps=40&samples=70&min_steps=2";
    EXPECT_EQ(Refused(job), Names{}) << "pooled, frozen " << frozen;
  }
}

// A second thread would come to the program's own code, were two row groups run side by side as those of the same size are.
TEST(Custom, PartsAreCalledByOneThreadAtATime) {
  const auto abreast = [](const Job& job) {
    Result<std::unique_ptr<plimsoll::Setup>> setup = plimsoll::SetUp(job, {});
    if (!setup.ok()) throw std::runtime_error(setup.status().message());
    return (*setup)->plan.groups_abreast;
  };
  Job job = JobWith({{"", LSTMOptions{.units = 9}}, {"", DenseOptions{}}});
  EXPECT_EQ(abreast(job), 2);
  EXPECT_EQ(abreast(JobWith({{"", LSTMOptions{.units = 9}}, Own(std::make_shared<Swish>()), {"", DenseOptions{}}})), 1);
  job.train.loss = Loss::Custom;
  job.train.custom_loss = std::make_shared<LogCosh>(0.0);
  EXPECT_EQ(abreast(job), 1);
}

TEST(Custom, AWrongSlopeIsFoundByDifferences) {
  const Names refused =
      Refused(JobWith({{"", LSTMOptions{.units = 9}}, Own(std::make_shared<Swish>(0.01)), {"", DenseOptions{}}}));
  EXPECT_EQ(std::count(refused.begin(), refused.end(), "differences of custom.slope"), 1);
  EXPECT_EQ(std::count(refused.begin(), refused.end(), "gradient of custom.slope"), 0) << "the engine does as it is told";
}

TEST(Custom, ALossIsVerifiedAndAWrongOneRefused) {
  for (const double mistake : {0.0, 0.01}) {
    Job job = JobWith({{"", LSTMOptions{.units = 9}}, {"", DenseOptions{}}});
    job.train.loss = Loss::Custom;
    job.train.custom_loss = std::make_shared<LogCosh>(mistake);
    EXPECT_EQ(Refused(job).empty(), mistake == 0.0);
  }
}

TEST(Custom, AMetricSeesEveryScoredItem) {
  const auto metric = std::make_shared<WorstError>();
  Job job = JobWith({{"", LSTMOptions{.units = 9}}, {"", DenseOptions{}}}, "generate:adding?steps=20&samples=100&min_steps=2");
  job.data.valid_share = 0.3;
  job.train.custom_metric = metric;
  Result<RunResult> run = Train(job, {});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(metric->items(), run->last.items);
  EXPECT_EQ(run->last.metric, metric->Value());
  EXPECT_GE(run->last.metric * run->last.metric, run->last.loss) << "no mean is above the largest";
  EXPECT_GT(run->last.metric, 0.0);
}

TEST(Custom, ASavedModelNeedsTheProgramsLayer) {
  Folder folder;
  const auto swish = std::make_shared<Swish>();
  Job job = JobWith({{"", LSTMOptions{.units = 9}}, Own(swish, "swish"), {"", DenseOptions{}}});
  Result<RunResult> run = Train(job, {.out = folder / "run"});
  ASSERT_TRUE(run.ok()) << run.status().message();
  const Result<EvaluateResult> without = Evaluate({.model = folder / "run", .memory = "1GB"});
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.status().message().find("\"swish\""), std::string::npos) << without.status().message();
  Result<EvaluateResult> with =
      Evaluate({.model = folder / "run", .memory = "1GB", .custom_layers = {{.function = "swish", .layer = swish}}});
  ASSERT_TRUE(with.ok()) << with.status().message();
  EXPECT_NEAR(with->score.loss, run->last.loss, 1e-5 + 0.2 * run->last.loss);
}

TEST(Custom, PartsThatAreNotThereAreRefused) {
  const auto refused = [](const Job& job) {
    const Result<Plan> plan = MakePlan(job);
    return plan.ok() ? std::string() : plan.status().message();
  };
  Job job = JobWith({{"", LSTMOptions{.units = 9}}, Own(nullptr, "swish"), {"", DenseOptions{}}});
  EXPECT_NE(refused(job).find("no layer \"swish\""), std::string::npos);
  job.layers.erase(job.layers.begin() + 1);
  job.train.loss = Loss::Custom;
  EXPECT_NE(refused(job).find("brings no loss"), std::string::npos);
  job.train.loss = Loss::Auto;
  job.train.custom_loss = std::make_shared<LogCosh>();
  EXPECT_NE(refused(job).find("another one"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
