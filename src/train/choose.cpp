// choose: a whole job for a file of text, by a look at its first records.
//   in:    what the user gave: at least a task and a file
//   out:   the job, and what was chosen and why
//   never: changes what was given: choices come first, and what was given is laid over them
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <span>

#include "base/bytes.h"
#include "data/json_reader.h"
#include "data/record_reader.h"
#include "data/sample_reader.h"
#include "data/samples.h"
#include "plimsoll/data.h"

namespace plimsoll {
namespace {

constexpr size_t kLookedAt = 500;  // records
constexpr size_t kMostColumns = 200;

// What a look tells about a column.
struct Column {
  std::string name;  // by which it is asked for
  std::string head;  // its cell in the first record
  size_t cells = 0;  // behind that one
  size_t numbers = 0;
  size_t missing = 0;
  size_t dates = 0;
  size_t changes = 0;  // cells that are not as the one before
  size_t bytes = 0;
  size_t words = 0;
  bool counts = true;  // 1, 2, 3, ...: the number of the row
  bool list = false;
  bool head_comes_again = false;
  double last = 0.0;
  std::string before;
  std::set<std::string> values;  // at most 64

  bool IsDate() const { return cells > 0 && dates == cells; }
  // Few values, which take turns: a column of one value after the other rather names series.
  bool IsCategory() const {
    return !list && !IsNumeric() && !IsDate() && values.size() > 1 && values.size() * 8 < cells && changes >= values.size();
  }
  bool IsNumeric() const { return cells > 0 && numbers + missing == cells && numbers > 0; }
  double MeanBytes() const { return cells == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(cells); }
  double MeanWords() const { return cells == 0 ? 0.0 : static_cast<double>(words) / static_cast<double>(cells); }
};

void Look(Column& column, std::string_view text) {
  ++column.cells;
  column.bytes += text.size();
  bool inside = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    column.words += !blank && !inside;
    inside = !blank;
  }
  if (const std::optional<double> number = NumberOf(text)) {
    column.counts = column.counts && (column.numbers == 0 || *number == column.last + 1.0);
    column.last = *number;
    ++column.numbers;
  } else {
    column.missing += IsMissing(text);
    column.counts = false;
  }
  column.dates += ParseDate(text).has_value();
  column.changes += column.cells > 1 && text != column.before;
  column.before = text.substr(0, 64);
  if (column.values.size() < 64) column.values.emplace(text.substr(0, 64));
  column.head_comes_again = column.head_comes_again || text == column.head;
}

bool IsOneOf(std::string_view name, std::span<const std::string_view> names) {
  std::string small(name);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return std::find(names.begin(), names.end(), small) != names.end();
}
constexpr std::array<std::string_view, 12> kTextNames = {"text",    "review", "sentence", "message", "content", "body",
                                                         "comment", "tweet",  "tokens",   "words",   "title",   "name"};
constexpr std::array<std::string_view, 14> kLabelNames = {"label",    "labels", "class", "category", "sentiment",
                                                          "target",   "y",      "tag",   "ner_tags", "tags",
                                                          "language", "score",  "stars", "rating"};

// Part of a date, which is known in advance and need not be forecast.
bool IsCalendar(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  for (const std::string_view part : {"year", "month", "day", "hour", "minute", "second", "week", "date", "quarter"}) {
    if (small.find(part) != std::string::npos) return true;
  }
  return false;
}

class Chooser {
 public:
  Chooser(const Job& job, const std::vector<JobOverride>& given) : job_(job), given_(given) {}

  Result<ChosenJob> Choose() {
    PLIMSOLL_RETURN_IF_ERROR(LookAtFile());
    switch (job_.task) {
      case Task::Lm:
        ChooseText();
        ChooseLm();
        break;
      case Task::Forecast:
        PLIMSOLL_RETURN_IF_ERROR(ChooseSeries());
        break;
      default:
        PLIMSOLL_RETURN_IF_ERROR(ChooseColumns());
    }
    if (job_.data.valid_file.empty() && !IsGiven("data.valid"))
      Set("data.valid", job_.task == Task::Forecast ? "0.2" : "0.1",
          job_.task == Task::Forecast ? "the last fifth of each series is kept for validation"
                                      : "a tenth of the samples is kept for validation");
    ChooseModel();
    std::vector<JobOverride> all = chosen_;
    all.insert(all.end(), given_.begin(), given_.end());
    Result<Job> job = ReadJob("", all);
    if (!job.ok()) return job.status();
    return ChosenJob{.job = std::move(job).value(), .reasons = std::move(reasons_)};
  }

 private:
  bool IsGiven(std::string_view key) const {
    return std::any_of(given_.begin(), given_.end(), [&](const JobOverride& one) { return one.key == key; });
  }
  void Set(std::string key, std::string value, std::string why) {
    if (IsGiven(key)) return;
    if (!why.empty()) reasons_.push_back(fmt::format("{} = {}: {}", key, value, why));
    chosen_.push_back({std::move(key), std::move(value)});
  }
  static std::string Quoted(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }

  Status LookAtFile();
  void GuessHeader();
  void ChooseText();
  void ChooseLm();
  Status ChooseColumns();
  Status ChooseSeries();
  void ChooseModel();
  void ChooseTokens(const Column& text);
  void ChooseDates();
  // The given column, or one of a known name, or the one that scores most.
  template <typename Score>
  const Column* Find(const std::string& given, std::span<const std::string_view> names, const Column* but,
                     const Score& score) const;

  const Job& job_;
  const std::vector<JobOverride>& given_;
  std::vector<JobOverride> chosen_;
  std::vector<std::string> reasons_;
  DataFormat format_ = DataFormat::Text;
  std::vector<Column> columns_;
  size_t records_ = 0;
  bool numbers_ = false;      // inputs are columns of numbers
  bool chars_ = false;        // tokens are characters
  double mean_steps_ = 20.0;  // of a sample, as far as was seen
};

Status Chooser::LookAtFile() {
  if (job_.data.format != DataFormat::Auto) {
    format_ = job_.data.format;
  } else {
    const Result<DataFormat> format = FormatOf(job_.data.train);
    if (!format.ok()) return format.status();
    format_ = format.value();
    if (job_.task == Task::Tag && format_ == DataFormat::Text) format_ = DataFormat::Conll;
  }
  RecordRequest request{.format = format_, .header = false};
  if (format_ == DataFormat::Conll) request.columns = {"1", "-1"};
  if (format_ == DataFormat::Jsonl) {
    Result<LineReader> lines = LineReader::Open(job_.data.train, {});
    if (!lines.ok()) return lines.status();
    const Result<bool> first = lines->Next();
    if (!first.ok()) return first.status();
    request.columns = JsonKeys(lines->line());
    if (request.columns.empty())
      return Status::Data(fmt::format("{}:1: is no JSON object; wanted one a line", job_.data.train));
  }
  Result<std::unique_ptr<RecordReader>> reader = RecordReader::Open(job_.data.train, request);
  if (!reader.ok()) return reader.status();
  Record record;
  while (records_ < kLookedAt) {
    const Result<bool> next = (*reader)->Next(record);
    if (!next.ok()) return next.status();
    if (!next.value()) break;
    if (!record.problem.empty()) continue;  // the reader of the job tells of it
    if (records_++ == 0) {
      for (size_t i = 0; i < std::min(record.fields.size(), kMostColumns); ++i) {
        columns_.push_back({.name = request.columns.empty() ? fmt::format("{}", i + 1) : request.columns[i],
                            .head = std::string(record.fields[i].text)});
      }
      if (format_ == DataFormat::Tsv || format_ == DataFormat::Csv) continue;  // perhaps a header
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Field& field = record.fields[i];
      columns_[i].list = columns_[i].list || field.list;
      if (!field.list) Look(columns_[i], field.text);
      if (field.list) {
        ++columns_[i].cells;
        columns_[i].words += field.count;
        columns_[i].bytes += 6 * field.count;
      }
    }
  }
  if (columns_.empty()) return Status::Data(fmt::format("{}: has no records", job_.data.train));
  GuessHeader();
  return Status::Ok();
}

// A first row of short names above columns of numbers, or of names that come nowhere below.
void Chooser::GuessHeader() {
  if (format_ != DataFormat::Tsv && format_ != DataFormat::Csv) return;
  bool header = job_.data.header.value_or(false);
  if (!job_.data.header) {
    std::set<std::string> heads;
    bool plain = true, telling = false;
    for (const Column& column : columns_) {
      plain = plain && !column.head.empty() && column.head.size() <= 40 && !NumberOf(column.head) &&
              heads.insert(column.head).second;
      telling = telling || column.IsNumeric() || IsOneOf(column.head, kTextNames) || IsOneOf(column.head, kLabelNames);
      telling = telling || (column.IsDate() && !ParseDate(column.head));
      telling = telling || (records_ > 4 && column.values.size() * 2 < records_ && !column.head_comes_again);
    }
    header = plain && telling;
    Set("data.header", header ? "true" : "false",
        header ? "the first row is names" : "the first row looks like those below it");
  }
  for (Column& column : columns_) {
    if (header) {
      column.name = column.head;
    } else {
      const std::string head = column.head;
      Look(column, head);
    }
  }
}

template <typename Score>
const Column* Chooser::Find(const std::string& given, std::span<const std::string_view> names, const Column* but,
                            const Score& score) const {
  const Column* best = nullptr;
  for (const Column& column : columns_) {
    if (!given.empty() && column.name == given) return &column;
  }
  for (const Column& column : columns_) {
    if (&column != but && IsOneOf(column.name, names) && score(column) > 0.0) return &column;
  }
  for (const Column& column : columns_) {
    if (&column != but && score(column) > 0.0 && (best == nullptr || score(column) > score(*best))) best = &column;
  }
  return best;
}

void Chooser::ChooseTokens(const Column& text) {
  if (job_.data.tokens != TokenKind::Auto) {
    chars_ = job_.data.tokens == TokenKind::Char || job_.data.tokens == TokenKind::Byte;
  } else if (job_.task == Task::Tag) {
    chars_ = false;
  } else {
    chars_ = !text.list && text.MeanWords() < 4.0;
    Set("data.tokens", chars_ ? "\"char\"" : "\"word\"", fmt::format("a text has {:.1f} words on average", text.MeanWords()));
  }
  mean_steps_ = chars_ ? text.MeanBytes() : text.MeanWords();
  if (!chars_ && job_.data.tokens != TokenKind::Bpe && job_.task != Task::Tag && !text.list) Set("data.lower", "true", "");
}

void Chooser::ChooseText() {
  if (format_ == DataFormat::Text) return;
  const Column* text = Find(job_.data.text, kTextNames, nullptr,
                            [](const Column& column) { return column.IsNumeric() ? 0.0 : column.MeanBytes() + 0.1; });
  if (text != nullptr) Set("data.text", Quoted(text->name), "the longest texts");
  if (text != nullptr) mean_steps_ = text->MeanBytes();
}

void Chooser::ChooseLm() {
  chars_ = job_.data.tokens != TokenKind::Word && job_.data.tokens != TokenKind::Bpe;
  if (job_.data.tokens == TokenKind::Auto)
    Set("data.tokens", "\"char\"", "a language model of characters needs the least memory");
  if (format_ != DataFormat::Text) return;
  Set("data.window", "128", "the file is one long text, cut into pieces of 128 steps; 0 makes every line a text of its own");
  mean_steps_ = 128.0;
}

Status Chooser::ChooseColumns() {
  numbers_ = !job_.data.inputs.empty();
  const bool values = job_.task == Task::Regress;
  const std::string given_label = job_.data.label.empty() ? "" : job_.data.label[0];
  const auto score = [&](const Column& column) {
    if (values) return column.IsNumeric() && !column.counts ? static_cast<double>(&column - columns_.data()) + 1.0 : 0.0;
    if (job_.task == Task::Tag) return column.list ? 1.0 : 0.5;
    // Few values, each of which comes often.
    return column.cells > 0 && !column.IsDate() && column.values.size() < 64
               ? 1.0 / static_cast<double>(column.values.size() + 1)
               : 0.0;
  };
  const Column* label = Find(given_label, kLabelNames, nullptr, score);
  const Column* text = Find(job_.data.text, kTextNames, label, [](const Column& column) {
    return column.IsNumeric() || column.IsDate() || column.counts ? 0.0 : column.MeanBytes() + 0.1;
  });
  if (format_ == DataFormat::Conll) {
    text = columns_.data();
    label = &columns_.back();
  }
  if (text == label) text = nullptr;
  if (label == nullptr)
    return Status::Usage(fmt::format("{}: no column looks like a label", job_.data.train), "name it with --data.label=COLUMN");
  if (format_ != DataFormat::Conll)
    Set("data.label", Quoted(label->name),
        values ? "the last column of numbers"
               : fmt::format("{} different values in {} records", label->values.size(), records_));
  if (text != nullptr && !numbers_) {
    if (format_ != DataFormat::Conll)
      Set("data.text", Quoted(text->name), fmt::format("the longest texts, {:.0f} bytes on average", text->MeanBytes()));
    ChooseTokens(*text);
    return Status::Ok();
  }
  numbers_ = true;
  std::string inputs;
  int64_t count = 0;
  for (const Column& column : columns_) {
    if (&column == label || !(column.IsNumeric() || column.list) || column.counts) continue;
    inputs += (count++ == 0 ? "[" : ", ") + Quoted(column.name);
  }
  if (count == 0)
    return Status::Usage(
        fmt::format("{}: has neither a column of text nor columns of numbers beside the label", job_.data.train),
        "name them with --data.text=COLUMN or --data.inputs='[\"a\", \"b\"]'");
  mean_steps_ = static_cast<double>(count);
  Set("data.inputs", inputs + "]", fmt::format("{} columns of numbers, each a step", count));
  ChooseDates();
  return Status::Ok();
}

void Chooser::ChooseDates() {
  std::string dates;
  for (const Column& column : columns_) {
    if (column.IsDate()) dates += (dates.empty() ? "[" : ", ") + Quoted(column.name);
  }
  if (!dates.empty()) Set("data.dates", dates + "]", "dates, as their place in day, week and year");
}

Status Chooser::ChooseSeries() {
  numbers_ = true;
  const Column* target =
      Find(job_.data.label.empty() ? "" : job_.data.label[0], kLabelNames, nullptr, [](const Column& column) {
        if (!column.IsNumeric() || column.counts) return 0.0;
        return IsCalendar(column.name) ? 0.5 : 1.0;
      });
  if (target == nullptr)
    return Status::Usage(fmt::format("{}: no column of numbers to forecast", job_.data.train),
                         "name it with --data.label=COLUMN");
  Set("data.label", Quoted(target->name), "the first column of numbers that is no date and no count of rows");
  std::string inputs;
  int64_t count = 0;
  for (const Column& column : columns_) {
    if (!column.IsNumeric() || column.counts) continue;
    inputs += (count++ == 0 ? "[" : ", ") + Quoted(column.name);
  }
  Set("data.inputs", inputs + "]", fmt::format("{} columns of numbers", count));
  ChooseDates();
  std::string categories;
  for (const Column& column : columns_) {
    if (column.IsCategory() && column.name != job_.data.series)
      categories += (categories.empty() ? "[" : ", ") + Quoted(column.name);
  }
  if (!categories.empty()) Set("data.categories", categories + "]", "few values that take turns, as a feature each");
  const auto rows = static_cast<int64_t>(records_ < kLookedAt ? records_ : 100'000);
  const int64_t window = std::clamp<int64_t>(rows / 8, 2, 48);
  Set("data.window", fmt::format("{}", window), "steps that a forecast looks back at");
  mean_steps_ = static_cast<double>(window);
  return Status::Ok();
}

void Chooser::ChooseModel() {
  std::string layers = "[";
  const bool lm = job_.task == Task::Lm, tag = job_.task == Task::Tag;
  const int64_t units = lm ? 128 : chars_ ? 96 : 64;
  if (!numbers_) layers += fmt::format("{{type = \"Embedding\", output_dim = {}}}, ", chars_ ? 32 : 64);
  layers += fmt::format("{{type = \"LSTM\", units = {}}}, ", units);
  const bool pools = !lm && !tag && !numbers_ && mean_steps_ > 50.0;
  if (pools) layers += "{type = \"Pooling\", mode = \"max\"}, ";
  layers += "{type = \"Dense\"}]";
  Set("model.layers", layers, "");
  reasons_.push_back(fmt::format(
      "model: {}LSTM({}){}, Dense{}",
      numbers_ ? ""
      : chars_ ? "Embedding(32), "
               : "Embedding(64), ",
      units, pools ? ", Pooling(max)" : "",
      pools ? fmt::format(": texts of {:.0f} steps are long, so that their largest values decide", mean_steps_) : ""));
  Set("train.epochs", lm ? "3" : numbers_ ? "10" : "5", "");
  Set("train.learning_rate", "0.002", "");
  Set("train.clip_norm", "1.0", "");
}

}  // namespace

Result<ChosenJob> ChooseJob(const std::vector<JobOverride>& given) {
  Result<Job> job = ReadJob("", given);
  if (!job.ok()) return job.status();
  const Result<bool> text = IsText(job->data.train);
  if (!text.ok()) return text.status();
  if (!text.value() || !job->layers.empty()) return ChosenJob{.job = std::move(job).value(), .reasons = {}};
  const bool has_task = std::any_of(given.begin(), given.end(), [](const JobOverride& one) { return one.key == "task"; });
  if (!has_task)
    return Status::Usage(fmt::format("{}: what is to be learnt from it?", job->data.train),
                         "--task classify, regress, tag, lm or forecast");
  return Chooser(*job, given).Choose();
}

}  // namespace plimsoll
