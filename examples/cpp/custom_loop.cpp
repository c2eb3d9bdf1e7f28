// custom_loop: a training loop of one's own: it looks at the gradient of each batch, and halves the learning rate where the
//   validation loss did not fall.
//   Expect: a line for each of eight epochs, with a validation loss that falls below 0.05, and a model in the folder
//   sine_model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "plimsoll/plimsoll.h"

namespace {

int Fail(const plimsoll::Status& status) {
  std::fprintf(stderr, "%s\n%s\n", status.message().c_str(), status.hint().c_str());
  return status.exit_code();
}

}  // namespace

int main() {
  plimsoll::Job job;
  job.task = plimsoll::Task::Regress;
  job.data.train = "generate:sine?steps=60&samples=1024";
  job.data.valid_share = 0.1;
  job.layers = {{"", plimsoll::LSTMOptions{.units = 32}}, {"", plimsoll::DenseOptions{}}};
  job.train.epochs = 8;
  job.train.learning_rate = 0.02;
  job.memory.budget = "64MB";

  plimsoll::Result<std::unique_ptr<plimsoll::Session>> opened = plimsoll::Session::Open(job);
  if (!opened.ok()) return Fail(opened.status());
  plimsoll::Session& session = **opened;
  int64_t largest = 0;
  for (const plimsoll::TensorInfo& tensor : session.tensors()) largest = std::max(largest, tensor.elements);
  std::vector<float> gradient(static_cast<size_t>(largest));

  double factor = 1.0, best = HUGE_VAL, steepest = 0.0;
  while (session.NextBatch()) {
    const plimsoll::Result<plimsoll::Score> batch = session.Gradients();
    if (!batch.ok()) return Fail(batch.status());
    double squares = 0.0;
    for (const plimsoll::TensorInfo& tensor : session.tensors()) {
      const std::span<float> values(gradient.data(), static_cast<size_t>(tensor.elements));
      if (const plimsoll::Status read = session.ReadGradient(tensor.name, values); !read.ok()) return Fail(read);
      for (const float value : values) squares += static_cast<double>(value) * value;
    }
    steepest = std::max(steepest, std::sqrt(squares));
    if (const plimsoll::Status applied = session.Apply(factor); !applied.ok()) return Fail(applied);
    if (session.step_in_epoch() < session.steps_per_epoch()) continue;

    const plimsoll::Result<plimsoll::Score> valid = session.Evaluate();
    if (!valid.ok()) return Fail(valid.status());
    std::printf("epoch %lld: validation %.4f, rate %.4g, largest gradient norm %.3f\n", static_cast<long long>(session.epoch()),
                valid.value().loss, factor * session.learning_rate(), steepest);
    if (valid.value().loss >= best) factor *= 0.5;
    best = std::min(best, valid.value().loss);
    steepest = 0.0;
  }
  if (const plimsoll::Status saved = session.Save("sine_model"); !saved.ok()) return Fail(saved);
  std::printf("best validation %.4f after %lld updates\n", best, static_cast<long long>(session.updates()));
  return 0;
}
