#include "train/vector_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/file.h"
#include "data/npy.h"

namespace plimsoll {
namespace {

constexpr const char* kHint = "wanted a line for each id, in their order: a word and output_dim numbers";

// Words of a file and the ends of its lines, one after the other.
class Words {
 public:
  Words(const File& file, std::span<char> buffer) : file_(file), buffer_(buffer) {}

  // The next word of this line; empty: the line has ended. It is valid until the next call.
  Result<std::string_view> Next();
  Result<bool> StartLine();  // goes to the next line that is not empty; false: there is none
  int64_t line() const { return line_; }

 private:
  Status Fill();  // more of the file behind what is left in the buffer
  bool AtEnd() const { return begin_ == end_ && read_ == file_.size(); }

  const File& file_;
  std::span<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // what is in the buffer and not used yet
  int64_t read_ = 0;            // bytes of the file
  int64_t line_ = 1;
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Status Words::Fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    return Status::Data(fmt::format("{}:{}: a word of more than {} bytes", file_.path(), line_, buffer_.size()), kHint);
  }
  const int64_t bytes = std::min<int64_t>(file_.size() - read_, static_cast<int64_t>(buffer_.size() - end_));
  PLIMSOLL_RETURN_IF_ERROR(file_.ReadAt(read_, bytes, buffer_.data() + end_));
  read_ += bytes;
  end_ += static_cast<size_t>(bytes);
  return Status::Ok();
}

Result<std::string_view> Words::Next() {
  while (true) {
    while (begin_ < end_ && IsBlank(buffer_[begin_])) ++begin_;
    size_t stop = begin_;
    while (stop < end_ && !IsBlank(buffer_[stop]) && buffer_[stop] != '\n') ++stop;
    if (stop < end_ || read_ == file_.size()) {
      const std::string_view word(buffer_.data() + begin_, stop - begin_);
      begin_ = stop;
      return word;
    }
    PLIMSOLL_RETURN_IF_ERROR(Fill());  // the word may go on there
  }
}

Result<bool> Words::StartLine() {
  while (true) {
    Result<std::string_view> word = Next();
    if (!word.ok()) return word.status();
    if (!word->empty()) {
      begin_ -= word->size();  // it is for Next
      return true;
    }
    if (AtEnd()) return false;
    ++begin_;  // the line's end
    ++line_;
  }
}

std::optional<int64_t> AsWhole(std::string_view word) {
  int64_t whole = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), whole);
  if (error != std::errc() || stop != word.data() + word.size()) return std::nullopt;
  return whole;
}

// Text into the table, row after row.
class TextReader {
 public:
  TextReader(const File& file, const WeightTensor& table, float* packed, std::span<char> buffer)
      : file_(file), table_(table), packed_(packed), words_(file, buffer) {}

  Status Read();

 private:
  Status Refuse(const std::string& what) const {
    return Status::Data(fmt::format("{}:{}: {}", file_.path(), words_.line(), what), kHint);
  }
  Status ReadNumber(int64_t row, int64_t column, std::string_view word);
  Status ReadFirstLine();                     // it may be a header
  Status ReadRow(int64_t row, int64_t done);  // its word and `done` of its numbers have been read

  const File& file_;
  const WeightTensor& table_;
  float* packed_;
  Words words_;
  int64_t rows_ = 0;  // that have been read
};

Status TextReader::ReadNumber(int64_t row, int64_t column, std::string_view word) {
  float value = 0.0f;
  const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size())
    return Refuse(fmt::format("\"{}\" is no number of a vector", word.substr(0, 40)));
  if (!std::isfinite(value)) return Refuse(fmt::format("number {} is not finite", column + 1));
  packed_[table_.Place(row, column)] = value;
  return Status::Ok();
}

Status TextReader::ReadRow(int64_t row, int64_t done) {
  for (int64_t column = done;; ++column) {
    Result<std::string_view> word = words_.Next();
    if (!word.ok()) return word.status();
    if (word->empty() && column == table_.columns) return Status::Ok();
    if (word->empty()) return Refuse(fmt::format("{} numbers, but output_dim = {}", column, table_.columns));
    if (column == table_.columns) return Refuse(fmt::format("more numbers than output_dim = {}", table_.columns));
    PLIMSOLL_RETURN_IF_ERROR(ReadNumber(row, column, *word));
  }
}

Status TextReader::ReadFirstLine() {
  Result<std::string_view> first = words_.Next();
  if (!first.ok()) return first.status();
  const std::optional<int64_t> count = AsWhole(*first);
  Result<std::string_view> second = words_.Next();
  if (!second.ok()) return second.status();
  if (second->empty()) return ReadRow(0, 0);
  const std::optional<int64_t> width = AsWhole(*second);
  PLIMSOLL_RETURN_IF_ERROR(ReadNumber(0, 0, *second));
  Result<std::string_view> third = words_.Next();
  if (!third.ok()) return third.status();
  const bool header = third->empty() && count && width && (table_.columns > 1 || (*count == table_.rows && *width == 1));
  if (!header) {
    rows_ = 1;
    if (third->empty())
      return table_.columns == 1 ? Status::Ok() : Refuse(fmt::format("1 numbers, but output_dim = {}", table_.columns));
    if (table_.columns == 1) return Refuse("more numbers than output_dim = 1");
    PLIMSOLL_RETURN_IF_ERROR(ReadNumber(0, 1, *third));
    return ReadRow(0, 2);
  }
  if (*count != table_.rows || *width != table_.columns)
    return Refuse(
        fmt::format("{} vectors of {} numbers, but the table is {} of {}", *count, *width, table_.rows, table_.columns));
  return Status::Ok();
}

Status TextReader::Read() {
  for (bool first_line = true;; first_line = false) {
    Result<bool> started = words_.StartLine();
    if (!started.ok()) return started.status();
    if (!*started) break;
    if (first_line) {
      PLIMSOLL_RETURN_IF_ERROR(ReadFirstLine());
      continue;
    }
    if (rows_ == table_.rows) return Refuse(fmt::format("more vectors than the {} ids of the table", table_.rows));
    Result<std::string_view> word = words_.Next();  // what the row stands for
    if (!word.ok()) return word.status();
    PLIMSOLL_RETURN_IF_ERROR(ReadRow(rows_++, 0));
  }
  if (rows_ == table_.rows) return Status::Ok();
  return Status::Data(fmt::format("{}: {} vectors, but the table has {} ids", file_.path(), rows_, table_.rows), kHint);
}

Status ReadArray(File file, const WeightTensor& table, float* packed, std::span<char> buffer) {
  NpyPlace place{.file = std::make_shared<const File>(std::move(file)), .name = ""};
  place.name = place.file->path();
  place.bytes = place.file->size();
  Result<NpyArray> array = ReadNpyHeader(place);
  if (!array.ok()) return array.status();
  if (array->type != NpyType::F4 || array->shape != std::vector<int64_t>{table.rows, table.columns}) {
    return Status::Data(fmt::format("{}: {} of shape {}, wanted float32 of ({}, {})", place.name, NpyTypeName(array->type),
                                    ShapeText(array->shape), table.rows, table.columns),
                        "set input_dim and output_dim to those of the file");
  }
  float* values = reinterpret_cast<float*>(buffer.data());  // a stretch of a row on its way
  const auto at_once = static_cast<int64_t>(buffer.size() / sizeof(float));
  for (int64_t row = 0; row < table.rows; ++row) {
    for (int64_t column = 0; column < table.columns; column += at_once) {
      const int64_t count = std::min(at_once, table.columns - column);
      PLIMSOLL_RETURN_IF_ERROR(ReadAsFloat(*array, row * table.columns + column, count, values));
      if (!std::all_of(values, values + count, [](float value) { return std::isfinite(value); }))
        return Status::Data(fmt::format("{}: row {} holds a value that is not finite", place.name, row));
      for (int64_t i = 0; i < count; ++i) packed[table.Place(row, column + i)] = values[i];
    }
  }
  return Status::Ok();
}

}  // namespace

Status ReadVectors(const std::string& path, const WeightTensor& table, float* packed, std::span<char> buffer) {
  Result<File> file = File::OpenRead(path);
  if (!file.ok()) return file.status();
  if (path.ends_with(".npy")) return ReadArray(std::move(file).value(), table, packed, buffer);
  return TextReader(file.value(), table, packed, buffer).Read();
}

}  // namespace plimsoll
