#include "data/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "data/json_reader.h"
#include "plimsoll/text.h"

namespace plimsoll {
namespace {

constexpr size_t kMostColumns = 65536;
constexpr size_t kMostShown = 20;  // names in a message

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

// A column that is asked for by its place: from 1 on, or -1.
std::optional<int64_t> ColumnNumber(std::string_view column) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(column.data(), column.data() + column.size(), number);
  if (error != std::errc() || stop != column.data() + column.size() || number == 0 || number < -1) return std::nullopt;
  return number;
}

std::string NamesText(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostShown);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<int64_t>(shown), ", "),
                     names.size() > shown ? ", ..." : "");
}

// Places of the columns asked for among `count`, of which a header gives the names.
Result<std::vector<size_t>> FindColumns(const std::string& path, const std::vector<std::string>& wanted,
                                        const std::vector<std::string>& names, size_t count) {
  std::vector<size_t> places;
  for (const std::string& column : wanted) {
    const auto named = std::find(names.begin(), names.end(), column);
    if (named != names.end()) {
      places.push_back(static_cast<size_t>(named - names.begin()));
      continue;
    }
    const std::optional<int64_t> number = ColumnNumber(column);
    if (number && *number <= static_cast<int64_t>(count)) {
      places.push_back(*number < 0 ? count - 1 : static_cast<size_t>(*number - 1));
      continue;
    }
    if (number)
      return Status::Data(fmt::format("{}: has no column {}; it has {}", path, column, count), "columns count from 1");
    const std::vector<std::string_view> near(names.begin(), names.end());
    return Status::Data(
        names.empty()
            ? fmt::format("{}: has no column '{}', because it has no header; it has {} columns", path, column, count)
            : fmt::format("{}: has no column '{}'; it has {}{}", path, column, NamesText(names), DidYouMean(column, near)),
        names.empty() ? "ask for a column by its number, from 1 on" : "");
  }
  if (wanted.empty()) {
    for (size_t i = 0; i < count; ++i) places.push_back(i);
  }
  return places;
}

class TextReader final : public RecordReader {
 public:
  explicit TextReader(LineReader lines) : RecordReader(std::move(lines)) {}
  Result<bool> Next(Record& record) override {
    Result<bool> next = lines_.Next();
    if (!next.ok() || !next.value()) return next;
    record.line = lines_.number();
    record.problem = lines_.problem();
    record.items.clear();
    record.fields.assign(1, {.present = true, .text = lines_.line()});
    return true;
  }
};

class TableReader final : public RecordReader {
 public:
  TableReader(LineReader lines, bool quotes) : RecordReader(std::move(lines)), quotes_(quotes) {}

  Status Start(const RecordRequest& request) {
    const Result<bool> first = Split();
    if (!first.ok()) return first.status();
    if (!first.value()) return Status::Data(fmt::format("{}: is empty; wanted at least one line", path()));
    const bool named = std::any_of(request.columns.begin(), request.columns.end(),
                                   [](const std::string& column) { return !ColumnNumber(column); });
    if (!problem_.empty()) return Status::Data(fmt::format("{}:{}", path(), problem_));
    count_ = starts_.size();
    const bool header = request.header.value_or(named);
    if (header) {
      for (size_t i = 0; i < count_; ++i) columns_.emplace_back(At(i));
    } else {
      given_back_ = true;
    }
    Result<std::vector<size_t>> places = FindColumns(path(), request.columns, columns_, count_);
    if (!places.ok()) return places.status();
    places_ = std::move(places).value();
    return Status::Ok();
  }

  Result<bool> Next(Record& record) override {
    if (given_back_) {
      given_back_ = false;
    } else {
      Result<bool> next = Split();
      if (!next.ok() || !next.value()) return next;
    }
    record.line = line_;
    record.problem = problem_;
    record.items.clear();
    record.fields.clear();
    if (problem_.empty() && starts_.size() != count_)
      record.problem = fmt::format("{}: has {} columns, wanted {}{}", line_, starts_.size(), count_,
                                   quotes_ ? "; a text with commas needs quotes" : "");
    if (!record.problem.empty()) return true;
    for (const size_t place : places_) {
      const std::string_view text = At(place);
      record.fields.push_back({.present = true, .text = text});
    }
    return true;
  }

 private:
  const std::string& path() const { return lines_.source().path(); }
  std::string_view At(size_t column) const {
    const size_t end = column + 1 < starts_.size() ? starts_[column + 1] : bytes_.size();
    return std::string_view(bytes_).substr(starts_[column], end - starts_[column]);
  }

  // One record into bytes_ and starts_; false: there is none. Lines of nothing are passed over.
  Result<bool> Split() {
    problem_.clear();
    do {
      Result<bool> next = lines_.Next();
      if (!next.ok() || !next.value()) return next;
    } while (lines_.line().empty() && lines_.problem().empty());
    line_ = lines_.number();
    problem_ = lines_.problem();
    bytes_.clear();
    starts_.assign(1, 0);
    if (!problem_.empty()) return true;
    if (!quotes_ || lines_.line().find('"') == std::string_view::npos) {
      SplitPlain(quotes_ ? ',' : '\t');
      return true;
    }
    const Status split = SplitQuoted();
    if (!split.ok()) return split;
    return true;
  }

  void SplitPlain(char between) {
    std::string_view rest = lines_.line();
    bytes_.reserve(rest.size());
    for (size_t at = rest.find(between); at != std::string_view::npos && starts_.size() < kMostColumns;
         at = rest.find(between)) {
      bytes_.append(rest.substr(0, at));
      starts_.push_back(bytes_.size());
      rest.remove_prefix(at + 1);
    }
    bytes_.append(rest);
  }

  Status SplitQuoted() {
    std::string_view rest = lines_.line();
    bool quoted = rest.starts_with('"');
    if (quoted) rest.remove_prefix(1);
    while (true) {
      if (!quoted) {
        const size_t comma = rest.find(',');
        const std::string_view field = rest.substr(0, comma);
        if (field.find('"') != std::string_view::npos && problem_.empty())
          problem_ = fmt::format("{}: a quote inside a field that does not begin with one; wanted \"a \"\"word\"\" in quotes\"",
                                 lines_.number());
        bytes_.append(field);
        if (comma == std::string_view::npos) return Status::Ok();
        rest.remove_prefix(comma + 1);
      } else {
        const size_t quote = rest.find('"');
        bytes_.append(rest.substr(0, quote));
        if (quote == std::string_view::npos) {  // the field goes on behind the line break
          bytes_ += '\n';
          PLIMSOLL_RETURN_IF_ERROR(NextLineOfField());
          rest = lines_.line();
          continue;
        }
        rest.remove_prefix(quote + 1);
        if (rest.starts_with('"')) {
          bytes_ += '"';
          rest.remove_prefix(1);
          continue;
        }
        if (rest.empty()) return Status::Ok();
        if (rest.front() != ',' && problem_.empty())
          problem_ = fmt::format("{}: text behind a closing quote; wanted a comma or the line's end", lines_.number());
        if (!problem_.empty()) return Status::Ok();
        rest.remove_prefix(1);
      }
      starts_.push_back(bytes_.size());
      quoted = rest.starts_with('"');
      if (quoted) rest.remove_prefix(1);
    }
  }

  Status NextLineOfField() {
    Result<bool> next = lines_.Next();
    if (!next.ok()) return next.status();
    if (!next.value() || static_cast<int64_t>(bytes_.size()) > kLineBytes)
      return Status::Data(
          fmt::format("{}:{}: a quote is opened in this record and never closed", path(), line_),
          "close it, double the quotes inside quoted text, or set data.format = \"tsv\" for a file without quoting");
    if (problem_.empty()) problem_ = lines_.problem();
    return Status::Ok();
  }

  bool quotes_;
  bool given_back_ = false;  // the first record is no header
  size_t count_ = 0;
  std::vector<size_t> places_;
  int64_t line_ = 0;
  std::string problem_;
  std::string bytes_;  // the fields of the record, one behind the other
  std::vector<size_t> starts_;
};

class JsonLinesReader final : public RecordReader {
 public:
  JsonLinesReader(LineReader lines, std::vector<std::string> keys, bool uneven)
      : RecordReader(std::move(lines)), reader_(std::move(keys), uneven) {}

  Result<bool> Next(Record& record) override {
    do {
      Result<bool> next = lines_.Next();
      if (!next.ok() || !next.value()) return next;
    } while (IsBlank(lines_.line()) && lines_.problem().empty());
    record.line = lines_.number();
    record.problem = lines_.problem();
    if (record.problem.empty()) {
      const std::string wrong = reader_.Read(lines_.line(), record);
      if (!wrong.empty()) record.problem = fmt::format("{}:{}", record.line, wrong);
    }
    return true;
  }

 private:
  JsonReader reader_;
};

class ConllReader final : public RecordReader {
 public:
  ConllReader(LineReader lines, std::vector<std::string> columns)
      : RecordReader(std::move(lines)), wanted_(std::move(columns)) {}

  Result<bool> Next(Record& record) override {
    record.problem.clear();
    bytes_.clear();
    cuts_.clear();
    steps_ = 0;
    while (true) {
      Result<bool> next = lines_.Next();
      if (!next.ok()) return next;
      if (!next.value() && steps_ == 0) return false;
      const std::string_view line = next.value() ? lines_.line() : std::string_view();
      if (steps_ == 0) record.line = lines_.number();
      if (!next.value() || (IsBlank(line) && lines_.problem().empty())) {
        if (steps_ == 0) continue;
        if (Fill(record)) return true;
        continue;
      }
      if (record.problem.empty()) record.problem = lines_.problem();
      const Status added = AddStep(line, record);
      if (!added.ok()) return added;
    }
  }

 private:
  Status AddStep(std::string_view line, Record& record) {
    std::vector<std::string_view>& found = found_;
    found.clear();
    for (size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
      const size_t end = std::min(line.find_first_of(" \t", at), line.size());
      found.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(" \t", end);
    }
    ++steps_;
    if (static_cast<int64_t>(bytes_.size() + line.size()) > kLineBytes)
      return Status::Data(
          fmt::format("{}:{}: a sequence longer than 8 MiB; an empty line stands behind each", Path(), record.line));
    if (!record.problem.empty()) return Status::Ok();
    for (const std::string& column : wanted_) {
      const std::optional<int64_t> number = ColumnNumber(column);
      if (!number)
        return Status::Data(fmt::format("{}: has no column '{}', because it has no header", Path(), column),
                            "ask for a column by its number, from 1 on; -1 is the last");
      const int64_t place = *number < 0 ? static_cast<int64_t>(found.size()) - 1 : *number - 1;
      if (place >= static_cast<int64_t>(found.size())) {
        record.problem = fmt::format("{}: has {} columns, column {} was asked for", lines_.number(), found.size(), *number);
        return Status::Ok();
      }
      bytes_.append(found[static_cast<size_t>(place)]);
      cuts_.push_back(bytes_.size());
    }
    return Status::Ok();
  }

  // Columns of all steps as lists. False: the mark of a document's start, which is no sequence.
  bool Fill(Record& record) {
    record.items.clear();
    record.fields.clear();
    if (record.problem.empty()) {
      if (steps_ == 1 && bytes_.starts_with("-DOCSTART-")) {
        bytes_.clear();
        cuts_.clear();
        steps_ = 0;
        return false;
      }
      const size_t columns = wanted_.size();
      for (size_t column = 0; column < columns; ++column) {
        record.fields.push_back({.present = true, .list = true, .first = record.items.size(), .count = steps_});
        for (size_t cell = column; cell < cuts_.size(); cell += columns) {
          const size_t start = cell == 0 ? 0 : cuts_[cell - 1];
          record.items.push_back(std::string_view(bytes_).substr(start, cuts_[cell] - start));
        }
      }
    }
    return true;
  }
  const std::string& Path() const { return lines_.source().path(); }

  std::vector<std::string> wanted_;
  std::vector<std::string_view> found_;
  std::string bytes_;
  std::vector<size_t> cuts_;  // ends of the cells in bytes_, step by step
  size_t steps_ = 0;
};

}  // namespace

Result<DataFormat> FormatOf(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst", ".zstd"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  constexpr std::pair<std::string_view, DataFormat> kNames[] = {{".txt", DataFormat::Text},    {".tsv", DataFormat::Tsv},
                                                                {".tab", DataFormat::Tsv},     {".csv", DataFormat::Csv},
                                                                {".jsonl", DataFormat::Jsonl}, {".ndjson", DataFormat::Jsonl},
                                                                {".conll", DataFormat::Conll}, {".bio", DataFormat::Conll}};
  for (const auto& [end, format] : kNames) {
    if (name.ends_with(end)) return format;
  }
  Result<LineReader> lines = LineReader::Open(path, {});
  if (!lines.ok()) return lines.status();
  Result<bool> next = lines->Next();
  if (!next.ok()) return next.status();
  const std::string_view line = lines->line();
  if (const size_t first = line.find_first_not_of(" \t"); first != std::string_view::npos && line[first] == '{')
    return DataFormat::Jsonl;
  return line.find('\t') != std::string_view::npos ? DataFormat::Tsv : DataFormat::Text;
}

Result<std::unique_ptr<RecordReader>> RecordReader::Open(const std::string& path, const RecordRequest& request) {
  DataFormat format = request.format;
  if (format == DataFormat::Auto) {
    const Result<DataFormat> found = FormatOf(path);
    if (!found.ok()) return found.status();
    format = found.value();
  }
  Result<LineReader> lines = LineReader::Open(path, request.lines);
  if (!lines.ok()) return lines.status();
  switch (format) {
    case DataFormat::Tsv:
    case DataFormat::Csv: {
      auto table = std::make_unique<TableReader>(std::move(lines).value(), format == DataFormat::Csv);
      PLIMSOLL_RETURN_IF_ERROR(table->Start(request));
      return std::unique_ptr<RecordReader>(std::move(table));
    }
    case DataFormat::Jsonl:
      return std::unique_ptr<RecordReader>(
          std::make_unique<JsonLinesReader>(std::move(lines).value(), request.columns, request.uneven));
    case DataFormat::Conll:
      return std::unique_ptr<RecordReader>(std::make_unique<ConllReader>(std::move(lines).value(), request.columns));
    default:
      if (request.columns.size() > 1 || (!request.columns.empty() && request.columns[0] != "1"))
        return Status::Data(fmt::format("{}: is plain text, which has no column '{}'", path, request.columns.back()),
                            "set data.format = \"tsv\" or \"csv\" where it is a table under another name");
      return std::unique_ptr<RecordReader>(std::make_unique<TextReader>(std::move(lines).value()));
  }
}

}  // namespace plimsoll
