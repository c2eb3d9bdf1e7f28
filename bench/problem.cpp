#include "bench/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/bytes.h"
#include "base/random.h"
#include "base/suggest.h"
#include "model/network.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 3> kCells = {"lstm", "gru", "rnn"};
constexpr const char* kWanted = "lstm t100 b64 d256 h256, then what is needed of l2 v30000 p128 ragged m64MB";
constexpr int64_t kMostOfASize = 10'000'000, kMostLayers = 1000;
constexpr double kMostValues = 1e9;  // of a batch, which is held in memory

Status Wrong(const std::string& text, const std::string& what) {
  return Status::Usage(fmt::format("problem \"{}\": {}", text, what), kWanted);
}

int64_t* SizeOf(Problem& problem, char letter) {
  switch (letter) {
    case 't':
      return &problem.steps;
    case 'b':
      return &problem.rows;
    case 'd':
      return &problem.inputs;
    case 'h':
      return &problem.units;
    case 'l':
      return &problem.layers;
    case 'v':
      return &problem.words;
    case 'p':
      return &problem.projected;
    default:
      return nullptr;
  }
}

// A word behind the cell.
Status ReadWord(Problem& problem, const std::string& word) {
  if (word == "ragged") {
    problem.ragged = true;
    return Status::Ok();
  }
  if (word[0] == 'm') {
    problem.budget = word.substr(1);
    const Result<MemoryAmount> amount = ParseMemory(problem.budget);
    return amount.ok() ? Status::Ok() : Wrong(problem.text, fmt::format("{}: {}", word, amount.status().message()));
  }
  int64_t* size = SizeOf(problem, word[0]);
  if (size == nullptr) return Wrong(problem.text, fmt::format("{} is not understood", word));
  const int64_t most = size == &problem.layers ? kMostLayers : kMostOfASize;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), *size);
  if (error != std::errc() || end != word.data() + word.size() || *size < 1 || *size > most) {
    return Wrong(problem.text, fmt::format("{}: wanted {} and a whole number from 1 to {}", word, word[0], most));
  }
  return Status::Ok();
}

Status CheckSizes(const Problem& problem) {
  Problem sizes = problem;
  for (const char letter : {'t', 'b', 'd', 'h'}) {
    if (*SizeOf(sizes, letter) == 0) return Wrong(problem.text, fmt::format("{} is missing", letter));
  }
  if (problem.projected > 0 && problem.cell != "lstm") return Wrong(problem.text, "a projection, p, goes with lstm alone");
  const double values = static_cast<double>(problem.steps) * static_cast<double>(problem.rows) *
                        static_cast<double>(problem.words > 0 ? 1 : problem.inputs);
  if (values > kMostValues) {
    return Wrong(problem.text, fmt::format("a batch of {:.0f} values, and {:.0f} are the most", values, kMostValues));
  }
  return Status::Ok();
}

}  // namespace

int64_t Problem::classes() const {
  constexpr int64_t kClasses = 10;
  return words > 0 ? words : kClasses;
}

std::vector<int64_t> Problem::Lengths() const {
  std::vector<int64_t> lengths(static_cast<size_t>(rows), steps);
  if (!ragged) return lengths;
  RandomSequence random(SeedFor(2, RandomUse::Data), 0);
  std::vector<double> normal;
  for (int64_t row = 0; row < rows; ++row) normal.push_back(static_cast<double>(random.Normal()));
  const double top = *std::max_element(normal.begin(), normal.end());
  const auto relative = [&](double value, double spread) { return std::exp(spread * (value - top)); };
  // The wider they spread, the smaller is their mean beside the longest.
  double narrow = 0.0, wide = 4.0;
  for (int halving = 0; halving < 50; ++halving) {
    const double spread = 0.5 * (narrow + wide);
    const double sum = std::accumulate(normal.begin(), normal.end(), 0.0,
                                       [&](double total, double value) { return total + relative(value, spread); });
    (4.0 * sum > static_cast<double>(rows) ? narrow : wide) = spread;
  }
  for (size_t row = 0; row < lengths.size(); ++row) {
    const double length = static_cast<double>(steps) * relative(normal[row], narrow);
    lengths[row] = std::max<int64_t>(1, static_cast<int64_t>(std::llround(length)));
  }
  return lengths;
}

int64_t Problem::RowSteps() const {
  const std::vector<int64_t> lengths = Lengths();
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

double Problem::OperationsPerRowStep() const {
  const double gates = cell == "lstm" ? 4.0 : cell == "gru" ? 3.0 : 1.0;
  const auto h = static_cast<double>(units), out = static_cast<double>(output_width());
  double operations = 3.0 * 2.0 * out * static_cast<double>(words);
  for (int64_t layer = 0; layer < layers; ++layer) {
    double width = layer == 0 ? static_cast<double>(inputs) : out;
    if (layer == 0 && words > 0 && LookUpPays(words, RowSteps())) {
      width *= static_cast<double>(words) / static_cast<double>(RowSteps());
    }
    const double products = layer > 0 || words > 0 ? 3.0 : 2.0;
    operations += 2.0 * gates * h * (products * width + 3.0 * out) + 3.0 * 2.0 * h * static_cast<double>(projected);
  }
  return operations;
}

Result<Problem> ParseProblem(const std::string& text) {
  Problem problem{.text = text, .cell = {}};
  std::istringstream words(text);
  words >> problem.cell;
  if (std::count(kCells.begin(), kCells.end(), problem.cell) == 0) {
    return Wrong(text, fmt::format("it begins with lstm, gru or rnn, not with \"{}\"{}", problem.cell,
                                   DidYouMean(problem.cell, kCells)));
  }
  std::string seen;
  for (std::string word; words >> word;) {
    if (seen.find(word[0]) != std::string::npos) return Wrong(text, fmt::format("{}: a second word with {}", word, word[0]));
    seen += word[0];
    PLIMSOLL_RETURN_IF_ERROR(ReadWord(problem, word));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckSizes(problem));
  return problem;
}

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
  job.layers.push_back({"", DenseOptions{.units = problem.classes(), .activation = Activation::Linear}});
  job.train.batch_size = problem.rows;
  job.train.threads = threads;
  job.memory.budget = problem.budget;
  return job;
}

}  // namespace plimsoll
