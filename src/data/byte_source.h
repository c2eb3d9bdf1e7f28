// byte_source: the bytes of a text file, whether it lies there as it is, as gzip or as zstd.
//   in:    a path; "-" is stdin
//   out:   its text in pieces; how far in the file we are; a digest of the bytes that were read
//   never: goes by the file's name (its first bytes decide); holds more than a piece of 64 KiB and a decoder's window; takes a
//          compressed file that ends early, or one that changed while it was read, for a whole one
// Several gzip members or zstd frames behind each other are one text. zstd windows above 8 MiB are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr const char* kStdin = "-";                    // as a path
inline constexpr int64_t kMostZstdWindow = int64_t{8} << 20;  // levels up to 19 pass

// What makes of the file's bytes the text: as much as there is input or room for.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Takes from `in` and writes to `out`; both spans are moved on.
  virtual Status Decode(std::span<const char>& in, std::span<char>& out) = 0;
  virtual bool Complete() const = 0;  // the input may end here
};

class ByteSource {
 public:
  // A zstd window above `most_window` is OverBudget where more would be read, with what it takes at most as min_bytes.
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path, int64_t most_window = kMostZstdWindow);

  // Fills the front of `out` and says how much; 0: the end, and the file was whole and is as it was.
  Result<size_t> Read(std::span<char> out);
  const std::string& path() const { return path_; }  // for messages
  int64_t file_bytes() const { return facts_.bytes; }
  int64_t consumed() const { return offset_; }  // bytes of the file
  const FileFacts& facts() const { return facts_; }
  uint64_t fingerprint() const { return digest_.value(); }  // of the file, once Read has given 0

 private:
  ByteSource(std::optional<File> file, std::string path);
  Status Fill();
  Status FillFromStdin();

  std::optional<File> file_;  // nothing: stdin
  std::string path_;
  bool ended_ = false;  // all of its bytes have been read
  FileFacts facts_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<char> piece_;
  std::span<const char> rest_;  // of the piece
  int64_t offset_ = 0;
  Digest digest_;
};

}  // namespace plimsoll
