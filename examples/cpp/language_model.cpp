// language_model: the next character at each step, on ids. The text is made here: sentences of a very small language.
//   Writes its data, language_x.npy and language_y.npy, into the working folder: (samples, steps) of int32 each.
//   Expect: a perplexity near 18, the number of characters, before; below 2 after. It cannot fall to 1, because which word
//   comes next is drawn by lot.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "plimsoll/plimsoll.h"

namespace {

constexpr const char* kAlphabet = " .abcdefghilmnorst";

// A .npy file: magic, version, length of the header, header, values.
void WriteNpy(const char* path, const std::vector<int32_t>& values, size_t rows, size_t columns) {
  std::string header =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size()) << '\0' << header;
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(int32_t)));
}

std::string Text(size_t characters) {
  const std::vector<std::string> who = {"the cat ", "a dog ", "the old man ", "a bird "};
  const std::vector<std::string> does = {"sees ", "hears ", "finds ", "calls "};
  std::mt19937 random(1);
  std::string text;
  while (text.size() < characters) {
    text += who[random() % 4] + does[random() % 4] + who[random() % 4];
    text.back() = '.';
    text += ' ';
  }
  return text;
}

}  // namespace

int main() {
  const size_t samples = 500, steps = 40;
  const std::string text = Text(samples * steps + 1);
  std::vector<int32_t> ids;
  for (const char letter : text) ids.push_back(static_cast<int32_t>(std::string(kAlphabet).find(letter)));
  WriteNpy("language_x.npy", {ids.begin(), ids.begin() + samples * steps}, samples, steps);
  WriteNpy("language_y.npy", {ids.begin() + 1, ids.begin() + 1 + samples * steps}, samples, steps);  // one later

  plimsoll::Job job;
  job.task = plimsoll::Task::Classify;
  job.data.train = "language_x.npy";
  job.data.targets = "language_y.npy";
  job.data.valid_share = 0.1;
  job.layers = {{"", plimsoll::EmbeddingOptions{.output_dim = 16}},
                {"", plimsoll::LSTMOptions{.units = 64}},  // gives its output at each step, because the targets ask for it
                {"", plimsoll::DenseOptions{}}};
  job.train.epochs = 8;
  job.train.learning_rate = 0.01;
  job.train.clip_norm = 1.0;
  job.memory.budget = "64MB";

  const plimsoll::Result<plimsoll::RunResult> run = plimsoll::Train(job, {});
  if (!run.ok()) {
    std::fprintf(stderr, "%s\n%s\n", run.status().message().c_str(), run.status().hint().c_str());
    return run.status().exit_code();
  }
  std::printf("perplexity before %.2f\n", std::exp(run.value().first.loss));
  std::printf("perplexity after %.2f\n", std::exp(run.value().last.loss));
  return 0;
}
