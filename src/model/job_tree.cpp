#include "model/job_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

// A file that cannot be read is a value here: not an exception, and not a failed assertion either. toml++ 3.3 asserts
// what a user's file can break ("[ # x", "a = [}"), and in an optimised build tells the compiler to assume it; with
// both taken away its next line reports the error as it should.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace plimsoll {
namespace {

constexpr size_t kLongestShown = 60;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kDeepest = 32;  // tables inside lists inside tables; a job needs four

JobValue OfKind(JobValue::Kind kind, int line = 0) {
  JobValue value;
  value.kind = kind;
  value.line = line;
  return value;
}

JobValue FromToml(const toml::node& node) {
  JobValue value;
  if (const auto* flag = node.as_boolean()) {
    value = FlagValue(flag->get());
  } else if (const auto* whole = node.as_integer()) {
    value = WholeValue(whole->get());
  } else if (const auto* number = node.as_floating_point()) {
    value = NumberValue(number->get());
  } else if (const auto* text = node.as_string()) {
    value = TextValue(text->get());
  } else if (const auto* list = node.as_array()) {
    value.kind = JobValue::Kind::List;
    for (const toml::node& item : *list) value.list.push_back(FromToml(item));
  } else if (const auto* table = node.as_table()) {
    value.kind = JobValue::Kind::Table;
    for (const auto& [key, item] : *table) {
      value.table.push_back({std::string(key.str()), static_cast<int>(key.source().begin.line), FromToml(item)});
    }
  } else {
    value.kind = JobValue::Kind::Date;
  }
  value.line = static_cast<int>(node.source().begin.line);
  return value;
}

// The first byte beyond ASCII that stands outside quotes and comments, where TOML allows none. toml++ 3.3 must not see
// one: its test for blanks runs into an "unreachable" there (U+00E9, for example).
std::optional<size_t> FirstStrayByte(std::string_view text) {
  size_t i = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (i < text.size()) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 128) return i;
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      const bool many_lines = text.substr(i, 3) == std::string(3, c);
      const std::string_view quotes = text.substr(i, many_lines ? 3 : 1);
      for (i += quotes.size(); i < text.size() && !text.substr(i).starts_with(quotes); ++i) {
        if (text[i] == '\n' && !many_lines) break;  // never closed; toml++ says so
        if (text[i] == '\\' && c == '"') ++i;
      }
      i = std::min(i + quotes.size(), text.size());
    } else {
      ++i;
    }
  }
  return std::nullopt;
}

Result<JobValue> ParseToml(std::string_view text, const std::string& file) {
  if (const std::optional<size_t> stray = FirstStrayByte(text)) {
    const std::string_view before = text.substr(0, *stray);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    return Status::Usage(
        fmt::format("{}:{}:{}: not TOML: a character beyond ASCII outside quotes and comments", file, line, column));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    return Status::Usage(fmt::format("{}:{}:{}: not TOML: {}", file, at.line, at.column, parsed.error().description()));
  }
  return FromToml(parsed.table());
}

// Counts the bytes that the JSON reader has taken, because it tells no positions of its own.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* taken_;
};

// Receives the JSON reader's events and builds the tree. Returning false ends the reading; error() then says why.
class JsonBuilder {
 public:
  JsonBuilder(std::string_view text, const std::string& file, const size_t* taken) : text_(text), file_(file), taken_(taken) {}

  bool null() { return Add(OfKind(JobValue::Kind::Null)); }
  bool boolean(bool flag) { return Add(FlagValue(flag)); }
  bool number_integer(int64_t whole) { return Add(WholeValue(whole)); }
  bool number_unsigned(uint64_t whole) {
    if (!std::in_range<int64_t>(whole)) return Add(NumberValue(static_cast<double>(whole)));
    return Add(WholeValue(static_cast<int64_t>(whole)));
  }
  bool number_float(double number, const std::string&) { return Add(NumberValue(number)); }
  bool string(std::string& text) { return Add(TextValue(std::move(text))); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(size_t) { return Open(JobValue::Kind::Table); }
  bool start_array(size_t) { return Open(JobValue::Kind::List); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    for (const JobEntry& entry : open_.back().value.table) {
      if (entry.key == name) return Fail(fmt::format("the key {} stands here twice", Quoted(name)));
    }
    key_ = std::move(name);
    key_line_ = Line(*taken_);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what"; the place is ours to say.
    std::string_view what = error.what();
    if (const size_t colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    const std::string_view before = text_.substr(0, position == 0 ? 0 : position - 1);
    const size_t newline = before.rfind('\n');
    const size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    error_ = Status::Usage(fmt::format("{}:{}:{}: not JSON: {}", file_, Line(position), column, what));
    return false;
  }

  JobValue TakeRoot() { return std::move(root_); }
  const Status& error() const { return error_; }

 private:
  struct OpenValue {
    std::string key;  // in the table around it
    int key_line = 0;
    JobValue value;
  };

  // The line of the last byte of `text_[0, position)`: behind a number the reader has taken one byte more.
  int Line(size_t position) const {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(position == 0 ? 0 : position - 1, text_.size()));
    return 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
  }
  bool Fail(const std::string& what) {
    error_ = Status::Usage(fmt::format("{}:{}: {}", file_, Line(*taken_), what));
    return false;
  }
  bool Add(JobValue value) {
    if (value.line == 0) value.line = Line(*taken_);
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.kind == JobValue::Kind::List) {
      open_.back().value.list.push_back(std::move(value));
    } else {
      open_.back().value.table.push_back({std::move(key_), key_line_, std::move(value)});
    }
    return true;
  }
  bool Open(JobValue::Kind kind) {
    if (open_.size() == kDeepest) return Fail(fmt::format("nested deeper than {} levels", kDeepest));
    open_.push_back({std::move(key_), key_line_, OfKind(kind, Line(*taken_))});
    return true;
  }
  bool Close() {
    OpenValue closed = std::move(open_.back());
    open_.pop_back();
    key_ = std::move(closed.key);
    key_line_ = closed.key_line;
    return Add(std::move(closed.value));
  }

  std::string_view text_;
  const std::string& file_;
  const size_t* taken_;
  std::vector<OpenValue> open_;  // from the outermost in
  std::string key_;              // of the value that comes next
  int key_line_ = 0;
  JobValue root_;
  Status error_;
};

Result<JobValue> ParseJson(std::string_view text, const std::string& file) {
  size_t taken = 0;
  JsonBuilder builder(text, file, &taken);
  const CountingIterator begin(text.data(), &taken);
  const CountingIterator end(text.data() + text.size(), &taken);
  if (!nlohmann::json::sax_parse(begin, end, &builder)) return builder.error();
  return builder.TakeRoot();
}

bool LooksLikeJson(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

JobValue FlagValue(bool flag) {
  JobValue value = OfKind(JobValue::Kind::Flag);
  value.flag = flag;
  return value;
}
JobValue WholeValue(int64_t whole) {
  JobValue value = OfKind(JobValue::Kind::Whole);
  value.whole = whole;
  return value;
}
JobValue NumberValue(double number) {
  JobValue value = OfKind(JobValue::Kind::Number);
  value.number = number;
  return value;
}
JobValue TextValue(std::string text) {
  JobValue value = OfKind(JobValue::Kind::Text);
  value.text = std::move(text);
  return value;
}

std::string NumberText(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongestShown)) quoted += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  return quoted + (text.size() > kLongestShown ? "...\"" : "\"");
}

std::string Describe(const JobValue& value) {
  switch (value.kind) {
    case JobValue::Kind::Null:
      return "null";
    case JobValue::Kind::Flag:
      return value.flag ? "true" : "false";
    case JobValue::Kind::Whole:
      return fmt::format("{}", value.whole);
    case JobValue::Kind::Number:
      return NumberText(value.number);
    case JobValue::Kind::Text:
      return "text " + Quoted(value.text);
    case JobValue::Kind::Date:
      return "a date or time";
    case JobValue::Kind::List:
      return "a list";
    case JobValue::Kind::Table:
      return "a table";
  }
  return "";
}

Result<JobValue> ParseJobText(std::string_view text, const std::string& file) {
  return LooksLikeJson(text) ? ParseJson(text, file) : ParseToml(text, file);
}

JobValue ParseOverrideValue(std::string_view typed) {
  // One line with one key, or a newline in the text would smuggle in a second one.
  const std::string line = fmt::format("value = {}", typed);
  if (line.find_first_of("\r\n") == std::string::npos && !FirstStrayByte(line)) {
    const toml::parse_result parsed = toml::parse(line);
    if (parsed && parsed.table().size() == 1 && parsed.table().contains("value")) {
      JobValue value = FromToml(*parsed.table().get("value"));
      value.line = 0;
      if (value.kind != JobValue::Kind::Text) value.text = typed;
      return value;
    }
  }
  double number = 0.0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  JobValue value = TextValue(std::string(typed));
  if (error == std::errc() && end == typed.data() + typed.size()) {
    value.kind = JobValue::Kind::Number;
    value.number = number;
  }
  return value;
}

}  // namespace plimsoll
