#include "formats/snapshot.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/file.h"

namespace plimsoll {
namespace {

constexpr int64_t kEndBytes = 64;  // of the header, and of the trailer
constexpr int64_t kCrcBytes = 4;
constexpr int64_t kPayloadBytes = kSnapshotBlockBytes - kCrcBytes;
constexpr const char* kHeaderMark = "PLIMSNAP";
constexpr const char* kTrailerMark = "PLIMSEND";

// Header and trailer: a mark, four numbers, a version, zeros, and the checksum of all that.
struct End {
  char mark[8] = {};
  uint64_t generation = 0;
  uint64_t file_bytes = 0;
  uint64_t content_bytes = 0;
  uint64_t digest = 0;  // trailer only
  uint32_t version = kSnapshotVersion;
  uint32_t zeros[4] = {};
  uint32_t crc = 0;
};
static_assert(sizeof(End) == kEndBytes);

uint32_t CrcOf(const End& end) {
  return Crc32c(std::as_bytes(std::span(&end, 1)).first(static_cast<size_t>(kEndBytes - kCrcBytes)));
}

// A block's place counts, so that blocks that have changed places or files are found.
uint32_t CrcOf(uint64_t generation, uint64_t block, std::span<const std::byte> payload) {
  const std::array<uint64_t, 2> place = {generation, block};
  return Crc32c(payload, Crc32c(std::as_bytes(std::span(place))));
}

}  // namespace

int64_t SnapshotFileBytes(int64_t content_bytes) {
  return 2 * kEndBytes + content_bytes + (content_bytes + kPayloadBytes - 1) / kPayloadBytes * kCrcBytes;
}

SnapshotWriter::SnapshotWriter(int descriptor, std::span<std::byte> buffer, uint64_t generation, int64_t content_bytes)
    : descriptor_(descriptor), buffer_(buffer), generation_(generation), content_bytes_(content_bytes), digest_(generation) {
  PLIMSOLL_CHECK(buffer.size() == static_cast<size_t>(kSnapshotBlockBytes), "a snapshot is written block by block");
}

int SnapshotWriter::Start() {
  End header{.generation = generation_,
             .file_bytes = static_cast<uint64_t>(SnapshotFileBytes(content_bytes_)),
             .content_bytes = static_cast<uint64_t>(content_bytes_)};
  std::memcpy(header.mark, kHeaderMark, sizeof header.mark);
  header.crc = CrcOf(header);
  return error_ = WriteAll(descriptor_, std::as_bytes(std::span(&header, 1)));
}

int SnapshotWriter::Flush() {
  const uint32_t crc = CrcOf(generation_, block_++, buffer_.first(filled_));
  std::memcpy(buffer_.data() + filled_, &crc, sizeof crc);
  error_ = WriteAll(descriptor_, buffer_.first(filled_ + sizeof crc));
  filled_ = 0;
  return error_;
}

int SnapshotWriter::Write(std::span<const std::byte> bytes) {
  if (error_ != 0) return error_;
  written_ += static_cast<int64_t>(bytes.size());
  digest_.Add(bytes);
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), static_cast<size_t>(kPayloadBytes) - filled_);
    std::copy_n(bytes.data(), taken, buffer_.data() + filled_);
    filled_ += taken;
    bytes = bytes.subspan(taken);
    if (filled_ == static_cast<size_t>(kPayloadBytes) && Flush() != 0) return error_;
  }
  return 0;
}

int SnapshotWriter::Finish() {
  if (error_ != 0) return error_;
  PLIMSOLL_CHECK(written_ == content_bytes_, "a snapshot has as much content as its header says");
  if (filled_ > 0 && Flush() != 0) return error_;
  End trailer{.generation = generation_,
              .file_bytes = static_cast<uint64_t>(SnapshotFileBytes(content_bytes_)),
              .content_bytes = static_cast<uint64_t>(content_bytes_),
              .digest = digest_.value()};
  std::memcpy(trailer.mark, kTrailerMark, sizeof trailer.mark);
  trailer.crc = CrcOf(trailer);
  return error_ = WriteAll(descriptor_, std::as_bytes(std::span(&trailer, 1)));
}

SnapshotReader::SnapshotReader(int descriptor, int64_t file_bytes, std::span<std::byte> buffer)
    : descriptor_(descriptor), file_bytes_(file_bytes), buffer_(buffer) {
  PLIMSOLL_CHECK(buffer.size() == static_cast<size_t>(kSnapshotBlockBytes), "a snapshot is read block by block");
}

bool SnapshotReader::Fail(const char* what) {
  if (problem_ == nullptr) problem_ = what;
  return false;
}

std::string SnapshotReader::problem() const {
  if (problem_ == nullptr) return "";
  return in_block_ ? fmt::format("block {}: {}", block_, problem_) : problem_;
}

bool SnapshotReader::ReadAt(int64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t done = ::pread(descriptor_, out.data(), out.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Fail("it cannot be read");
    if (done == 0) return Fail("it became shorter");
    out = out.subspan(static_cast<size_t>(done));
    offset += done;
  }
  return true;
}

bool SnapshotReader::Start() {
  End header, trailer;
  if (file_bytes_ < 2 * kEndBytes) return Fail("it is cut off");
  if (!ReadAt(0, std::as_writable_bytes(std::span(&header, 1)))) return false;
  if (std::memcmp(header.mark, kHeaderMark, sizeof header.mark) != 0) return Fail("it does not begin as a snapshot does");
  if (header.crc != CrcOf(header)) return Fail("the checksum of its header is wrong");
  if (header.version != kSnapshotVersion) return Fail("it is of another version of the format");
  if (header.file_bytes != static_cast<uint64_t>(file_bytes_)) return Fail("it is cut off, or longer than its header says");
  if (header.content_bytes > header.file_bytes || SnapshotFileBytes(static_cast<int64_t>(header.content_bytes)) != file_bytes_)
    return Fail("the lengths in its header disagree");
  if (!ReadAt(file_bytes_ - kEndBytes, std::as_writable_bytes(std::span(&trailer, 1)))) return false;
  if (std::memcmp(trailer.mark, kTrailerMark, sizeof trailer.mark) != 0 || trailer.crc != CrcOf(trailer))
    return Fail("its trailer is damaged");
  if (trailer.generation != header.generation || trailer.file_bytes != header.file_bytes ||
      trailer.content_bytes != header.content_bytes)
    return Fail("its trailer is that of another file");
  generation_ = header.generation;
  content_bytes_ = static_cast<int64_t>(header.content_bytes);
  digest_wanted_ = trailer.digest;
  digest_ = Digest(generation_);
  return true;
}

bool SnapshotReader::NextBlock() {
  const int64_t offset = kEndBytes + static_cast<int64_t>(block_) * kSnapshotBlockBytes;
  const auto payload =
      static_cast<size_t>(std::min(kPayloadBytes, content_bytes_ - static_cast<int64_t>(block_) * kPayloadBytes));
  in_block_ = true;
  if (!ReadAt(offset, buffer_.first(payload + kCrcBytes))) return false;
  uint32_t crc = 0;
  std::memcpy(&crc, buffer_.data() + payload, sizeof crc);
  if (crc != CrcOf(generation_, block_, buffer_.first(payload))) return Fail("its checksum is wrong");
  in_block_ = false;
  ++block_;
  begin_ = 0;
  end_ = payload;
  digest_.Add(buffer_.first(payload));
  return true;
}

bool SnapshotReader::Read(std::span<std::byte> out) {
  if (problem_ != nullptr) return false;
  if (static_cast<int64_t>(out.size()) > left()) return Fail("its content ends too early");
  taken_ += static_cast<int64_t>(out.size());
  while (!out.empty()) {
    if (begin_ == end_ && !NextBlock()) return false;
    const size_t now = std::min(out.size(), end_ - begin_);
    std::copy_n(buffer_.data() + begin_, now, out.data());
    begin_ += now;
    out = out.subspan(now);
  }
  return true;
}

bool SnapshotReader::Finish() {
  if (problem_ != nullptr) return false;
  while (static_cast<int64_t>(block_) * kPayloadBytes < content_bytes_) {
    if (!NextBlock()) return false;
  }
  taken_ = content_bytes_;
  return digest_.value() == digest_wanted_ || Fail("the digest over its content is wrong");
}

}  // namespace plimsoll
