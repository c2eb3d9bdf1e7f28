#include "data/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/bytes.h"
#include "base/file.h"
#include "data/json_reader.h"
#include "data/packed_lengths.h"
#include "data/record_reader.h"
#include "data/series_samples.h"
#include "data/side_columns.h"

namespace plimsoll {
namespace {

constexpr int64_t kVersion = 2;
constexpr int64_t kFactsCap = 16 * kMiB;

// The facts that are one number or one flag.
struct Number {
  const char* key;
  int64_t StoreFacts::*member;
};
struct Flag {
  const char* key;
  bool StoreFacts::*member;
};
constexpr Number kNumbers[] = {
    {"samples", &StoreFacts::samples},   {"row_steps", &StoreFacts::row_steps},   {"longest", &StoreFacts::longest},
    {"id_bytes", &StoreFacts::id_bytes}, {"width", &StoreFacts::width},           {"side", &StoreFacts::side},
    {"unseen", &StoreFacts::unseen},     {"vocabulary", &StoreFacts::vocabulary}, {"target_width", &StoreFacts::target_width},
    {"classes", &StoreFacts::classes},   {"unknown", &StoreFacts::unknown},       {"cut", &StoreFacts::cut},
    {"bad", &StoreFacts::bad},           {"lines", &StoreFacts::lines},           {"new_labels", &StoreFacts::new_labels},
    {"runs", &StoreFacts::runs}};
constexpr Flag kFlags[] = {{"ids", &StoreFacts::ids},
                           {"target_per_step", &StoreFacts::target_per_step},
                           {"target_classes", &StoreFacts::target_classes}};

void AppendTexts(std::string& out, const char* key, const std::vector<std::string>& texts) {
  fmt::format_to(std::back_inserter(out), ",\n \"{}\": [", key);
  for (const std::string& text : texts) {
    out += &text == texts.data() ? "\"" : ", \"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (static_cast<unsigned char>(c) < ' ') {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
    }
    out += '"';
  }
  out += ']';
}

Status Damaged(const std::string& folder, const char* part) {
  return Status::Data(fmt::format("{}: this Store is damaged ({})", folder, part), "remove the folder; it is made again");
}

// Ids of `bytes` each, which lie at the end of out, become int32 from its front on. Each is read before its place is written.
void Widen(void* out, int64_t count, int64_t bytes) {
  auto* ids = static_cast<int32_t*>(out);
  const auto* narrow = static_cast<const unsigned char*>(out) + count * (4 - bytes);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t id = bytes == 1 ? narrow[i] : narrow[2 * i] | narrow[2 * i + 1] << 8;
    std::memcpy(ids + i, &id, sizeof id);
  }
}

Status ReadIds(const File& file, int64_t first, int64_t count, int64_t bytes, void* out) {
  char* place = static_cast<char*>(out) + count * (4 - bytes);
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(first * bytes, count * bytes, place));
  if (bytes < 4) Widen(out, count, bytes);
  return Status::Ok();
}

// Items of `bytes` each, at most so many bytes in all.
int64_t ExpectItems(const File& file, int64_t first, int64_t count, int64_t bytes, int64_t most) {
  const int64_t asked = std::min(count * bytes, most);
  if (asked > 0) file.Expect(first * bytes, asked);
  return asked;
}

SampleShape ShapeOf(const StoreFacts& facts) {
  return {.ids = facts.ids,
          .width = facts.width,
          .target_per_step = facts.target_per_step,
          .target_classes = facts.target_classes,
          .target_width = facts.target_width,
          .vocabulary = facts.vocabulary,
          .classes = facts.classes};
}

// What every reader checks of ids and classes: the engine indexes tables by them.
Status CheckBelow(const File& file, const void* numbers, int64_t count, int64_t bound) {
  const auto* values = static_cast<const int32_t*>(numbers);
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < 0 || values[i] >= bound)
      return Status::Data(fmt::format("{}: holds {}, wanted 0 to {}: the Store was changed", file.path(), values[i], bound - 1),
                          "remove its folder; it is made again");
  }
  return Status::Ok();
}

class RowSamples final : public Samples {
 public:
  RowSamples(const StoreFacts& facts, SideColumns sides, PackedLengths lengths, File inputs, File targets)
      : shape_(ShapeOf(facts)),
        id_bytes_(facts.id_bytes),
        values_(facts.width),
        sides_(std::move(sides)),
        side_(static_cast<size_t>(facts.side)),
        lengths_(std::move(lengths)),
        inputs_(std::move(inputs)),
        targets_(std::move(targets)) {
    shape_.width += sides_.width();
  }

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return lengths_.count(); }
  int64_t length(int64_t sample) const override { return lengths_.length(sample); }
  bool many_readers() const override { return side_.empty(); }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    const int64_t row = lengths_.first_row(sample) + first;
    if (!shape_.ids) return ReadFeatures(row, steps, static_cast<float*>(out));
    PLIMSOLL_RETURN_IF_ERROR(ReadIds(inputs_, row, steps, id_bytes_, out));
    return CheckBelow(inputs_, out, steps, shape_.vocabulary);
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    const int64_t item = shape_.target_per_step ? lengths_.first_row(sample) + first : sample;
    const int64_t bytes = shape_.target_width * 4;
    PLIMSOLL_RETURN_IF_ERROR(targets_.ReadAt(item * bytes, steps * bytes, out));
    return shape_.target_classes ? CheckBelow(targets_, out, steps, shape_.classes) : Status::Ok();
  }
  int64_t Expect(int64_t sample, int64_t most) override {
    const int64_t row = lengths_.first_row(sample), steps = length(sample);
    const int64_t row_bytes = shape_.ids ? id_bytes_ : (values_ + static_cast<int64_t>(side_.size())) * 4;
    const int64_t asked = ExpectItems(inputs_, row, steps, row_bytes, most);
    const bool each = shape_.target_per_step;
    return asked + ExpectItems(targets_, each ? row : sample, each ? steps : 1, shape_.target_width * 4, most - asked);
  }

 private:
  // Steps are read into the end of out, and widened from its front on: each is read before its place is written.
  Status ReadFeatures(int64_t row, int64_t steps, float* out) {
    const auto side = static_cast<int64_t>(side_.size());
    const int64_t stored = values_ + side;
    float* narrow = out + steps * (shape_.width - stored);
    PLIMSOLL_RETURN_IF_ERROR(inputs_.ReadAt(row * stored * 4, steps * stored * 4, narrow));
    for (int64_t step = 0; side > 0 && step < steps; ++step, narrow += stored, out += shape_.width) {
      std::copy(narrow + values_, narrow + stored, side_.begin());
      std::memmove(out, narrow, static_cast<size_t>(values_) * 4);
      sides_.Expand(side_.data(), out + values_);
    }
    return Status::Ok();
  }

  SampleShape shape_;
  int64_t id_bytes_;
  int64_t values_;
  SideColumns sides_;
  std::vector<float> side_;  // of a step, as it is stored
  PackedLengths lengths_;
  File inputs_;
  File targets_;
};

class DocumentSamples final : public Samples {
 public:
  DocumentSamples(const StoreFacts& facts, PackedLengths lengths, File inputs)
      : shape_(ShapeOf(facts)), id_bytes_(facts.id_bytes), lengths_(std::move(lengths)), inputs_(std::move(inputs)) {}

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return lengths_.count(); }
  int64_t length(int64_t sample) const override { return lengths_.length(sample); }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    PLIMSOLL_RETURN_IF_ERROR(ReadIds(inputs_, lengths_.first_row(sample) + first, steps, id_bytes_, out));
    return CheckBelow(inputs_, out, steps, shape_.vocabulary);
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    return ReadInputs(sample, first + 1, steps, out);
  }
  int64_t Expect(int64_t sample, int64_t most) override {
    return ExpectItems(inputs_, lengths_.first_row(sample), length(sample) + 1, id_bytes_, most);
  }

 private:
  SampleShape shape_;
  int64_t id_bytes_;
  PackedLengths lengths_;
  File inputs_;
};

// Pieces of one text. Where State is carried, row r of every batch reads its own stretch of the text, piece by piece.
class StreamSamples final : public Samples {
 public:
  StreamSamples(const StoreFacts& facts, const StoreView& view, File inputs)
      : shape_(ShapeOf(facts)),
        id_bytes_(facts.id_bytes),
        steps_(facts.row_steps - 1),
        window_(std::min(view.window, steps_)),
        rows_(view.carried_by),
        inputs_(std::move(inputs)) {
    pieces_ = rows_ == 0 ? (steps_ + window_ - 1) / window_ : steps_ / rows_ / window_;
    count_ = rows_ == 0 ? pieces_ : pieces_ * rows_;
  }
  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return count_; }
  int64_t length(int64_t sample) const override { return rows_ == 0 ? std::min(window_, steps_ - sample * window_) : window_; }
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    PLIMSOLL_RETURN_IF_ERROR(ReadIds(inputs_, Start(sample) + first, steps, id_bytes_, out));
    return CheckBelow(inputs_, out, steps, shape_.vocabulary);
  }
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override {
    return ReadInputs(sample, first + 1, steps, out);
  }
  int64_t Expect(int64_t sample, int64_t most) override {
    return ExpectItems(inputs_, Start(sample), length(sample) + 1, id_bytes_, most);
  }

 private:
  int64_t Start(int64_t sample) const {
    if (rows_ == 0) return sample * window_;
    return (sample % rows_ * pieces_ + sample / rows_) * window_;
  }
  SampleShape shape_;
  int64_t id_bytes_;
  int64_t steps_;
  int64_t window_;
  int64_t rows_;
  File inputs_;
  int64_t pieces_;
  int64_t count_;
};

}  // namespace

std::string FactsAsJson(const StoreFacts& facts) {
  std::string text = fmt::format("{{\"plimsoll_store\": {}", kVersion);
  for (const Number& number : kNumbers)
    fmt::format_to(std::back_inserter(text), ",\n \"{}\": {}", number.key, facts.*number.member);
  for (const Flag& flag : kFlags) fmt::format_to(std::back_inserter(text), ",\n \"{}\": {}", flag.key, facts.*flag.member);
  fmt::format_to(std::back_inserter(text), ",\n \"layout\": {}", static_cast<int>(facts.layout));
  std::vector<std::string> sources;
  for (const StoredSource& source : facts.sources) {
    sources.push_back(source.path);
    sources.push_back(fmt::format("{}", source.bytes));
    sources.push_back(fmt::format("{}", source.changed_ns));
    sources.push_back(fmt::format("{:016x}", source.fingerprint));
  }
  AppendTexts(text, "bad_lines", facts.bad_lines);
  AppendTexts(text, "notes", facts.notes);
  AppendTexts(text, "sources", sources);
  AppendTexts(text, "settings", {facts.settings});
  return text + "}\n";
}

Result<StoreFacts> ReadFacts(const std::string& folder) {
  Result<std::string> text = ReadWholeFile(folder + kStoreFactsFile, kFactsCap);
  if (!text.ok()) return text.status();
  std::replace(text->begin(), text->end(), '\n', ' ');
  std::vector<std::string> keys = {"plimsoll_store", "layout", "bad_lines", "notes", "sources", "settings"};
  for (const Number& number : kNumbers) keys.emplace_back(number.key);
  for (const Flag& flag : kFlags) keys.emplace_back(flag.key);
  Record record;
  JsonReader reader(keys);
  if (!reader.Read(*text, record).empty()) return Damaged(folder, "store.json");
  const auto number = [](std::string_view digits) {
    int64_t value = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  const auto texts = [&](size_t key) {
    const Field& field = record.fields[key];
    return std::vector<std::string>(record.items.begin() + static_cast<int64_t>(field.first),
                                    record.items.begin() + static_cast<int64_t>(field.first + field.count));
  };
  if (number(record.fields[0].text) != kVersion) return Damaged(folder, "another version");
  StoreFacts facts;
  facts.layout = static_cast<StoreLayout>(std::clamp<int64_t>(number(record.fields[1].text), 0, 3));
  facts.bad_lines = texts(2);
  facts.notes = texts(3);
  const std::vector<std::string> sources = texts(4), settings = texts(5);
  for (size_t i = 0; i + 3 < sources.size(); i += 4) {
    facts.sources.push_back({.path = sources[i],
                             .bytes = number(sources[i + 1]),
                             .changed_ns = number(sources[i + 2]),
                             .fingerprint = std::strtoull(sources[i + 3].c_str(), nullptr, 16)});
  }
  if (facts.sources.empty() || settings.size() != 1) return Damaged(folder, "store.json");
  facts.settings = settings[0];
  size_t key = 6;
  for (const Number& one : kNumbers) facts.*one.member = number(record.fields[key++].text);
  for (const Flag& flag : kFlags) facts.*flag.member = record.fields[key++].text == "true";
  const bool sane = facts.samples >= 1 && facts.row_steps >= 1 && facts.longest >= 1 && facts.longest <= INT32_MAX &&
                    facts.width >= (facts.side > 0 ? 0 : 1) && facts.width <= 65536 && facts.side >= 0 && facts.side <= 65536 &&
                    facts.target_width >= 1 && facts.target_width <= 65536 &&
                    (facts.id_bytes == 1 || facts.id_bytes == 2 || facts.id_bytes == 4) &&
                    facts.row_steps < INT64_MAX / 1024 / 1024;
  if (!sane) return Damaged(folder, "store.json");
  return facts;
}

namespace {
Result<SideColumns> SidesOf(const std::string& folder, const StoreFacts& facts) {
  if (facts.side == 0) return SideColumns();
  Result<SideColumns> sides = SideColumns::Read(folder);
  if (sides.ok() && sides->stored() != facts.side) return Damaged(folder, "features.txt");
  return sides;
}
}  // namespace

Result<std::unique_ptr<Samples>> OpenStore(const std::string& folder, const StoreView& view) {
  Result<StoreFacts> facts = ReadFacts(folder);
  if (!facts.ok()) return facts.status();
  if (facts->layout == StoreLayout::Series) {
    Result<SideColumns> sides = SidesOf(folder, *facts);
    if (!sides.ok()) return sides.status();
    return OpenSeries(folder, *facts, view, std::move(sides).value());
  }
  Result<File> inputs = File::OpenRead(folder + "/inputs.bin");
  if (!inputs.ok()) return inputs.status();
  const int64_t extra = facts->layout == StoreLayout::Documents ? facts->samples : 0;
  const int64_t row_bytes = facts->ids ? facts->id_bytes : 4 * (facts->width + facts->side);
  if (inputs->size() != (facts->row_steps + extra) * row_bytes) return Damaged(folder, "inputs.bin");
  if (facts->layout == StoreLayout::Stream)
    return std::unique_ptr<Samples>(std::make_unique<StreamSamples>(*facts, view, std::move(inputs).value()));
  Result<File> lengths_file = File::OpenRead(folder + "/lengths.bin");
  if (!lengths_file.ok()) return lengths_file.status();
  Result<PackedLengths> lengths =
      PackedLengths::Read(*lengths_file, facts->samples, facts->longest, facts->row_steps, extra > 0 ? 1 : 0);
  if (!lengths.ok()) return lengths.status();
  if (facts->layout == StoreLayout::Documents)
    return std::unique_ptr<Samples>(
        std::make_unique<DocumentSamples>(*facts, std::move(lengths).value(), std::move(inputs).value()));
  Result<File> targets = File::OpenRead(folder + "/targets.bin");
  if (!targets.ok()) return targets.status();
  const int64_t items = facts->target_per_step ? facts->row_steps : facts->samples;
  if (targets->size() != items * facts->target_width * 4) return Damaged(folder, "targets.bin");
  Result<SideColumns> sides = SidesOf(folder, *facts);
  if (!sides.ok()) return sides.status();
  return std::unique_ptr<Samples>(std::make_unique<RowSamples>(*facts, std::move(sides).value(), std::move(lengths).value(),
                                                               std::move(inputs).value(), std::move(targets).value()));
}

}  // namespace plimsoll
