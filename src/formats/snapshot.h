// snapshot: the file of one generation of a run: content of any kind in blocks, each with its checksum, between a header and
//   a trailer that both know generation and length (docs/formats.md has every byte).
//   in:    a descriptor, a buffer of one block, bytes in order
//   out:   the same bytes in order, or what is wrong with the file and where
//   never: allocates, opens or names a file; that is the business of whoever keeps generations
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/digest.h"

namespace plimsoll {

inline constexpr int64_t kSnapshotBlockBytes = 64 * 1024;  // content and checksum
inline constexpr uint32_t kSnapshotVersion = 3;

// Of a file with so much content.
int64_t SnapshotFileBytes(int64_t content_bytes);

// Calls give 0 or an errno; after a failure the file is dead, and every later call repeats it.
class SnapshotWriter {
 public:
  // `buffer` has kSnapshotBlockBytes.
  SnapshotWriter(int descriptor, std::span<std::byte> buffer, uint64_t generation, int64_t content_bytes);
  int Start();
  int Write(std::span<const std::byte> bytes);
  int Finish();  // all content has been written
  int error() const { return error_; }
  uint64_t digest() const { return digest_.value(); }

 private:
  int Flush();
  int descriptor_;
  std::span<std::byte> buffer_;
  uint64_t generation_;
  int64_t content_bytes_;
  int64_t written_ = 0;
  uint64_t block_ = 0;
  size_t filled_ = 0;
  Digest digest_;
  int error_ = 0;
};

// Calls give false where the file is damaged; `problem` then says how.
class SnapshotReader {
 public:
  SnapshotReader(int descriptor, int64_t file_bytes, std::span<std::byte> buffer);
  bool Start();  // header and trailer
  bool Read(std::span<std::byte> out);
  bool Finish();  // reads what is left, and compares the digest
  uint64_t generation() const { return generation_; }
  uint64_t digest() const { return digest_wanted_; }
  int64_t content_bytes() const { return content_bytes_; }
  int64_t left() const { return content_bytes_ - taken_; }  // content that has not been read
  std::string problem() const;

 private:
  bool Fail(const char* what);
  bool ReadAt(int64_t offset, std::span<std::byte> out);
  bool NextBlock();
  int descriptor_;
  int64_t file_bytes_;
  std::span<std::byte> buffer_;
  uint64_t generation_ = 0;
  uint64_t digest_wanted_ = 0;
  int64_t content_bytes_ = 0;
  int64_t taken_ = 0;
  uint64_t block_ = 0;  // blocks read
  size_t begin_ = 0, end_ = 0;
  Digest digest_;
  const char* problem_ = nullptr;
  bool in_block_ = false;
};

}  // namespace plimsoll
