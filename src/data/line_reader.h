// line_reader: a text file line by line, or in stretches where lines do not matter, through one bounded buffer.
//   in:    a ByteSource, the longest line that may be held
//   out:   lines without their end (\n or \r\n), numbered from 1, and what is wrong with each; a byte-order mark is passed over
//   never: holds more than a line; ends at a bad line: what to do about it is the caller's to decide
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int64_t kLineBytes = int64_t{8} << 20;  // the longest line, where memory allows it

class LineReader {
 public:
  struct Options {
    int64_t most_bytes = kLineBytes;
    int64_t most_window = kMostZstdWindow;  // of a .zst file
    bool check_utf8 = true;
  };
  static Result<LineReader> Open(const std::string& path, const Options& options);

  // The next line; false: there is none. It stays where it is until the next call.
  Result<bool> Next();
  // The next stretch of at most 64 KiB with its line ends, cut behind a line, else behind a blank, else between two characters.
  Result<bool> NextStretch();

  std::string_view line() const { return line_; }
  int64_t number() const { return number_; }  // of the line, or of the first line of the stretch
  // What is wrong with the line: "LINE:COLUMN: is not UTF-8"; empty: nothing.
  const std::string& problem() const { return problem_; }
  const ByteSource& source() const { return *source_; }

 private:
  LineReader(std::unique_ptr<ByteSource> source, const Options& options);
  Result<bool> More();  // reads on; false: the end
  void Check();         // fills problem_
  Status PassOver();    // the rest of a line that is too long

  std::unique_ptr<ByteSource> source_;
  Options options_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // what is read and not given out
  std::string_view line_;
  int64_t number_ = 0;
  int64_t line_ends_ = 0;  // in what was given out as stretches
  std::string problem_;
  bool ended_ = false;
};

}  // namespace plimsoll
