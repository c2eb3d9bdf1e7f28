#include "data/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/record_reader.h"
#include "data/utf8.h"
#include "plimsoll/text.h"

namespace plimsoll {
namespace {

constexpr int kDeepest = 64;

}  // namespace

// Walks over one line. Every call is at a value or a sign; blanks before it are passed over. An error is kept, and then
// nothing more is read.
class JsonReader::Line {
 public:
  Line(std::string_view text, std::string& bytes, bool uneven = false) : text_(text), bytes_(bytes), uneven_(uneven) {
    bytes_.clear();
    bytes_.reserve(text.size());  // so that views into it stay where they are
  }

  bool failed() const { return !wrong_.empty(); }
  const std::string& wrong() const { return wrong_; }
  void Fail(std::string_view what) {
    if (wrong_.empty()) wrong_ = fmt::format("{}: {}", at_ + 1, what);
  }

  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char sign) {
    if (failed() || Peek() != sign) return false;
    ++at_;
    return true;
  }
  void Want(char sign) {
    if (!Take(sign)) Fail(fmt::format("wanted '{}'", sign));
  }
  bool AtEnd() { return Peek() == '\0' && at_ >= text_.size(); }

  // A text in quotes, without its escapes.
  std::string_view Text() {
    Want('"');
    const size_t start = bytes_.size();
    while (!failed()) {
      const size_t stop = text_.find_first_of("\"\\", at_);
      if (stop == std::string_view::npos) {
        Fail("the text that begins before has no closing quote");
        break;
      }
      bytes_.append(text_.substr(at_, stop - at_));
      at_ = stop + 1;
      if (text_[stop] == '"') break;
      Escape();
    }
    return std::string_view(bytes_).substr(start);
  }

  // A number, true or false, as it stands.
  std::string_view Word() {
    Peek();
    const size_t start = at_;
    while (at_ < text_.size() && std::string_view(",]} \t\r").find(text_[at_]) == std::string_view::npos) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    const bool number = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) &&
                        word.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
    if (!number && word != "true" && word != "false" && word != "null") {
      at_ = start;
      Fail("wanted a value: text in quotes, a number, true, false, null, [ or {");
    }
    return word;
  }

  void Skip(int depth) {
    if (failed()) return;
    if (depth > kDeepest) return Fail("nested deeper than 64 levels");
    const char sign = Peek();
    if (sign == '"') {
      Text();
    } else if (sign == '[' || sign == '{') {
      const char close = sign == '[' ? ']' : '}';
      ++at_;
      if (Take(close)) return;
      do {
        if (sign == '{') {
          Text();
          Want(':');
        }
        Skip(depth + 1);
      } while (Take(','));
      Want(close);
    } else {
      Word();
    }
  }

  void Value(Field& field, Record& record) {
    field = {.present = true};
    const char sign = Peek();
    if (sign == '"') {
      field.text = Text();
    } else if (sign == '[') {
      ++at_;
      field.list = true;
      field.first = record.items.size();
      List(field, record);
    } else if (sign == '{') {
      Fail("an object, wanted text, a number or a list");
    } else {
      field.text = Word();
      if (field.text == "null") field = {};
    }
  }

 private:
  void List(Field& field, Record& record) {
    if (Take(']')) return;
    std::vector<std::string_view>& items = record.items;
    const bool nested = Peek() == '[';
    size_t width = 0;
    if (nested && uneven_) field.first_inner = record.inner.size();
    do {
      const size_t before = items.size();
      if (nested) {
        Want('[');
        if (!Take(']')) {
          do {
            items.push_back(Item());
          } while (Take(','));
          Want(']');
        }
        if (uneven_) {
          record.inner.push_back(items.size() - before);
          continue;
        }
        if (width == 0) width = items.size() - before;
        if (items.size() - before != width || width == 0)
          Fail(fmt::format("an inner list of {} items beside one of {}; all must have the same number, 1 or more",
                           items.size() - before, width));
      } else {
        items.push_back(Item());
      }
    } while (!failed() && Take(','));
    Want(']');
    field.count = items.size() - field.first;
    if (nested && uneven_) field.inner = record.inner.size() - field.first_inner;
    if (nested) field.width = std::max<size_t>(width, 1);
  }
  std::string_view Item() { return Peek() == '"' ? Text() : Word(); }

  void Escape() {
    const char escape = at_ < text_.size() ? text_[at_++] : '\0';
    constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const size_t known = kEscapes.find(escape); escape != '\0' && known != std::string_view::npos) {
      bytes_ += kMeant[known];
      return;
    }
    if (escape != 'u') return Fail(fmt::format("unknown escape in a text"));
    char32_t point = HexPoint();
    if (point >= 0xD800 && point < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const char32_t low = HexPoint();
      point = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00) : 0xD800;
    }
    if (point >= 0xD800 && point < 0xE000) return Fail("half of a surrogate pair, which is no character");
    char utf8[4];
    bytes_.append(utf8, WriteCodePoint(point, utf8));
  }
  char32_t HexPoint() {
    char32_t point = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) {
        Fail("wanted four hexadecimal digits behind \\u");
        return 0;
      }
      point = point << 4 | static_cast<char32_t>(digit);
    }
    return point;
  }

  std::string_view text_;
  std::string& bytes_;
  bool uneven_;
  size_t at_ = 0;
  std::string wrong_;
};

std::string JsonReader::Read(std::string_view text, Record& record) {
  Line line(text, bytes_, uneven_);
  record.items.clear();
  record.inner.clear();
  record.fields.assign(keys_.size(), {});
  size_t found = 0;
  seen_.assign(keys_.size(), false);
  line.Want('{');
  if (!line.failed() && !line.Take('}')) {
    do {
      const std::string_view key = line.Text();
      line.Want(':');
      if (line.failed()) break;
      size_t wanted = 0;
      while (wanted < keys_.size() && keys_[wanted] != key) ++wanted;
      if (wanted == keys_.size()) {
        line.Skip(1);
        continue;
      }
      if (seen_[wanted]) line.Fail(fmt::format("the key \"{}\" stands there twice", keys_[wanted]));
      line.Value(record.fields[wanted], record);
      for (size_t i = wanted; i < keys_.size(); ++i) {
        if (keys_[i] != keys_[wanted]) continue;
        record.fields[i] = record.fields[wanted];
        seen_[i] = true;
        ++found;
      }
    } while (!line.failed() && line.Take(','));
    line.Want('}');
  }
  if (!line.failed() && !line.AtEnd()) line.Fail("more behind the object; wanted one object a line");
  if (line.failed()) return line.wrong();
  if (found == keys_.size()) return "";
  const auto missing = static_cast<size_t>(std::find(seen_.begin(), seen_.end(), false) - seen_.begin());
  const std::vector<std::string> names = JsonKeys(text);
  const std::vector<std::string_view> near(names.begin(), names.end());
  return fmt::format("1: has no key \"{}\"; it has {}{}", keys_[missing], fmt::join(names, ", "),
                     DidYouMean(keys_[missing], near));
}

std::vector<std::string> JsonKeys(std::string_view text) {
  constexpr size_t kMostKeys = 100;
  std::vector<std::string> keys;
  std::string bytes;
  JsonReader::Line line(text, bytes);
  line.Want('{');
  if (line.failed() || line.Take('}')) return keys;
  do {
    keys.emplace_back(line.Text());
    line.Want(':');
    line.Skip(1);
  } while (!line.failed() && line.Take(',') && keys.size() < kMostKeys);
  return keys;
}

}  // namespace plimsoll
