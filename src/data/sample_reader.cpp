#include "data/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>

namespace plimsoll {
namespace {

constexpr size_t kMostListed = 20;
constexpr size_t kLongestLabel = 256;

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, 40));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return shown + (text.size() > 40 ? "..." : "");
}

class RecordSamples final : public SampleReader {
 public:
  RecordSamples(std::unique_ptr<RecordReader> records, const TextSettings& settings, Tokenizer& tokenizer, BadLines& bad)
      : records_(std::move(records)), settings_(settings), tokenizer_(tokenizer), bad_(bad) {}

  const ByteSource& source() const override { return records_->source(); }

  Result<bool> Next(TextSample& sample) override {
    while (true) {
      Result<bool> next = records_->Next(record_);
      if (!next.ok() || !next.value()) return next;
      sample.line = record_.line;
      problem_ = record_.problem;
      if (problem_.empty() && !Understand(sample)) continue;  // an empty line of a text
      if (problem_.empty()) return true;
      PLIMSOLL_RETURN_IF_ERROR(bad_.Note(source().path(), problem_));
    }
  }

 private:
  void Refuse(std::string what) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", record_.line, what);
  }

  // False: nothing that could be a sample.
  bool Understand(TextSample& sample) {
    sample.tokens.clear();
    sample.values.clear();
    sample.labels.clear();
    sample.sets.clear();
    sample.targets.clear();
    sample.categories.clear();
    sample.dates.clear();
    sample.series = {};
    size_t column = 0;
    if (settings_.numbers()) {
      TakeNumbers(sample, settings_.inputs.size());
      column = settings_.inputs.size();
    } else {
      const Field& field = record_.fields[column++];
      if (settings_.task == Task::Lm && field.present && !field.list && Trimmed(field.text).empty()) return false;
      settings_.set_steps() ? TakeSets(field, settings_.text, sample) : TakeTokens(field, sample);
    }
    for (size_t i = 0; i < settings_.label.size(); ++i, ++column) TakeLabel(record_.fields[column], settings_.label[i], sample);
    for (const std::string& name : settings_.sides.categories) TakeCategory(record_.fields[column++], name, sample);
    for (const std::string& name : settings_.sides.dates) TakeDate(record_.fields[column++], name, sample);
    if (!settings_.series.empty()) sample.series = record_.fields[column].text;
    if (!problem_.empty()) return true;
    if (settings_.set_steps() && sample.sets.size() < 2)
      Refuse(fmt::format("has {} steps; wanted two or more, so that one is to be foretold", sample.sets.size()));
    if (!settings_.set_steps() && sample.steps() == 0) Refuse("the text has no tokens");
    const bool tagged = settings_.task == Task::Tag && !settings_.label.empty();
    const size_t tags = settings_.set_labels() ? sample.sets.size() : sample.labels.size();
    if (tagged && tags != static_cast<size_t>(sample.steps()))
      Refuse(fmt::format("has {} tokens and {} {}; wanted {} for each token", sample.steps(), tags,
                         settings_.set_labels() ? "lists of labels" : "labels", settings_.set_labels() ? "one" : "a label"));
    return true;
  }

  void TakeTokens(const Field& field, TextSample& sample) {
    if (!field.present) return Refuse("the text is missing");
    if (field.list) {
      if (settings_.tokens == TokenKind::Bpe)
        return Refuse("the text is a list of tokens, and byte-pair encoding cuts a text by itself");
      for (size_t i = 0; i < field.count; ++i) sample.tokens.push_back(record_.items[field.first + i]);
      sample.whole = true;
      return;
    }
    sample.whole = settings_.task == Task::Tag;
    if (sample.whole) {  // a label belongs to what stands between two blanks
      for (const std::string_view token : Blanks(field.text)) sample.tokens.push_back(token);
      return;
    }
    tokenizer_.Split(field.text, sample.tokens);
  }

  void TakeNumbers(TextSample& sample, size_t columns) {
    sample.width = settings_.task == Task::Forecast ? static_cast<int64_t>(columns) : columns == 0 ? 0 : 1;
    for (size_t column = 0; column < columns; ++column) {
      const Field& field = record_.fields[column];
      const std::string& name = settings_.inputs[column];
      if (!field.list) {
        AddNumber(field, field.text, name, sample.values);
        continue;
      }
      if (columns > 1) return Refuse(fmt::format("'{}' is a list, which must be the only input", name));
      sample.width = static_cast<int64_t>(field.width);
      for (size_t i = 0; i < field.count; ++i) AddNumber(field, record_.items[field.first + i], name, sample.values);
    }
  }

  void AddNumber(const Field& field, std::string_view text, std::string_view name, std::vector<double>& out) {
    text = Trimmed(text);
    if (!field.present || IsMissing(text)) {
      if (settings_.task != Task::Forecast) return Refuse(fmt::format("'{}' is missing; wanted a number", name));
      out.push_back(std::nan(""));
      return;
    }
    const std::optional<double> number = NumberOf(text);
    if (!number) return Refuse(fmt::format("'{}' is \"{}\"; wanted a number below 3.4e38 in size", name, Shown(text)));
    out.push_back(*number);
  }

  void TakeCategory(const Field& field, std::string_view name, TextSample& sample) {
    if (field.list) return Refuse(fmt::format("'{}' is a list; wanted one category", name));
    const std::string_view text = Trimmed(field.text);
    if (text.size() > kLongestLabel)
      return Refuse(fmt::format("'{}' has {} bytes, and a category at most {}", name, text.size(), kLongestLabel));
    sample.categories.push_back(!field.present || IsMissing(text) ? std::string_view() : text);
  }

  void TakeDate(const Field& field, std::string_view name, TextSample& sample) {
    const std::string_view text = field.list ? std::string_view() : Trimmed(field.text);
    const std::optional<CalendarTime> time = ParseDate(text);
    if (!time)
      return Refuse(
          fmt::format("'{}' is \"{}\"; wanted a date as 2026-11-17, 2026-11 or 2026-11-17T09:30:00", name, Shown(text)));
    sample.dates.push_back(*time);
  }

  void TakeLabel(const Field& field, std::string_view name, TextSample& sample) {
    if (settings_.task == Task::Regress || settings_.task == Task::Forecast) {
      if (!field.list) return AddNumber(field, field.text, name, sample.targets);
      for (size_t i = 0; i < field.count; ++i) AddNumber(field, record_.items[field.first + i], name, sample.targets);
      return;
    }
    if (!field.present && !settings_.several_labels()) return Refuse(fmt::format("'{}' is missing; wanted a label", name));
    if (settings_.set_labels()) return TakeSets(field, name, sample);
    if (field.list) {
      if (settings_.task == Task::Classify && !settings_.several_labels())
        return Refuse(fmt::format("'{}' is a list; several labels a sample need data.label_separator", name));
      for (size_t i = 0; i < field.count; ++i) AddLabel(record_.items[field.first + i], name, sample);
    } else if (settings_.task == Task::Tag) {
      for (const std::string_view label : Blanks(field.text)) AddLabel(label, name, sample);
    } else if (settings_.several_labels()) {
      AddSeparated(field.text, name, sample);
    } else {
      AddLabel(field.text, name, sample);
    }
  }

  // A set of labels a step: a list of lists, or texts with the separator between the labels; the separator alone is no label.
  void TakeSets(const Field& field, std::string_view name, TextSample& sample) {
    if (!field.present) return Refuse(fmt::format("'{}' is missing; wanted labels of each step", name));
    if (field.inner > 0) {
      size_t item = field.first;
      for (size_t i = 0; i < field.inner; ++i) {
        const size_t count = record_.inner[field.first_inner + i];
        for (size_t label = 0; label < count; ++label) AddLabel(record_.items[item++], name, sample);
        sample.sets.push_back(count);
      }
      return;
    }
    const auto add = [&](std::string_view step) {
      const size_t before = sample.labels.size();
      if (Trimmed(step) != settings_.label_separator) AddSeparated(step, name, sample);
      sample.sets.push_back(sample.labels.size() - before);
    };
    if (field.list) {
      for (size_t i = 0; i < field.count; ++i) add(record_.items[field.first + i]);
    } else {
      for (const std::string_view step : Blanks(field.text)) add(step);
    }
  }

  void AddSeparated(std::string_view rest, std::string_view name, TextSample& sample) {
    while (!Trimmed(rest).empty()) {
      const size_t end = std::min(rest.find(settings_.label_separator), rest.size());
      AddLabel(rest.substr(0, end), name, sample);
      rest.remove_prefix(std::min(end + settings_.label_separator.size(), rest.size()));
    }
  }

  void AddLabel(std::string_view label, std::string_view name, TextSample& sample) {
    label = Trimmed(label);
    if (label.empty()) return Refuse(fmt::format("'{}' is empty; wanted a label", name));
    if (label.size() > kLongestLabel)
      return Refuse(
          fmt::format("'{}' has {} bytes, and a label at most {}; is it the text?", name, label.size(), kLongestLabel));
    sample.labels.push_back(label);
  }

  const std::vector<std::string_view>& Blanks(std::string_view text) {
    blanks_.clear();
    for (size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
      const size_t end = std::min(text.find_first_of(" \t", at), text.size());
      blanks_.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(" \t", end);
    }
    return blanks_;
  }

  std::unique_ptr<RecordReader> records_;
  const TextSettings& settings_;
  Tokenizer& tokenizer_;
  BadLines& bad_;
  Record record_;
  std::string problem_;
  std::vector<std::string_view> blanks_;
};

// One long text in stretches; each is a sample as far as this reader goes.
class StreamReader final : public SampleReader {
 public:
  StreamReader(LineReader lines, Tokenizer& tokenizer, BadLines& bad)
      : lines_(std::move(lines)), tokenizer_(tokenizer), bad_(bad) {}
  const ByteSource& source() const override { return lines_.source(); }
  Result<bool> Next(TextSample& sample) override {
    while (true) {
      Result<bool> next = lines_.NextStretch();
      if (!next.ok() || !next.value()) return next;
      sample.line = lines_.number();
      if (!lines_.problem().empty()) {
        PLIMSOLL_RETURN_IF_ERROR(bad_.Note(source().path(), lines_.problem()));
        continue;
      }
      tokenizer_.Split(lines_.line(), sample.tokens);
      if (!sample.tokens.empty()) return true;
    }
  }

 private:
  LineReader lines_;
  Tokenizer& tokenizer_;
  BadLines& bad_;
};

Status CheckSettings(const TextSettings& settings) {
  const bool values = settings.task == Task::Regress || settings.task == Task::Forecast;
  if (!values && settings.label.size() > 1)
    return Status::Usage("data.label: a list of columns, which belongs to values: regress and forecast",
                         "one column; with data.label_separator it may hold several labels");
  if (settings.several_labels() && !LearnsClasses(settings.task))
    return Status::Usage("data.label_separator: several labels belong to tasks \"classify\", \"tag\" and \"lm\"",
                         "leave it out");
  if (settings.set_labels() && settings.label_separator.find_first_of(" \t") != std::string::npos)
    return Status::Usage("data.label_separator: blanks stand between the steps, and cannot stand between the labels of one",
                         "for example label_separator = \",\"");
  if (settings.set_steps() && settings.stream)
    return Status::Usage("data.window: a text whose steps are sets of labels is a record of its own", "leave it out");
  if (settings.task == Task::Lm && settings.numbers())
    return Status::Usage("data.inputs, categories and dates: a language model reads text", "name the column with data.text");
  if (settings.task == Task::Tag && settings.numbers())
    return Status::Usage("data.inputs, categories and dates: labels of every step go with tokens here",
                         "save numbers as .npz, with y of (samples, steps)");
  for (const std::vector<std::string>* names : {&settings.sides.categories, &settings.sides.dates}) {
    for (size_t i = 0; i < names->size(); ++i) {
      if (std::count(names->begin(), names->end(), (*names)[i]) > 1)
        return Status::Usage(fmt::format("data.{}: '{}' stands there twice",
                                         names == &settings.sides.dates ? "dates" : "categories", (*names)[i]),
                             "name every column once");
    }
  }
  if (settings.tokens == TokenKind::Bpe && !settings.numbers()) {
    if (settings.task == Task::Tag)
      return Status::Usage("data.tokens = \"bpe\": a tag belongs to a whole token, and pieces of one have none",
                           "data.tokens = \"word\"");
    if (settings.lower)
      return Status::Usage("data.lower: byte-pair encoding loses nothing, and small letters would",
                           "leave it out, or data.tokens = \"word\"");
    const bool ends = settings.task == Task::Lm && !settings.stream;
    if (settings.vocabulary > 0 && settings.vocabulary < (ends ? 258 : 256))
      return Status::Usage(fmt::format("data.vocabulary = {}: byte-pair encoding begins with all 256 bytes{}",
                                       settings.vocabulary, ends ? ", \\begin and \\end" : ""),
                           "some thousands are usual");
  }
  if (settings.stream && settings.format != DataFormat::Text)
    return Status::Usage("data.window: one long text is read from a plain text file",
                         "leave data.window out: then every record is a text of its own");
  return Status::Ok();
}

}  // namespace

std::optional<double> NumberOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0.0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text == "true") return 1.0;
  if (text == "false") return 0.0;
  if (error != std::errc() || stop != text.data() + text.size() || !(std::abs(number) <= FLT_MAX)) return std::nullopt;
  return number;
}

bool IsMissing(std::string_view text) {
  return text.empty() || text == "NA" || text == "NaN" || text == "nan" || text == "null" || text == "?";
}

std::string TextSettings::AsText() const {
  return fmt::format(
      "task={} format={} text={} inputs={} label={} series={} header={} tokens={} lower={} separator={} stream={} "
      "max_length={} skip_bad={} vocabulary={} valid_share={} categories={} dates={} split_seed={}",
      TaskName(task), static_cast<int>(format), text, fmt::join(inputs, "\x1f"), fmt::join(label, "\x1f"), series,
      header ? (*header ? "yes" : "no") : "unset", static_cast<int>(tokens), lower, label_separator, stream, max_length,
      skip_bad, vocabulary, valid_share, fmt::join(sides.categories, "\x1f"), fmt::join(sides.dates, "\x1f"), split_seed);
}

Result<TextSettings> SettingsOf(const DataOptions& data, Task task, const std::string& path) {
  TextSettings settings{.task = task,
                        .format = data.format,
                        .text = data.text,
                        .inputs = data.inputs,
                        .sides = {.categories = data.categories, .dates = data.dates},
                        .label = data.label,
                        .series = data.series,
                        .header = data.header,
                        .tokens = data.tokens,
                        .lower = data.lower,
                        .label_separator = data.label_separator,
                        .stream = task == Task::Lm && data.window > 0,
                        .max_length = data.max_length,
                        .skip_bad = data.skip_bad,
                        .vocabulary = data.vocabulary,
                        .valid_share = task == Task::Forecast || !data.categories.empty() ? data.valid_share : 0.0};
  if (settings.format == DataFormat::Auto) {
    const Result<DataFormat> found = FormatOf(path);
    if (!found.ok()) return found.status();
    settings.format = found.value();
    // Tags come a token a line as a rule, whatever such a file is called.
    if (task == Task::Tag && settings.format == DataFormat::Text) settings.format = DataFormat::Conll;
  }
  if (settings.tokens == TokenKind::Auto) settings.tokens = task == Task::Lm ? TokenKind::Char : TokenKind::Word;
  if (!settings.text.empty() && settings.numbers())
    return Status::Usage(fmt::format("data.text and data.{}: inputs are either text or columns of a table",
                                     !data.inputs.empty()       ? "inputs"
                                     : !data.categories.empty() ? "categories"
                                                                : "dates"),
                         "leave one of them out");
  if (task == Task::Forecast && settings.inputs.empty()) settings.inputs = settings.label;
  if (task == Task::Forecast && settings.label.empty())
    return Status::Usage("data.label: which column is to be forecast?", "name it, or several of them: label = [\"a\", \"b\"]");
  if (task == Task::Forecast && data.window < 1)
    return Status::Usage("data.window: how many steps does a forecast look back?", "for example window = 48, and horizon = 1");
  const bool columns = settings.format != DataFormat::Text && settings.format != DataFormat::Conll;
  if (settings.text.empty() && !settings.numbers()) settings.text = columns ? "text" : "1";
  if (settings.label.empty() && task != Task::Lm) {
    if (settings.format == DataFormat::Text)
      return Status::Usage(fmt::format("{}: plain text has no labels, which task \"{}\" needs", path, TaskName(task)),
                           "use a table or JSON lines, or task = \"lm\"");
    settings.label = {columns ? "label" : "-1"};
  }
  if (task == Task::Lm) settings.label.clear();
  PLIMSOLL_RETURN_IF_ERROR(CheckSettings(settings));
  return settings;
}

Result<TextSettings> InputSettingsOf(const DataOptions& data, Task task, const std::string& path, DataFormat format) {
  DataOptions own = data;
  own.format = format;
  if (format == DataFormat::Auto && path == kStdin) own.format = DataFormat::Text;
  if (own.format == DataFormat::Auto) {
    const Result<DataFormat> found = FormatOf(path);
    if (!found.ok()) return found.status();
    own.format = task == Task::Tag && found.value() == DataFormat::Text ? DataFormat::Conll : found.value();
  }
  const bool columns = own.format != DataFormat::Text && own.format != DataFormat::Conll;
  std::vector<std::string> read = own.inputs.empty() && task == Task::Forecast ? own.label : own.inputs;
  for (const std::vector<std::string>* more : {&own.categories, &own.dates})
    read.insert(read.end(), more->begin(), more->end());
  if (own.format == DataFormat::Text && !read.empty())
    return Status::Usage(fmt::format("{}: plain text has no columns, and the model reads {}", path == kStdin ? "stdin" : path,
                                     fmt::join(read, ", ")),
                         "--input-format csv, tsv or jsonl");
  if (!columns && read.empty()) own.text = "1";
  if (own.label.empty()) own.label = {"label"};  // which nobody asks for
  Result<TextSettings> settings = SettingsOf(own, task, path);
  if (settings.ok()) settings->label.clear();
  return settings;
}

Status BadLines::Note(const std::string& path, const std::string& problem) {
  std::string line = fmt::format("{}:{}", path, problem);
  if (count_ >= allowed_)
    return Status::Data(allowed_ == 0 ? line : fmt::format("{}; {} bad lines before it were passed over", line, allowed_),
                        allowed_ == 0 ? "correct the line, or pass over some with --skip-bad N" : "");
  ++count_;
  if (first_.size() < kMostListed) first_.push_back(std::move(line));
  return Status::Ok();
}

void BadLines::Restart() {
  count_ = 0;
  first_.clear();
}

Result<std::unique_ptr<SampleReader>> SampleReader::Open(const std::string& path, const TextSettings& settings,
                                                         Tokenizer& tokenizer, BadLines& bad) {
  const LineReader::Options lines{.most_bytes = settings.line_bytes,
                                  .most_window = settings.window_bytes,
                                  .check_utf8 = settings.tokens != TokenKind::Byte};
  if (settings.stream) {
    Result<LineReader> reader = LineReader::Open(path, lines);
    if (!reader.ok()) return reader.status();
    return std::unique_ptr<SampleReader>(std::make_unique<StreamReader>(std::move(reader).value(), tokenizer, bad));
  }
  RecordRequest request{.columns = settings.inputs,
                        .format = settings.format,
                        .header = settings.header,
                        .lines = lines,
                        .uneven = settings.set_labels()};
  if (!settings.numbers()) request.columns = {settings.text};
  request.columns.insert(request.columns.end(), settings.label.begin(), settings.label.end());
  for (const std::vector<std::string>* names : {&settings.sides.categories, &settings.sides.dates})
    request.columns.insert(request.columns.end(), names->begin(), names->end());
  if (!settings.series.empty()) request.columns.push_back(settings.series);
  Result<std::unique_ptr<RecordReader>> records = RecordReader::Open(path, request);
  if (!records.ok()) return records.status();
  return std::unique_ptr<SampleReader>(std::make_unique<RecordSamples>(std::move(records).value(), settings, tokenizer, bad));
}

}  // namespace plimsoll
