// custom_layer: a layer, a loss and a metric of one's own. The layer is y = x sigmoid(w x) with a learned w for each unit; the
//   mathematics is written once and runs in float inside the plan and in double for Verify.
//   Expect: Verify agrees, with central differences too; the worst error falls.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "plimsoll/plimsoll.h"

namespace {

class Swish : public plimsoll::CustomLayerOf<Swish> {
 public:
  int64_t Width(int64_t inputs) const override { return inputs; }
  std::vector<plimsoll::CustomTensor> Weights(int64_t inputs) const override {
    return {{"slope", {inputs}, plimsoll::Initializer::Ones}};
  }
  template <typename T>
  void Compute(const plimsoll::CustomForward<T>& at) const {
    for (int64_t row = 0; row < at.rows; ++row)
      for (int64_t u = 0; u < at.width; ++u) at.y_row(row)[u] = at.x_row(row)[u] * Gate(at, row, u);
  }
  template <typename T>
  void Differentiate(const plimsoll::CustomBackward<T>& at) const {
    for (int64_t row = 0; row < at.forward.rows; ++row) {
      for (int64_t u = 0; u < at.forward.width; ++u) {
        const T x = at.forward.x_row(row)[u], gate = Gate(at.forward, row, u), d = at.d_y_row(row)[u];
        const T inner = d * x * gate * (T(1) - gate);
        if (at.d_x != nullptr) at.d_x_row(row)[u] = d * gate + inner * at.forward.weights[0][u];
        if (!at.d_weights.empty()) at.d_weights[0][u] += inner * x;
      }
    }
  }

 private:
  template <typename T>
  static T Gate(const plimsoll::CustomForward<T>& at, int64_t row, int64_t u) {
    return T(1) / (T(1) + std::exp(-at.weights[0][u] * at.x_row(row)[u]));
  }
};

class WorstError : public plimsoll::CustomMetric {
 public:
  void Start() override { worst_ = 0.0F; }
  void Item(std::span<const float> y, int32_t, std::span<const float> wanted) override {
    for (size_t u = 0; u < y.size(); ++u) worst_ = std::max(worst_, std::abs(y[u] - wanted[u]));
  }
  double Value() const override { return worst_; }

 private:
  float worst_ = 0.0F;
};

}  // namespace

int main() {
  plimsoll::Job job;
  job.task = plimsoll::Task::Regress;
  job.data.train = "generate:sine?steps=60&samples=1024";
  job.data.valid_share = 0.1;
  job.layers = {{"", plimsoll::LSTMOptions{.units = 24}},
                {"", plimsoll::CustomOptions{.function = "swish", .layer = std::make_shared<Swish>()}},
                {"", plimsoll::DenseOptions{}}};
  job.train.epochs = 4;
  job.train.learning_rate = 0.01;
  job.train.custom_metric = std::make_shared<WorstError>();
  job.memory.budget = "64MB";

  const plimsoll::Result<plimsoll::VerifyReport> report = plimsoll::Verify(job);
  std::printf("verify %s\n", report.ok() && report.value().ok ? "ok" : "failed");
  const plimsoll::Result<plimsoll::RunResult> run = plimsoll::Train(job, {});
  if (!run.ok()) return std::fprintf(stderr, "%s\n", run.status().message().c_str()), run.status().exit_code();
  std::printf("worst error before %.3f\nworst error after %.3f\n", run.value().first.metric, run.value().last.metric);
  return 0;
}
