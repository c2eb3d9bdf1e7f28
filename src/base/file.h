// file: files as the rest of the library sees them: read at an offset, or written whole or not at all.
//   in:    paths that the user named
//   out:   bytes, or a Status with file, byte offset and cause (Data when reading, CannotWrite when writing)
//   never: maps a file, looks a path up twice, allocates while reading or writing (a failure's text apart)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

// Owns an open file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// What tells one state of a file from another without reading it.
struct FileFacts {
  int64_t bytes = 0;
  int64_t changed_ns = 0;  // when its content was last changed
  bool operator==(const FileFacts&) const = default;
};

// A regular file opened for reading. Its size is taken once, from the descriptor; a file that shrinks later gives an
// error when the missing bytes are read. Reading is safe from several threads.
class File {
 public:
  static Result<File> OpenRead(const std::string& path);
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }  // for messages
  // Fills out[0, bytes) from `offset`; all of it or an error.
  Status ReadAt(int64_t offset, int64_t bytes, void* out) const;
  // Asks the system to have these bytes in its page cache when they are read soon. Does not wait, and promises nothing.
  void Expect(int64_t offset, int64_t bytes) const;
  FileFacts Facts() const;  // as it is now

 private:
  friend class ScratchFile;
  File(Descriptor descriptor, std::string path, int64_t size)
      : descriptor_(std::move(descriptor)), path_(std::move(path)), size_(size) {}
  Descriptor descriptor_;
  std::string path_;
  int64_t size_;
};

// The text of a small file, at most `cap` bytes. Works for files under /proc and /sys, too, whose size reads as 0.
Result<std::string> ReadWholeFile(const std::string& path, int64_t cap);

// A file without a name, in TMPDIR or /tmp, that vanishes with its last descriptor.
class ScratchFile {
 public:
  static Result<ScratchFile> Create();
  Status Append(std::span<const std::byte> bytes);
  File IntoFile(std::string shown_as) &&;  // from now on it is only read

 private:
  ScratchFile(Descriptor descriptor, std::string folder) : descriptor_(std::move(descriptor)), folder_(std::move(folder)) {}
  Descriptor descriptor_;
  std::string folder_;
  int64_t size_ = 0;
};

// Writes a file that appears under its name complete and synced, or not at all: the bytes go to PATH.partial-PROCESS-N
// beside it, which Commit syncs and renames. After an error the file is dead: every later call repeats the error, and
// the destructor removes what was written.
class FileWriter {
 public:
  // `buffer` gathers small writes; it is the caller's and must outlive the writer. Empty: 64 KiB of the writer's own.
  static Result<FileWriter> Create(std::string path, std::span<std::byte> buffer = {});
  FileWriter(FileWriter&&) = default;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();
  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }
  Status Commit();                              // at most once, the last call
  int64_t written() const { return written_; }  // bytes taken so far

 private:
  FileWriter(Descriptor descriptor, std::string path, std::string temporary, std::span<std::byte> buffer);
  Status Fail(const char* doing, int error);
  Status Flush();
  Descriptor descriptor_;
  std::string path_;
  std::string temporary_;
  std::vector<std::byte> own_buffer_;
  std::span<std::byte> buffer_;
  size_t filled_ = 0;
  int64_t written_ = 0;
  Status failure_;
};

// Writes all of it, whatever a single call takes; returns 0 or errno.
int WriteAll(int descriptor, std::span<const std::byte> bytes);
// A small file, whole or not at all.
Status WriteTextFile(const std::string& path, std::string_view text);
// What a failed call on a file that is written comes to; `error` is its errno.
Status WriteFailure(const std::string& path, const char* doing, int error);

bool FolderExists(const std::string& path);
Status MakeFolder(const std::string& path);  // it must not exist, its parent must; synced

}  // namespace plimsoll
