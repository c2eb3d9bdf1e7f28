// record_reader: what a sample is made of, out of a text, a table or JSON lines.
//   in:    a file, the columns that are wanted
//   out:   records: for each column a text or a list of texts, and the line where the record begins
//   never: knows tokens, labels or tasks; holds more than a record
//
//   text    a line is a record of one column
//   tsv     columns between tabs, no quoting
//   csv     RFC 4180: commas, "quotes" that may hold commas, line breaks and doubled quotes
//   jsonl   an object a line; columns are its keys. Values: text, numbers, true, false, null, lists of them, lists of lists
//   conll   a step a line, columns between blanks or tabs, an empty line behind each sequence: every column is a list
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_reader.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct Field {
  bool present = false;   // false: null, or an empty place where that is allowed
  bool list = false;      // `count` items from `first` on; else `text`
  std::string_view text;  // stays until the next record
  size_t first = 0;
  size_t count = 0;
  size_t width = 1;        // of a list of lists: items of each inner one, which are all alike
  size_t first_inner = 0;  // with RecordRequest::uneven, of a list of lists: `inner` counts from here on
  size_t inner = 0;
};

struct Record {
  int64_t line = 0;           // where it begins
  std::vector<Field> fields;  // of the columns asked for, in that order
  std::vector<std::string_view> items;
  std::vector<size_t> inner;  // items of each inner list
  std::string problem;        // "LINE: what is wrong"; empty: nothing
};

struct RecordRequest {
  std::vector<std::string> columns;  // names, or numbers from 1 on; "-1" is the last; empty: all of them
  DataFormat format = DataFormat::Auto;
  std::optional<bool> header = std::nullopt;  // of tables; unset: there is one where a column is asked for by a name
  LineReader::Options lines;
  bool uneven = false;  // jsonl: inner lists may have any number of items
};

class RecordReader {
 public:
  static Result<std::unique_ptr<RecordReader>> Open(const std::string& path, const RecordRequest& request);
  virtual ~RecordReader() = default;
  // The next record; false: there is none. A Status is the end of the file for us: what was read of it cannot be trusted.
  virtual Result<bool> Next(Record& record) = 0;
  const ByteSource& source() const { return lines_.source(); }
  const std::vector<std::string>& columns() const { return columns_; }  // that the file has, by its header; else empty

 protected:
  explicit RecordReader(LineReader lines) : lines_(std::move(lines)) {}
  LineReader lines_;
  std::vector<std::string> columns_;
};

// What a file is: by its name without .gz or .zst, else by its first line.
Result<DataFormat> FormatOf(const std::string& path);

}  // namespace plimsoll
