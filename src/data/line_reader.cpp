#include "data/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/utf8.h"
#include "plimsoll/text.h"

namespace plimsoll {
namespace {

using namespace std::string_view_literals;

constexpr size_t kFirstBytes = 64 * 1024;

// Bytes of the text without a character at its end that is cut in two; at least 1.
size_t WholeCharacters(std::string_view text) {
  size_t last = text.size() - 1;  // first byte of the last character
  for (int i = 0; i < 3 && last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80; ++i) --last;
  const auto first = static_cast<unsigned char>(text[last]);
  const size_t wanted = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return first >= 0xC0 && last > 0 && last + wanted > text.size() ? last : text.size();
}

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, const Options& options)
    : source_(std::move(source)), options_(options), buffer_(kFirstBytes) {}

Result<LineReader> LineReader::Open(const std::string& path, const Options& options) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::Open(path, options.most_window);
  if (!source.ok()) return source.status();
  LineReader reader(std::move(source).value(), options);
  while (reader.end_ < 3) {  // as much as a byte-order mark has
    const Result<bool> more = reader.More();
    if (!more.ok()) return more.status();
    if (!more.value()) break;
  }
  const std::string_view start(reader.buffer_.data(), reader.end_);
  if (start.empty()) return Status::Data(fmt::format("{}: is empty; wanted at least one line", reader.source_->path()));
  if (start.starts_with("\xFF\xFE"sv) || start.starts_with("\xFE\xFF"sv))
    return Status::Data(fmt::format("{}: is UTF-16; wanted UTF-8", path),
                        fmt::format("iconv -f UTF-16 -t UTF-8 {} > utf8.txt", path));
  if (start.starts_with("\xEF\xBB\xBF"sv)) reader.begin_ = 3;
  return reader;
}

Result<bool> LineReader::More() {
  if (ended_) return false;
  if (begin_ > 0 && begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const Result<size_t> read = source_->Read(std::span(buffer_).subspan(end_));
  if (!read.ok()) return read.status();
  end_ += read.value();
  ended_ = read.value() == 0;
  return !ended_;
}

Result<bool> LineReader::Next() {
  problem_.clear();
  size_t looked = 0;  // bytes of the line without a line end
  while (true) {
    const char* start = buffer_.data() + begin_;
    const auto* stop = static_cast<const char*>(std::memchr(start + looked, '\n', end_ - begin_ - looked));
    if (stop == nullptr) {
      looked = end_ - begin_;
      if (static_cast<int64_t>(looked) > options_.most_bytes) {
        ++number_;
        problem_ =
            fmt::format("{}: is longer than {}, the longest line that is read here", number_, PrettyBytes(options_.most_bytes));
        line_ = {};
        PLIMSOLL_RETURN_IF_ERROR(PassOver());
        return true;
      }
      const Result<bool> more = More();
      if (!more.ok()) return more.status();
      if (more.value()) continue;
      if (begin_ == end_) return false;
      stop = buffer_.data() + end_;
    }
    start = buffer_.data() + begin_;
    line_ = {start, static_cast<size_t>(stop - start)};
    begin_ = std::min(end_, begin_ + line_.size() + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    Check();
    return true;
  }
}

Status LineReader::PassOver() {
  while (true) {
    const char* start = buffer_.data() + begin_;
    if (const auto* stop = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_)); stop != nullptr) {
      begin_ += static_cast<size_t>(stop - start) + 1;
      return Status::Ok();
    }
    begin_ = end_;
    const Result<bool> more = More();
    if (!more.ok()) return more.status();
    if (!more.value()) return Status::Ok();
  }
}

Result<bool> LineReader::NextStretch() {
  number_ += line_ends_ + (number_ == 0 ? 1 : 0);
  line_ends_ = 0;
  problem_.clear();
  while (!ended_ && end_ - begin_ < kFirstBytes) {
    const Result<bool> more = More();
    if (!more.ok()) return more.status();
  }
  std::string_view all(buffer_.data() + begin_, std::min(end_ - begin_, kFirstBytes));
  if (all.empty()) return false;
  if (!ended_ || all.size() < end_ - begin_) {
    const size_t line_end = all.rfind('\n'), blank = all.rfind(' ');
    const size_t cut = line_end != std::string_view::npos ? line_end + 1
                       : blank != std::string_view::npos  ? blank + 1
                                                          : WholeCharacters(all);
    all = all.substr(0, cut);
  }
  line_ = all;
  begin_ += all.size();
  Check();
  line_ends_ = std::count(all.begin(), all.end(), '\n');
  return true;
}

void LineReader::Check() {
  if (!options_.check_utf8) return;
  const size_t bad = FirstBadByte(line_);
  if (bad < line_.size()) {
    const std::string_view before = line_.substr(0, bad);
    const int64_t lines = std::count(before.begin(), before.end(), '\n');
    const size_t column = lines == 0 ? bad + 1 : bad - before.rfind('\n');
    problem_ =
        fmt::format("{}:{}: byte 0x{:02x} is not UTF-8", number_ + lines, column, static_cast<unsigned char>(line_[bad]));
  } else if (line_.find('\0') != std::string_view::npos) {
    problem_ = fmt::format("{}: holds a zero byte, which no text has", number_);
  }
}

}  // namespace plimsoll
