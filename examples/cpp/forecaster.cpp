// forecaster: the next value of a series at each step. The series is made here: two waves and noise.
//   Writes its data, series_x.npy and series_y.npy, into the working folder: (windows, steps) of float32 each.
//   Expect: a mean squared error below half of that of the usual guess, "the next value is this one".
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "plimsoll/plimsoll.h"

namespace {

// A .npy file: magic, version, length of the header, header, values.
void WriteNpy(const char* path, const std::vector<float>& values, size_t rows, size_t columns) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header;
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

}  // namespace

int main() {
  const size_t windows = 300, steps = 48;
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0.0f, 0.05f);
  std::vector<float> series;
  for (size_t hour = 0; hour < windows * steps + 1; ++hour) {
    const auto time = static_cast<float>(hour);
    series.push_back(std::sin(time * 0.5236f) + 0.5f * std::sin(time * 1.3f) + noise(random));
  }
  double guess = 0.0;
  for (size_t i = 1; i < series.size(); ++i) guess += std::pow(series[i] - series[i - 1], 2.0);
  WriteNpy("series_x.npy", {series.begin(), series.end() - 1}, windows, steps);
  WriteNpy("series_y.npy", {series.begin() + 1, series.end()}, windows, steps);

  plimsoll::Job job;
  job.task = plimsoll::Task::Regress;
  job.data.train = "series_x.npy";
  job.data.targets = "series_y.npy";
  job.data.valid_share = 0.1;
  job.layers = {{"", plimsoll::GRUOptions{.units = 32}}, {"", plimsoll::DenseOptions{}}};
  job.train.epochs = 15;
  job.train.learning_rate = 0.01;
  job.train.clip_norm = 1.0;
  job.memory.budget = "64MB";

  const plimsoll::Result<plimsoll::RunResult> run = plimsoll::Train(job, {});
  if (!run.ok()) {
    std::fprintf(stderr, "%s\n%s\n", run.status().message().c_str(), run.status().hint().c_str());
    return run.status().exit_code();
  }
  std::printf("error of the guess %.4f\n", guess / static_cast<double>(series.size() - 1));
  std::printf("error after %.4f\n", run.value().last.loss);
  return 0;
}
