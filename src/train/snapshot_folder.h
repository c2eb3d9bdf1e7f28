// snapshot_folder: the generations of a run on disk: a file NNNNNN.plimsoll each.
//   A generation is written under another name, synced, closed, renamed, its folder synced, and read back. Only then is it one,
//   and only then may the oldest go. Whatever happens in between, the ones before are as they were.
//   in:    content, a planned buffer
//   out:   a generation, or a Status (CannotWrite); `last` and `best` as links for people
//   never: allocates but for the text of a failure; follows a link; tries a file again that has failed
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "formats/snapshot.h"
#include "plimsoll/status.h"

namespace plimsoll {

// What a generation consists of.
class SnapshotContent {
 public:
  virtual ~SnapshotContent() = default;
  virtual int64_t bytes() const = 0;
  // Writes so many bytes. Fails for reasons of its own alone; the writer keeps those of the disk.
  virtual Status WriteTo(SnapshotWriter& writer) = 0;
};

inline constexpr uint64_t kMostGeneration = 1'000'000'000'000'000;
inline constexpr const char* kSnapshotFolder = "/snapshots";  // of a run
std::string SnapshotName(uint64_t generation);                // "000012.plimsoll"
// Numbers of the files in a folder that have such names, newest first; none where there is no folder.
std::vector<uint64_t> GenerationsIn(const std::string& folder);

class SnapshotFolder {
 public:
  // A generation, and the one that its run held for the best by then; 0: none.
  struct Known {
    uint64_t generation = 0;
    uint64_t best = 0;
  };
  // Makes the folder where it is not there, and removes what a process that was killed has left half-written. `keep`: verified
  // generations that stay, each with the one that it holds for the best. `verified`: the one that is known to be good.
  static Result<SnapshotFolder> Open(std::string folder, int64_t keep, const Known& verified);

  // Fails where a file of so much content would fill the disk.
  Status CheckSpace(int64_t content_bytes) const;
  // Writes the next generation. best: the one that is the best, which may be this one; 0: none.
  Status Commit(SnapshotContent& content, std::span<std::byte> buffer, uint64_t best);
  // Copies a generation of another folder, under its number, as the best.
  Status Adopt(const std::string& file, uint64_t generation, std::span<std::byte> buffer);

  uint64_t next() const { return newest_ + 1; }
  uint64_t newest_verified() const;  // 0: none
  void BeginAfter(uint64_t generation) { newest_ = std::max(newest_, generation); }
  std::string PathOf(uint64_t generation) const;
  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }  // of the last generation that was written

 private:
  struct Kept {
    Known known;
    bool verified;
  };
  SnapshotFolder(Descriptor folder, std::string path, int64_t keep)
      : folder_(std::move(folder)), path_(std::move(path)), keep_(keep) {}
  Status Write(SnapshotContent& content, std::span<std::byte> buffer, const char* partial, uint64_t& digest);
  Status MoveIn(const char* partial, const char* name);
  bool Verifies(const char* name, std::span<std::byte> buffer, uint64_t digest) const;
  void Link(const char* link, uint64_t generation);
  void DropOld();
  Status Failure(const char* doing, int error) const;

  Descriptor folder_;
  std::string path_;
  int64_t keep_;
  uint64_t newest_ = 0;  // largest number that was ever used
  int64_t bytes_ = 0;
  std::vector<Kept> kept_;  // oldest first
};

}  // namespace plimsoll
