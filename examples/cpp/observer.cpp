// observer: code of one's own that hears what a run tells: the plan, every update, every epoch.
//   Expect: a line with the plan, one for each of four epochs, and the number of updates counted, 4 x 30.
#include <algorithm>
#include <cstdio>

#include "plimsoll/plimsoll.h"

namespace {

// Allocates nothing in Step and Epoch, so that the memory of the run stays flat.
class Diary final : public plimsoll::Observer {
 public:
  void Planned(const plimsoll::Plan& plan) override {
    std::printf("planned %lld bytes of %lld, every block runs forward %.1f times\n", static_cast<long long>(plan.peak_bytes),
                static_cast<long long>(plan.budget_bytes), plan.recompute_factor);
  }
  void Step(const plimsoll::StepReport& report) override {
    ++updates_;
    slowest_ms_ = std::max(slowest_ms_, report.step_ms);
  }
  void Epoch(const plimsoll::EpochReport& report) override {
    if (best_epoch_ == 0 || report.valid.loss < best_loss_) {
      best_epoch_ = report.epoch;
      best_loss_ = report.valid.loss;
    }
    std::printf("epoch %lld: loss %.4f, validation %.4f, best %.4f\n", static_cast<long long>(report.epoch), report.train.loss,
                report.valid.loss, best_loss_);
  }
  void Finish() const { std::printf("heard of %d updates, the slowest took %.1f ms\n", updates_, slowest_ms_); }

 private:
  int updates_ = 0;
  double slowest_ms_ = 0.0;
  int64_t best_epoch_ = 0;
  double best_loss_ = 0.0;
};

}  // namespace

int main() {
  plimsoll::Job job;
  job.task = plimsoll::Task::Regress;
  job.data.train = "generate:sine?steps=60&samples=1024";
  job.data.valid_share = 0.1;
  job.layers = {{"", plimsoll::LSTMOptions{.units = 32}}, {"", plimsoll::DenseOptions{}}};
  job.train.epochs = 4;
  job.train.learning_rate = 0.01;
  job.memory.budget = "64MB";

  Diary diary;
  plimsoll::RunOptions options;
  options.observer = &diary;
  const plimsoll::Result<plimsoll::RunResult> run = plimsoll::Train(job, options);
  if (!run.ok()) {
    std::fprintf(stderr, "%s\n%s\n", run.status().message().c_str(), run.status().hint().c_str());
    return run.status().exit_code();
  }
  diary.Finish();
  return 0;
}
