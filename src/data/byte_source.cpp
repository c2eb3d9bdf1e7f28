#include "data/byte_source.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "data/zstd_library.h"

namespace plimsoll {
namespace {

using namespace std::string_view_literals;

constexpr int64_t kPieceBytes = 64 * 1024;
constexpr int kLeastWindowBits = 10;  // as zstd has it

class Plain final : public Decoder {
 public:
  Status Decode(std::span<const char>& in, std::span<char>& out) override {
    const size_t now = std::min(in.size(), out.size());
    std::copy_n(in.data(), now, out.data());
    in = in.subspan(now);
    out = out.subspan(now);
    return Status::Ok();
  }
  bool Complete() const override { return true; }
};

class Gzip final : public Decoder {
 public:
  explicit Gzip(std::string path) : path_(std::move(path)) { ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override {
    if (ready_) inflateEnd(&stream_);
  }

  Status Decode(std::span<const char>& in, std::span<char>& out) override {
    if (!ready_) return Status(StatusKind::Internal, {.message = "out of memory while inflating " + path_, .hint = ""});
    if (between_) {
      while (!in.empty() && in.front() == '\0') in = in.subspan(1);  // tapes and block devices pad with zeros
      if (in.empty()) return Status::Ok();
      inflateReset(&stream_);
      between_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int outcome = inflate(&stream_, Z_NO_FLUSH);
    made_ += static_cast<int64_t>(out.size() - stream_.avail_out);
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    between_ = outcome == Z_STREAM_END;
    if (outcome == Z_OK || outcome == Z_STREAM_END || outcome == Z_BUF_ERROR) return Status::Ok();
    return Status::Data(fmt::format("{}: the gzip stream is damaged after {} bytes of text", path_, made_),
                        "fetch or compress the file again");
  }
  bool Complete() const override { return between_; }

 private:
  std::string path_;
  z_stream stream_{};
  bool ready_ = false;
  bool between_ = false;  // a member has ended, and no other has begun
  int64_t made_ = 0;
};

class Zstd final : public Decoder {
 public:
  Zstd(std::string path, std::unique_ptr<ZstdLibrary> library, int64_t most_window)
      : path_(std::move(path)), most_window_(most_window), library_(std::move(library)), stream_(library_->create()) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(std::min(most_window, kMostZstdWindow)))) - 1;
    if (stream_ != nullptr) library_->set(stream_, ZSTD_d_windowLogMax, std::max(bits, kLeastWindowBits));
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { library_->free(stream_); }

  Status Decode(std::span<const char>& in, std::span<char>& out) override {
    if (stream_ == nullptr)
      return Status(StatusKind::Internal, {.message = "out of memory while reading " + path_, .hint = ""});
    if (in.empty() && complete_) return Status::Ok();  // else it would wait for another frame
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const size_t left = library_->decompress(stream_, &output, &input);
    if (library_->is_error(left) != 0) {
      const std::string_view why = library_->error_name(left);
      const bool window = why.find("too much memory") != std::string_view::npos;
      if (window && most_window_ < kMostZstdWindow)
        return Status::OverBudget(
            {.message = fmt::format("{}: the zstd window needs more memory than the budget leaves for reading", path_),
             .hint = "a larger --memory for the first start, or another compression: zstd --zstd=wlog=20",
             .min_bytes = kMostZstdWindow});
      if (window)
        return Status::Data(fmt::format("{}: the zstd window is larger than 8 MiB, the most that is read", path_),
                            "compress it again without --long and --ultra: zstd -19");
      return Status::Data(fmt::format("{}: the zstd stream is damaged: {}", path_, why), "fetch or compress the file again");
    }
    in = in.subspan(input.pos);
    out = out.subspan(output.pos);
    complete_ = left == 0;
    return Status::Ok();
  }
  bool Complete() const override { return complete_; }

 private:
  std::string path_;
  int64_t most_window_;
  std::unique_ptr<ZstdLibrary> library_;
  ZSTD_DStream* stream_;
  bool complete_ = false;
};

// `start`: the first bytes.
Result<std::unique_ptr<Decoder>> DecoderFor(const std::string& path, std::string_view start, int64_t most_window) {
  if (start.starts_with("\x1f\x8b"sv)) return std::unique_ptr<Decoder>(std::make_unique<Gzip>(path));
  if (start.starts_with("\x28\xb5\x2f\xfd"sv)) {
    Result<std::unique_ptr<ZstdLibrary>> library = ZstdLibrary::Load();
    if (!library.ok()) return Status::Data(fmt::format("{}: {}", path, library.status().message()), library.status().hint());
    return std::unique_ptr<Decoder>(std::make_unique<Zstd>(path, std::move(library).value(), most_window));
  }
  return std::unique_ptr<Decoder>(std::make_unique<Plain>());
}

}  // namespace

ByteSource::ByteSource(std::optional<File> file, std::string path)
    : file_(std::move(file)), path_(std::move(path)), facts_(file_ ? file_->Facts() : FileFacts()), piece_(kPieceBytes) {}

Result<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path, int64_t most_window) {
  std::optional<File> opened;
  if (path != kStdin) {
    Result<File> file = File::OpenRead(path);
    if (!file.ok()) return file.status();
    opened = std::move(file).value();
  }
  std::unique_ptr<ByteSource> source(new ByteSource(std::move(opened), path == kStdin ? "stdin" : path));
  PLIMSOLL_RETURN_IF_ERROR(source->Fill());
  const std::string_view start(source->rest_.data(), std::min<size_t>(source->rest_.size(), 4));
  Result<std::unique_ptr<Decoder>> decoder = DecoderFor(source->path_, start, most_window);
  if (!decoder.ok()) return decoder.status();
  source->decoder_ = std::move(decoder).value();
  return source;
}

Status ByteSource::Fill() {
  if (!file_) return FillFromStdin();
  const int64_t now = std::min(kPieceBytes, file_->size() - offset_);
  PLIMSOLL_RETURN_IF_ERROR(file_->ReadAt(offset_, now, piece_.data()));
  rest_ = std::span<const char>(piece_.data(), static_cast<size_t>(now));
  digest_.Add(std::as_bytes(rest_));
  offset_ += now;
  ended_ = offset_ == file_->size();
  return Status::Ok();
}

// A whole piece, or what is left: a pipe may give less at a time.
Status ByteSource::FillFromStdin() {
  size_t filled = 0;
  while (filled < piece_.size() && !ended_) {
    const ssize_t read = ::read(STDIN_FILENO, piece_.data() + filled, piece_.size() - filled);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return Status::Data(fmt::format("stdin: cannot be read after {} bytes: {}", offset_, std::strerror(errno)));
    ended_ = read == 0;
    filled += static_cast<size_t>(read);
    offset_ += read;
  }
  rest_ = std::span<const char>(piece_.data(), filled);
  return Status::Ok();
}

Result<size_t> ByteSource::Read(std::span<char> out) {
  const size_t wanted = out.size();
  while (out.size() == wanted) {
    if (rest_.empty() && !ended_) PLIMSOLL_RETURN_IF_ERROR(Fill());
    const bool last = ended_;
    const size_t before = rest_.size();
    PLIMSOLL_RETURN_IF_ERROR(decoder_->Decode(rest_, out));
    if (out.size() < wanted || rest_.size() < before || !(last && rest_.empty())) continue;
    if (!decoder_->Complete())
      return Status::Data(fmt::format("{}: the compressed file ends in the middle of its stream, at byte {}", path(), offset_),
                          "fetch or compress the file again");
    if (file_ && file_->Facts() != facts_)
      return Status::Data(fmt::format("{}: changed while it was read", path()), "start again when it is complete");
    return size_t{0};
  }
  return wanted - out.size();
}

}  // namespace plimsoll
