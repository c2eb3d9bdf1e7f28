// plimsoll_bench PROBLEM --threads N --worker
//   Runs training steps of a problem string for bench/compare and bench/budget, whose heads describe the protocol. A step is
//   everything an update does: the batch packed into its row groups, forward, loss, backward, Adam, packing of the changed
//   weights.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "base/machine.h"
#include "base/random.h"
#include "infer/scorer.h"
#include "kernels/product_speed.h"
#include "train/update.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kClasses = 10;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Problem {
  std::string cell;
  int64_t steps = 0, rows = 0, inputs = 0, units = 0, layers = 1, words = 0, projected = 0;
  std::string budget = "auto";
};

Result<Problem> ParseProblem(const std::string& text) {
  std::istringstream words(text);
  std::string cell;
  words >> cell;
  if (cell != "lstm" && cell != "gru" && cell != "rnn") return Status::Usage("'" + cell + "': the cell is lstm, gru or rnn");
  Problem problem;
  problem.cell = cell;
  for (std::string word; words >> word;) {
    if (word[0] == 'm') {
      problem.budget = word.substr(1);
      continue;
    }
    const int64_t value = std::atoll(word.c_str() + 1);
    int64_t* field = word[0] == 't'   ? &problem.steps
                     : word[0] == 'b' ? &problem.rows
                     : word[0] == 'd' ? &problem.inputs
                     : word[0] == 'h' ? &problem.units
                     : word[0] == 'l' ? &problem.layers
                     : word[0] == 'v' ? &problem.words
                     : word[0] == 'p' ? &problem.projected
                                      : nullptr;
    if (field == nullptr || value <= 0) return Status::Usage("'" + word + "' in '" + text + "' is not understood");
    *field = value;
  }
  if (problem.steps == 0 || problem.rows == 0 || problem.inputs == 0 || problem.units == 0) {
    return Status::Usage("'" + text + "': wanted tSTEPS bROWS dINPUTS hUNITS");
  }
  if (problem.projected > 0 && cell != "lstm") return Status::Usage("'" + text + "': pSIZE goes with lstm");
  return problem;
}

// One batch in memory: random features and a class a sequence, or random ids and the next id at every position.
class RandomSamples final : public Samples {
 public:
  explicit RandomSamples(const Problem& problem) : problem_(problem) {
    const bool ids = problem.words > 0;
    shape_ = {.ids = ids,
              .width = ids ? 1 : problem.inputs,
              .target_per_step = ids,
              .target_classes = true,
              .target_width = 1,
              .vocabulary = problem.words,
              .classes = ids ? problem.words : kClasses};
    RandomSequence random(SeedFor(1, RandomUse::Data), 0);
    const int64_t row_steps = problem.rows * problem.steps;
    if (ids) {
      for (int64_t i = 0; i < row_steps; ++i)
        ids_.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(problem.words))));
    } else {
      for (int64_t i = 0; i < row_steps * problem.inputs; ++i) features_.push_back(2.0f * random.Unit() - 1.0f);
    }
    for (int64_t i = 0; i < problem.rows; ++i) classes_.push_back(static_cast<int32_t>(random.Below(kClasses)));
  }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return problem_.rows; }
  int64_t length(int64_t) const override { return problem_.steps; }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    const int64_t at = sample * problem_.steps + first;
    if (shape_.ids) {
      std::copy_n(ids_.begin() + at, steps, static_cast<int32_t*>(out));
    } else {
      std::copy_n(features_.begin() + at * problem_.inputs, steps * problem_.inputs, static_cast<float*>(out));
    }
    return Status::Ok();
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    auto* classes = static_cast<int32_t*>(out);
    if (!shape_.target_per_step) {
      *classes = classes_[static_cast<size_t>(sample)];
      return Status::Ok();
    }
    for (int64_t t = 0; t < steps; ++t) {
      classes[t] = ids_[static_cast<size_t>((sample * problem_.steps + first + t + 1) % static_cast<int64_t>(ids_.size()))];
    }
    return Status::Ok();
  }

 private:
  Problem problem_;
  SampleShape shape_;
  std::vector<int32_t> ids_;
  std::vector<float> features_;
  std::vector<int32_t> classes_;
};

Job JobOf(const Problem& problem, int threads) {
  Job job;
  job.data.train = "bench";
  if (problem.words > 0) job.layers.push_back({"", EmbeddingOptions{.input_dim = problem.words, .output_dim = problem.inputs}});
  for (int64_t layer = 0; layer < problem.layers; ++layer) {
    LayerKind kind = LSTMOptions{.units = problem.units, .proj_size = problem.projected};
    if (problem.cell == "gru") kind = GRUOptions{.units = problem.units};
    if (problem.cell == "rnn") kind = SimpleRNNOptions{.units = problem.units};
    job.layers.push_back({"", kind});
  }
  job.layers.push_back(
      {"", DenseOptions{.units = problem.words > 0 ? problem.words : kClasses, .activation = Activation::Linear}});
  job.train.batch_size = problem.rows;
  job.train.threads = threads;
  job.memory.budget = problem.budget;
  return job;
}

Status Work(const std::string& text, int threads) {
  FlushDenormals flush;
  const Result<Problem> problem = ParseProblem(text);
  if (!problem.ok()) return problem.status();
  Result<std::unique_ptr<Setup>> setup =
      SetUpWith(JobOf(problem.value(), threads), std::make_unique<RandomSamples>(problem.value()), nullptr, {});
  if (!setup.ok()) return setup.status();
  Result<std::unique_ptr<Engine>> engine = Open(**setup);
  if (!engine.ok()) return engine.status();
  Update update(**setup, **engine);
  PLIMSOLL_RETURN_IF_ERROR(update.Start());
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < problem.value().rows; ++i) numbers.push_back(i);
  const auto step = [&]() -> Status {
    StepSums sums;
    PLIMSOLL_RETURN_IF_ERROR(update.Gradients(numbers.data(), problem.value().rows, sums));
    return update.Apply();
  };
  const auto forward = [&]() -> Status {
    const Result<Score> score = ScoreSamples(**setup, **engine, ScoredPart::Training, problem.value().rows);
    return score.ok() ? Status::Ok() : score.status();
  };
  PLIMSOLL_RETURN_IF_ERROR(step());
  ProductSpeed limit(*(*setup)->pool);
  fmt::print("ready\n");
  std::fflush(stdout);

  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order;
    words >> order;
    if (order == "quit") break;
    if (order == "go" || order == "forward") {
      int64_t count = 0;
      words >> count;
      fmt::print("ms");
      for (int64_t i = 0; i < count; ++i) {
        const Clock::time_point start = Clock::now();
        PLIMSOLL_RETURN_IF_ERROR(order == "go" ? step() : forward());
        fmt::print(" {:.4f}", MillisecondsSince(start));
      }
      fmt::print("\n");
    } else if (order == "plan") {
      int64_t tape = 0;
      for (const PlannedBuffer& buffer : (*setup)->plan.buffers) tape += buffer.life == Life::Tape ? buffer.bytes : 0;
      const Plan& plan = (*setup)->plan;
      fmt::print("plan {} {} {} {:.6f} {:.6f}\n", plan.peak_bytes, plan.full_speed_bytes, tape, plan.recompute_factor,
                 plan.seconds_per_epoch);
    } else if (order == "limit") {
      const ProductSpeed::Rate rate = limit.Measure(15);
      fmt::print("gflops {:.2f} {:.2f}\n", rate.median / 1e9, rate.best / 1e9);
    } else if (order == "memory") {
      fmt::print("peak {}\n", PeakResidentBytes());
    } else {
      return Status::Usage("'" + line + "' is no order; wanted go N, forward N, plan, limit, memory or quit");
    }
    std::fflush(stdout);
  }
  return Status::Ok();
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  int threads = 0;
  bool worker = false;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc) threads = std::atoi(argv[++i]);
    if (word == "--worker") worker = true;
  }
  if (argc < 2 || !worker || threads < 1) {
    fmt::print(stderr, "usage: plimsoll_bench PROBLEM --threads N --worker   (driven by bench/compare)\n");
    return 2;
  }
  const plimsoll::Status status = plimsoll::Work(argv[1], threads);
  if (!status.ok()) fmt::print(stderr, "plimsoll_bench: {}\n", status.message());
  return status.exit_code();
}
