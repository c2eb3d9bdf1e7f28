// classifier: one class for a whole sequence. Is the number of ones among up to 16 bits odd?
//   The data come from a built-in generator; a path to a .npz file would stand in the same place (docs/formats.md).
//   Expect: an accuracy near 0.5 before and above 0.95 after, and the same again from the folder parity_run/model.
#include <cstdio>

#include "plimsoll/plimsoll.h"

namespace {

int Fail(const plimsoll::Status& status) {
  std::fprintf(stderr, "%s\n%s\n", status.message().c_str(), status.hint().c_str());
  return status.exit_code();
}

}  // namespace

int main() {
  plimsoll::Job job;
  job.task = plimsoll::Task::Classify;
  job.data.train = "generate:parity?steps=16&min_steps=1&samples=4000&per_step=false";
  job.data.valid_share = 0.1;
  job.layers = {{"", plimsoll::EmbeddingOptions{.output_dim = 4}},
                {"", plimsoll::LSTMOptions{.units = 16}},
                {"", plimsoll::DenseOptions{}}};  // as wide as there are classes
  job.train.epochs = 10;
  job.train.learning_rate = 0.03;
  job.train.clip_norm = 1.0;
  job.memory.budget = "64MB";  // for the whole process

  const plimsoll::Result<plimsoll::RunResult> run = plimsoll::Train(job, {.out = "parity_run"});
  if (!run.ok()) return Fail(run.status());
  std::printf("planned %s of %s\n", plimsoll::PrettyBytes(run.value().plan.peak_bytes).c_str(), job.memory.budget.c_str());
  std::printf("accuracy before %.3f\n", run.value().first.accuracy);
  std::printf("accuracy after %.3f\n", run.value().last.accuracy);

  plimsoll::EvaluateRequest request;
  request.model = run.value().model_folder;
  const plimsoll::Result<plimsoll::EvaluateResult> again = plimsoll::Evaluate(request);
  if (!again.ok()) return Fail(again.status());
  std::printf("accuracy again %.3f on %lld samples\n", again.value().score.accuracy,
              static_cast<long long>(again.value().samples));
  return 0;
}
