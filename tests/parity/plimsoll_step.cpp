// plimsoll_step JOB.toml MODELDIR OUT.safetensors STEPS
//   Runs STEPS updates on the job's data in file order, from MODELDIR's weights, and writes what the parity tests compare with
//   Keras and PyTorch: loss [STEPS] (each before its update), outputs of the first batch before any update (sample after
//   sample), grad.NAME of the first batch where the layer learns, weights.NAME after the last update.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "formats/safetensors.h"
#include "model/weights.h"
#include "plimsoll/options.h"
#include "train/update.h"

namespace plimsoll {
namespace {

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// Of all row groups; two that run side by side call it from two threads.
class Outputs final : public OutputSink {
 public:
  explicit Outputs(const Spec& spec) : spec_(spec), rows_(spec.outputs.size()) {}
  void Rows(size_t output, const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) override {
    const std::lock_guard<std::mutex> one_group(mutex_);
    for (int64_t item = first; item < first + count; ++item) {
      const auto [row, step] = spec_.outputs[output].per_step_outputs() ? group.PlaceOf(item) : RowGroup::Place{item, 0};
      const float* values = outputs + (item - first) * stride;
      rows_[output].push_back({group.samples[row], step, {values, values + spec_.outputs[output].width}});
    }
  }
  // "outputs", or of several each under its name: "outputs.tags".
  std::vector<Tensor> Sorted() {
    std::vector<Tensor> tensors;
    for (size_t output = 0; output < rows_.size(); ++output) {
      std::vector<Row>& rows = rows_[output];
      std::sort(rows.begin(), rows.end(),
                [](const Row& a, const Row& b) { return std::pair(a.sample, a.step) < std::pair(b.sample, b.step); });
      const ModelOutput& given = spec_.outputs[output];
      const std::string& name = spec_.nodes[static_cast<size_t>(given.node)].name;
      Tensor& tensor = tensors.emplace_back(
          Tensor{rows_.size() == 1 ? "outputs" : "outputs." + name, {static_cast<int64_t>(rows.size()), given.width}, {}});
      for (const Row& row : rows) tensor.values.insert(tensor.values.end(), row.values.begin(), row.values.end());
    }
    return tensors;
  }

 private:
  struct Row {
    int64_t sample, step;
    std::vector<float> values;
  };
  const Spec& spec_;
  std::mutex mutex_;
  std::vector<std::vector<Row>> rows_;  // of each output
};

void Collect(std::vector<Tensor>& tensors, const std::string& prefix, const Setup& setup, const Engine& engine, int key) {
  for (const WeightPlace& place : WeightPlaces(*setup.network)) {
    if (key == kGradient && !place.learns) continue;
    Tensor& tensor = tensors.emplace_back(Tensor{prefix + place.name, place.shape(), {}});
    tensor.values.resize(static_cast<size_t>(place.elements()));
    GatherWeights(tensor.values.data(), engine.memory.layer(place.layer).F32(key), place.tensor, 0, place.elements());
  }
}

Status Main(const std::string& job_file, const std::string& model, const std::string& out, int64_t steps) {
  Result<Job> job = ReadJob(job_file, {});
  if (!job.ok()) return job.status();
  job->init_from = model;
  Result<std::unique_ptr<Setup>> setup = SetUp(job.value(), {});
  if (!setup.ok()) return setup.status();
  Result<std::unique_ptr<Engine>> opened = Open(**setup);
  if (!opened.ok()) return opened.status();
  FlushDenormals flush;
  Engine& engine = **opened;
  Update update(**setup, engine);
  PLIMSOLL_RETURN_IF_ERROR(update.Start());

  std::vector<Tensor> tensors{{"loss", {steps}, {}}};
  Outputs outputs((*setup)->network->spec());
  const int64_t count = (*setup)->samples->count(), batch_size = std::min(job->train.batch_size, count);
  std::vector<int64_t> numbers;
  int64_t next = 0;
  for (int64_t step = 0, step_in_epoch = 1; step < steps; ++step, ++step_in_epoch) {
    numbers.clear();
    if (next == 0) step_in_epoch = 1;
    for (; next < count && static_cast<int64_t>(numbers.size()) < batch_size; ++next) numbers.push_back(next);
    if (next == count) next = 0;
    StepSums sums;
    OutputSink* const sink = step == 0 ? &outputs : nullptr;
    engine.step.SetOutputSink(sink);
    if (engine.beside != nullptr) engine.beside->step.SetOutputSink(sink);
    PLIMSOLL_RETURN_IF_ERROR(update.Gradients(numbers.data(), static_cast<int64_t>(numbers.size()), sums, step_in_epoch));
    tensors[0].values.push_back(static_cast<float>(sums.MeanLoss((*setup)->network->spec())));
    if (step == 0) {
      for (Tensor& tensor : outputs.Sorted()) tensors.push_back(std::move(tensor));
      Collect(tensors, "grad.", **setup, engine, kGradient);
    }
    PLIMSOLL_RETURN_IF_ERROR(update.Apply());
  }
  Collect(tensors, "weights.", **setup, engine, kWeights);

  std::vector<SafetensorsTensor> headers;
  for (const Tensor& tensor : tensors) headers.push_back({tensor.name, tensor.shape});
  std::vector<std::byte> buffer(65536);
  return WriteSafetensors(out, headers, {}, buffer, [&](size_t tensor, int64_t first, int64_t n, float* to) {
    std::copy_n(tensors[tensor].values.begin() + first, n, to);
  });
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: plimsoll_step JOB.toml MODELDIR OUT.safetensors STEPS\n");
    return 2;
  }
  const plimsoll::Status status = plimsoll::Main(argv[1], argv[2], argv[3], std::atoll(argv[4]));
  if (!status.ok()) fmt::print(stderr, "plimsoll_step: {}\n  {}\n", status.message(), status.hint());
  return status.exit_code();
}
