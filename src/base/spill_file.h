// spill_file: pieces of memory that go out to a file and come back, moved by one background thread.
//   in:    a folder on a real disk; pieces of memory with their places in the file
//   out:   the same bytes later; CannotWrite with the cause when the disk is full or fails
//   never: keeps the file's name (it is unlinked at once), leaves dirty pages behind a transfer, allocates while transferring
// Transfers are done in the order of their starts, so what was written is there when it is read.
#pragma once

#include <pthread.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

class SpillFile {
 public:
  static constexpr int kLanes = 2;  // transfers that may be under way

  // Refuses a folder that lies in memory (tmpfs): what is spilled there would count after all.
  static Result<std::unique_ptr<SpillFile>> Open(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Takes the space on the disk, so that a full one is known before it is needed.
  Status Reserve(int64_t bytes);

  enum class Direction { Out, In };
  struct Piece {
    char* data = nullptr;
    int64_t bytes = 0;
    int64_t offset = 0;  // in the file
  };
  // The lane must be idle (Wait). The pieces and what they point to stay as they are until Wait returns.
  void Start(int lane, Direction direction, std::span<const Piece> pieces);
  // Until the lane is idle. A failure is told once.
  Status Wait(int lane);

 private:
  SpillFile(Descriptor descriptor, std::string folder);
  void Work();
  int Transfer(Direction direction, std::span<const Piece> pieces) const;  // errno, or 0

  struct Lane {
    bool busy = false;
    Direction direction = Direction::Out;
    std::span<const Piece> pieces;
    int error = 0;
  };
  Descriptor descriptor_;
  std::string folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Lane, kLanes> lanes_;
  std::array<int, kLanes> queue_{};  // lanes in the order of their starts
  int queued_ = 0;
  bool stop_ = false;
  pthread_t thread_{};
};

}  // namespace plimsoll
