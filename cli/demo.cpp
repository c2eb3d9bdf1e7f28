// demo: a small job of our own, so that one command shows what Plimsoll is about.
#include <fmt/format.h>

#include <cstdio>

#include "job.h"
#include "run.h"
#include "verbs.h"

namespace {

// The adding problem (Hochreiter and Schmidhuber 1997), ragged: two marked numbers of a sequence are to be added.
// Whoever always answers 1 has a mean squared error of 0.167.
const std::vector<plimsoll::JobOverride>& DemoJob() {
  static const std::vector<plimsoll::JobOverride> kJob = {
      {"task", "regress"},
      {"data.train", "generate:adding?steps=150&samples=20000&min_steps=50"},
      {"data.valid", "0.05"},
      {"model.layers", R"([{type = "LSTM", units = 64}, {type = "Dense", units = 1}])"},
      {"train.batch_size", "64"},
      {"train.epochs", "9"},
      {"train.learning_rate", "4e-3"},
      {"train.clip_norm", "1"},
      {"train.metrics", "[]"},  // the loss says it all
      {"memory.budget", "16MB"},
  };
  return kJob;
}

}  // namespace

int RunDemo(const Arguments& arguments) {
  Arguments demo = arguments;
  demo.overrides = DemoJob();
  demo.overrides.insert(demo.overrides.end(), arguments.overrides.begin(), arguments.overrides.end());
  const JobOrExit loaded = LoadJob(demo);
  if (!loaded.job) return loaded.exit_code;
  if (!arguments.quiet && arguments.log_format != "json" && arguments.log_format != "none") {
    fmt::print(stderr,
               "demo   learns to add two marked numbers in sequences of 50 to 150 steps; {} of memory for everything\n"
               "       (a loss of 0.167 is guessing; below 0.01 it can add)\n",
               loaded.job->memory.budget);
  }
  return TrainAndAnswer(*loaded.job, arguments.out.empty() ? "" : NewRunFolder(arguments.out, arguments), demo);
}
