#include "base/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/threads.h"

namespace plimsoll {
namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr int64_t kTmpfs = 0x01021994, kRamfs = 0x858458f6;  // f_type of statfs

}  // namespace

Result<std::unique_ptr<SpillFile>> SpillFile::Open(const std::string& folder) {
  struct statfs facts {};
  if (::statfs(folder.c_str(), &facts) != 0) return WriteFailure(folder, "spill there", errno);
  if (facts.f_type == kTmpfs || facts.f_type == kRamfs) {
    return Status::Usage(
        fmt::format("memory.spill: {} lies in memory (tmpfs), and what is spilled there would count after all", folder),
        "name a folder on a disk");
  }
  std::string name = folder + "/plimsoll-spill-XXXXXX";
  Descriptor descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!descriptor.is_open()) return WriteFailure(folder, "make a file there", errno);
  ::unlink(name.c_str());
  ::posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_RANDOM);  // as in File::OpenRead
  return std::unique_ptr<SpillFile>(new SpillFile(std::move(descriptor), folder));
}

SpillFile::SpillFile(Descriptor descriptor, std::string folder)
    : descriptor_(std::move(descriptor)), folder_(std::move(folder)) {
  thread_ = StartThread(
      kStackBytes,
      [](void* self) -> void* {
        static_cast<SpillFile*>(self)->Work();
        return nullptr;
      },
      this);
}

SpillFile::~SpillFile() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  pthread_join(thread_, nullptr);
}

Status SpillFile::Reserve(int64_t bytes) {
  const int error = bytes > 0 ? ::posix_fallocate(descriptor_.number(), 0, bytes) : 0;
  return error == 0 ? Status::Ok() : WriteFailure(folder_, "take the space to spill into", error);
}

void SpillFile::Start(int lane, Direction direction, std::span<const Piece> pieces) {
  {
    const std::lock_guard lock(mutex_);
    Lane& own = lanes_[static_cast<size_t>(lane)];
    PLIMSOLL_CHECK(!own.busy, "a lane carries one transfer at a time");
    own = {.busy = true, .direction = direction, .pieces = pieces, .error = own.error};
    queue_[static_cast<size_t>(queued_++)] = lane;
  }
  changed_.notify_all();
}

Status SpillFile::Wait(int lane) {
  std::unique_lock lock(mutex_);
  Lane& own = lanes_[static_cast<size_t>(lane)];
  changed_.wait(lock, [&] { return !own.busy; });
  const int error = std::exchange(own.error, 0);
  if (error == 0) return Status::Ok();
  return WriteFailure(folder_, own.direction == Direction::Out ? "write what is spilled" : "read back what was spilled", error);
}

void SpillFile::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return queued_ > 0 || stop_; });
    if (queued_ == 0) return;
    Lane& lane = lanes_[static_cast<size_t>(queue_[0])];
    std::copy(queue_.begin() + 1, queue_.end(), queue_.begin());
    --queued_;
    lock.unlock();
    const int error = Transfer(lane.direction, lane.pieces);
    lock.lock();
    lane.error = error;
    lane.busy = false;
    changed_.notify_all();
  }
}

int SpillFile::Transfer(Direction direction, std::span<const Piece> pieces) const {
  const int fd = descriptor_.number();
  for (const Piece& piece : pieces) {
    for (int64_t done = 0; done < piece.bytes;) {
      const auto left = static_cast<size_t>(piece.bytes - done);
      const off_t at = piece.offset + done;
      const ssize_t moved =
          direction == Direction::Out ? ::pwrite(fd, piece.data + done, left, at) : ::pread(fd, piece.data + done, left, at);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) return moved < 0 ? errno : EIO;
      done += moved;
    }
    if (piece.bytes == 0) continue;
    // Out to the disk now, and out of the page cache: a memory group is charged for pages that wait to be written.
    if (direction == Direction::Out &&
        ::sync_file_range(fd, piece.offset, piece.bytes,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0 &&
        errno != ENOSYS && errno != EINVAL) {
      return errno;
    }
    ::posix_fadvise(fd, piece.offset, piece.bytes, POSIX_FADV_DONTNEED);
  }
  return 0;
}

}  // namespace plimsoll
