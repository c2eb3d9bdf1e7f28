// generator: five small tasks, each a function of (seed, sample, step), and the text that selects one.
//   in:    a generator text
//   out:   a Samples object without data
//   never: draws numbers in sequence; step t does not need the steps before it (parity sums their bits, 32 at a time)
#include "data/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/suggest.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostSteps = INT32_MAX;
constexpr int64_t kMostSamples = int64_t{1} << 40;
constexpr double kTwoPi = 6.283185307179586;

// RandomSequence(key, sample), but at any place: the numbers of step t can be had without those of the steps before.
// The first kHeadWords belong to the sample as a whole, the rest to its steps.
class SampleWords {
 public:
  static constexpr uint64_t kHeadWords = 8;
  SampleWords(uint64_t key, int64_t sample) : key_(key), sample_(static_cast<uint64_t>(sample)) {}

  uint32_t Word(uint64_t place) {
    if (place / 4 != quad_) {
      quad_ = place / 4;
      words_ = Philox(key_, {static_cast<uint32_t>(quad_), static_cast<uint32_t>(quad_ >> 32), static_cast<uint32_t>(sample_),
                             static_cast<uint32_t>(sample_ >> 32)});
    }
    return words_[place % 4];
  }
  float Unit(uint64_t place) { return UnitFloat(Word(place)); }
  int64_t Below(uint64_t place, int64_t bound) {
    return static_cast<int64_t>(static_cast<uint64_t>(Word(place)) * static_cast<uint64_t>(bound) >> 32);
  }
  double Normal(uint64_t place) {  // from two words (Box-Muller)
    const double u = (static_cast<double>(Word(place)) + 1.0) * 0x1.0p-32;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(kTwoPi * static_cast<double>(Word(place + 1)) * 0x1.0p-32);
  }

 private:
  uint64_t key_;
  uint64_t sample_;
  uint64_t quad_ = UINT64_MAX;
  RandomWords words_{};
};

enum HeadWord : uint64_t { kLengthWord, kFirstWord, kSecondWord };
uint64_t StepWord(int64_t step) { return SampleWords::kHeadWords + static_cast<uint64_t>(step); }

// What all generators share: how many samples, and how long each is.
struct Extent {
  uint64_t key = 0;
  int64_t samples = 0;
  int64_t min_steps = 0;
  int64_t steps = 0;
  int64_t Length(int64_t sample) const {
    PLIMSOLL_CHECK(sample >= 0 && sample < samples, "a sample number lies in [0, count)");
    if (min_steps == steps) return steps;
    return min_steps + SampleWords(key, sample).Below(kLengthWord, steps - min_steps + 1);
  }
};

void CheckSteps(int64_t first, int64_t steps, int64_t limit) {
  PLIMSOLL_CHECK(first >= 0 && steps >= 0 && first <= limit && steps <= limit - first, "steps lie inside the sample");
}

class Adding final : public Samples {
 public:
  explicit Adding(const Extent& extent) : extent_(extent) { shape_.width = 2; }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return extent_.samples; }
  int64_t length(int64_t sample) const override { return extent_.Length(sample); }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, length(sample));
    SampleWords words(extent_.key, sample);
    const auto marked = Marked(sample, words);
    auto* rows = static_cast<float*>(out);
    for (int64_t step = first; step < first + steps; ++step) {
      *rows++ = words.Unit(StepWord(step));
      *rows++ = step == marked[0] || step == marked[1] ? 1.0f : 0.0f;
    }
    return Status::Ok();
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, 1);
    SampleWords words(extent_.key, sample);
    const auto marked = Marked(sample, words);
    if (steps == 1) *static_cast<float*>(out) = words.Unit(StepWord(marked[0])) + words.Unit(StepWord(marked[1]));
    return Status::Ok();
  }

 private:
  std::array<int64_t, 2> Marked(int64_t sample, SampleWords& words) const {
    const int64_t steps = length(sample), half = steps / 2;
    return {words.Below(kFirstWord, half), half + words.Below(kSecondWord, steps - half)};
  }
  Extent extent_;
  SampleShape shape_;
};

struct CopyOptions {
  int64_t delay = 50;
  int64_t symbols = 8;
  int64_t count = 10;
};

class Copy final : public Samples {
 public:
  Copy(const Extent& extent, const CopyOptions& options) : extent_(extent), options_(options) {
    shape_ = {.ids = true,
              .width = 1,
              .target_per_step = true,
              .target_classes = true,
              .target_width = 1,
              .vocabulary = options.symbols + 2,
              .classes = options.symbols + 1};
  }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return extent_.samples; }
  int64_t length(int64_t sample) const override { return extent_.Length(sample); }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    const int64_t go_step = options_.count + options_.delay - 1;
    return Fill(sample, first, steps, out, [&](SampleWords& words, int64_t step) {
      if (step < options_.count) return Symbol(words, step);
      return step == go_step ? options_.symbols + 1 : options_.symbols;
    });
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    const int64_t answer = options_.count + options_.delay;
    return Fill(sample, first, steps, out, [&](SampleWords& words, int64_t step) {
      return step < answer ? options_.symbols : Symbol(words, step - answer);
    });
  }

 private:
  int64_t Symbol(SampleWords& words, int64_t place) const { return words.Below(StepWord(place), options_.symbols); }
  template <typename Value>
  Status Fill(int64_t sample, int64_t first, int64_t steps, void* out, Value value) const {
    CheckSteps(first, steps, length(sample));
    SampleWords words(extent_.key, sample);
    auto* ids = static_cast<int32_t*>(out);
    for (int64_t step = first; step < first + steps; ++step) *ids++ = static_cast<int32_t>(value(words, step));
    return Status::Ok();
  }
  Extent extent_;
  CopyOptions options_;
  SampleShape shape_;
};

class Parity final : public Samples {
 public:
  Parity(const Extent& extent, bool per_step) : extent_(extent) {
    shape_ = {.ids = true,
              .width = 1,
              .target_per_step = per_step,
              .target_classes = true,
              .target_width = 1,
              .vocabulary = 2,
              .classes = 2};
  }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return extent_.samples; }
  int64_t length(int64_t sample) const override { return extent_.Length(sample); }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, length(sample));
    SampleWords words(extent_.key, sample);
    auto* ids = static_cast<int32_t*>(out);
    for (int64_t step = first; step < first + steps; ++step) *ids++ = Bit(words, step);
    return Status::Ok();
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    const int64_t all = length(sample);
    CheckSteps(first, steps, shape_.target_per_step ? all : 1);
    SampleWords words(extent_.key, sample);
    auto* classes = static_cast<int32_t*>(out);
    if (!shape_.target_per_step) {
      if (steps == 1) *classes = ParityBefore(words, all);
      return Status::Ok();
    }
    int32_t parity = ParityBefore(words, first);
    for (int64_t step = first; step < first + steps; ++step) *classes++ = parity ^= Bit(words, step);
    return Status::Ok();
  }

 private:
  // 32 steps share a word, so that the parity of a long past is quickly found.
  static int32_t Bit(SampleWords& words, int64_t step) {
    return static_cast<int32_t>(words.Word(StepWord(step / 32)) >> (step % 32) & 1u);
  }
  static int32_t ParityBefore(SampleWords& words, int64_t step) {
    uint32_t mixed = 0;
    for (int64_t word = 0; word < step / 32; ++word) mixed ^= words.Word(StepWord(word));
    if (step % 32 != 0) mixed ^= words.Word(StepWord(step / 32)) & ((1u << (step % 32)) - 1u);
    return static_cast<int32_t>(std::popcount(mixed) & 1);
  }
  Extent extent_;
  SampleShape shape_;
};

class Sine final : public Samples {
 public:
  Sine(const Extent& extent, double noise) : extent_(extent), noise_(noise) { shape_.target_per_step = true; }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return extent_.samples; }
  int64_t length(int64_t sample) const override { return extent_.Length(sample); }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, length(sample));
    SampleWords words(extent_.key, sample);
    const Wave wave(words);
    auto* values = static_cast<float*>(out);
    for (int64_t step = first; step < first + steps; ++step) {
      *values++ = static_cast<float>(wave.At(step) + noise_ * words.Normal(StepWord(2 * step)));
    }
    return Status::Ok();
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, length(sample));
    SampleWords words(extent_.key, sample);
    const Wave wave(words);
    auto* values = static_cast<float*>(out);
    for (int64_t step = first; step < first + steps; ++step) *values++ = static_cast<float>(wave.At(step + 1));
    return Status::Ok();
  }

 private:
  struct Wave {
    explicit Wave(SampleWords& words)
        : phase(kTwoPi * words.Unit(kFirstWord)), frequency(0.05 + 0.45 * words.Unit(kSecondWord)) {}
    double At(int64_t step) const { return std::sin(phase + frequency * static_cast<double>(step)); }
    double phase;      // radians
    double frequency;  // radians a step
  };
  Extent extent_;
  double noise_;
  SampleShape shape_;
};

struct SpellOptions {
  int64_t symbols = 8;
  int64_t hold = 4;
};

// The extent's steps are labels here.
class Spell final : public Samples {
 public:
  Spell(const Extent& labels, const SpellOptions& options) : labels_(labels), options_(options) {
    shape_ = {.ids = true,
              .width = 1,
              .target_per_step = false,
              .target_classes = true,
              .target_width = 1,
              .vocabulary = options.symbols + 1,
              .classes = options.symbols + 1,
              .longest_target = labels.steps};
  }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return labels_.samples; }
  int64_t length(int64_t sample) const override { return target_length(sample) * options_.hold; }
  int64_t target_length(int64_t sample) const override { return labels_.Length(sample); }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, length(sample));
    SampleWords words(labels_.key, sample);
    auto* ids = static_cast<int32_t*>(out);
    for (int64_t step = first; step < first + steps; ++step) {
      const int64_t label = step / options_.hold, shown = 1 + words.Below(StepWord(2 * label + 1), options_.hold - 1);
      *ids++ = step % options_.hold < shown ? Symbol(words, label) : 0;
    }
    return Status::Ok();
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    CheckSteps(first, steps, target_length(sample));
    SampleWords words(labels_.key, sample);
    auto* labels = static_cast<int32_t*>(out);
    for (int64_t label = first; label < first + steps; ++label) *labels++ = Symbol(words, label);
    return Status::Ok();
  }

 private:
  int32_t Symbol(SampleWords& words, int64_t label) const {
    return static_cast<int32_t>(1 + words.Below(StepWord(2 * label), options_.symbols));
  }
  Extent labels_;
  SpellOptions options_;
  SampleShape shape_;
};

// The keys of a generator text. A generator asks for each key it knows; what it did not ask for is refused by Finish,
// which also reports the first value that was wrong.
class Settings {
 public:
  Settings(std::string_view source, std::string_view text) : source_(source) {
    while (status_.ok() && !text.empty()) {
      const std::string_view pair = text.substr(0, text.find('&'));
      text.remove_prefix(std::min(text.size(), pair.size() + 1));
      const size_t equals = pair.find('=');
      const std::string_view key = pair.substr(0, equals);
      if (equals == std::string_view::npos || key.empty()) {
        Refuse(fmt::format("'{}' is not of the form key=value", pair));
      } else if (std::any_of(given_.begin(), given_.end(), [&](const auto& other) { return other.first == key; })) {
        Refuse(fmt::format("the key '{}' comes twice", key));
      }
      if (status_.ok()) given_.emplace_back(key, pair.substr(equals + 1));
    }
  }

  int64_t Whole(std::string_view key, int64_t fallback, int64_t least, int64_t most) {
    return Read(key, fallback, least, most);
  }
  double Number(std::string_view key, double fallback, double least, double most) { return Read(key, fallback, least, most); }
  bool Flag(std::string_view key, bool fallback) {
    const std::optional<std::string_view> text = Take(key);
    if (!text) return fallback;
    if (text != "true" && text != "false") Refuse(fmt::format("{} is '{}'; wanted true or false", key, *text));
    return text == "true";
  }
  Extent ReadExtent(uint64_t seed, int64_t steps, int64_t fewest_steps) {
    Extent extent;
    extent.key = SeedFor(seed, RandomUse::Data);
    extent.steps = Whole("steps", steps, fewest_steps, kMostSteps);
    extent.min_steps = Whole("min_steps", extent.steps, fewest_steps, extent.steps);
    extent.samples = ReadSamples();
    return extent;
  }
  int64_t ReadSamples() { return Whole("samples", 10000, 1, kMostSamples); }

  Status Finish() const {
    if (!status_.ok()) return status_;
    if (given_.empty()) return Status::Ok();
    const std::string_view key = given_.front().first;
    return Status::Usage(fmt::format("{}: no key '{}'{}", source_, key, DidYouMean(key, known_)),
                         fmt::format("keys: {}", fmt::join(known_, ", ")));
  }

 private:
  void Refuse(const std::string& what) {
    if (status_.ok()) status_ = Status::Usage(fmt::format("{}: {}", source_, what));
  }
  // The text behind `key`, where it was given.
  std::optional<std::string_view> Take(std::string_view key) {
    known_.push_back(key);
    const auto found = std::find_if(given_.begin(), given_.end(), [&](const auto& pair) { return pair.first == key; });
    if (found == given_.end()) return std::nullopt;
    const std::string_view text = found->second;
    given_.erase(found);
    return text;
  }
  template <typename Value>
  Value Read(std::string_view key, Value fallback, Value least, Value most) {
    const std::optional<std::string_view> text = Take(key);
    if (!text) return fallback;
    Value value{};
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    const bool in_range = value >= least && value <= most;  // false for NaN
    if (error == std::errc() && end == text->data() + text->size() && in_range) return value;
    Refuse(fmt::format("{} is '{}'; wanted a number from {} to {}", key, *text, least, most));
    return fallback;
  }

  std::string_view source_;
  std::vector<std::pair<std::string_view, std::string_view>> given_;  // not asked for yet
  std::vector<std::string_view> known_;
  Status status_;
};

std::unique_ptr<Samples> MakeAdding(Settings& settings, uint64_t seed) {
  return std::make_unique<Adding>(settings.ReadExtent(seed, 200, 2));
}

std::unique_ptr<Samples> MakeCopy(Settings& settings, uint64_t seed) {
  const CopyOptions options{.delay = settings.Whole("delay", 50, 1, 1 << 30),
                            .symbols = settings.Whole("symbols", 8, 1, 1 << 20),
                            .count = settings.Whole("count", 10, 1, 1 << 20)};
  const int64_t steps = options.delay + 2 * options.count;
  const Extent extent{
      .key = SeedFor(seed, RandomUse::Data), .samples = settings.ReadSamples(), .min_steps = steps, .steps = steps};
  return std::make_unique<Copy>(extent, options);
}

std::unique_ptr<Samples> MakeParity(Settings& settings, uint64_t seed) {
  const Extent extent = settings.ReadExtent(seed, 50, 1);
  return std::make_unique<Parity>(extent, settings.Flag("per_step", true));
}

std::unique_ptr<Samples> MakeSine(Settings& settings, uint64_t seed) {
  const Extent extent = settings.ReadExtent(seed, 100, 1);
  return std::make_unique<Sine>(extent, settings.Number("noise", 0.1, 0.0, 100.0));
}

std::unique_ptr<Samples> MakeSpell(Settings& settings, uint64_t seed) {
  const SpellOptions options{.symbols = settings.Whole("symbols", 8, 1, 1 << 20),
                             .hold = settings.Whole("hold", 4, 2, 1 << 10)};
  Extent labels{.key = SeedFor(seed, RandomUse::Data), .samples = settings.ReadSamples()};
  labels.steps = settings.Whole("labels", 10, 1, 1 << 20);
  labels.min_steps = settings.Whole("min_labels", labels.steps, 1, labels.steps);
  return std::make_unique<Spell>(labels, options);
}

struct Maker {
  std::string_view name;
  Task task;
  std::unique_ptr<Samples> (*make)(Settings&, uint64_t seed);
};
constexpr std::array kMakers = {Maker{"adding", Task::Regress, MakeAdding}, Maker{"copy", Task::Classify, MakeCopy},
                                Maker{"parity", Task::Classify, MakeParity}, Maker{"sine", Task::Regress, MakeSine},
                                Maker{"spell", Task::Classify, MakeSpell}};

}  // namespace

Result<std::unique_ptr<Samples>> OpenGenerator(std::string_view source, Task task, uint64_t seed) {
  PLIMSOLL_CHECK(source.starts_with(kGeneratorPrefix), "a generator text begins with its prefix");
  const std::string_view text = source.substr(kGeneratorPrefix.size());
  const size_t question = std::min(text.find('?'), text.size());
  const std::string_view name = text.substr(0, question);
  const auto maker = std::find_if(kMakers.begin(), kMakers.end(), [&](const Maker& m) { return m.name == name; });
  if (maker == kMakers.end()) {
    std::array<std::string_view, kMakers.size()> names;
    std::transform(kMakers.begin(), kMakers.end(), names.begin(), [](const Maker& m) { return m.name; });
    return Status::Usage(fmt::format("{}: no generator '{}'{}", source, name, DidYouMean(name, names)),
                         fmt::format("generators: {}", fmt::join(names, ", ")));
  }
  Settings settings(source, text.substr(std::min(question + 1, text.size())));
  std::unique_ptr<Samples> samples = maker->make(settings, seed);
  PLIMSOLL_RETURN_IF_ERROR(settings.Finish());
  if (maker->task != task) {
    const bool classify = maker->task == Task::Classify;
    return Status::Usage(fmt::format("{}: '{}' gives {} as targets; it needs task = \"{}\"", source, name,
                                     classify ? "class numbers" : "values", classify ? "classify" : "regress"));
  }
  return samples;
}

}  // namespace plimsoll
