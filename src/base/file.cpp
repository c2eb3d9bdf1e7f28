// file: the system calls behind file.h.
//   in:    paths, offsets, bytes
//   out:   a full count or a Status; EINTR and short counts end here
//   never: retries a file whose write or sync failed, because the kernel may have dropped its pages
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/check.h"

namespace plimsoll {
namespace {

constexpr size_t kOwnBufferBytes = 64 * 1024;

template <typename Call>
auto Retry(Call call) {  // a signal is no failure
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::string Cause(int error) {
  switch (error) {
    case ENOSPC:
      return "no space left on the device";
    case EDQUOT:
      return "the disk quota is used up";
    case EROFS:
      return "the file system is read-only";
    case EACCES:
    case EPERM:
      return "no rights";
    case ENOENT:
      return "no such file or folder";
    case EFBIG:
      return "larger than the limit on file sizes";
    case EIO:
      return "the device reports an error";
    default:
      return std::generic_category().message(error);
  }
}

Status CannotRead(const std::string& path, int64_t offset, const std::string& cause) {
  return Status::Data(fmt::format("{}: cannot read at byte {}: {}", path, offset, cause));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes a new name in the folder durable; returns 0 or errno.
int SyncFolder(const std::string& folder) {
  const Descriptor descriptor(Retry([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!descriptor.is_open()) return errno;
  if (Retry([&] { return ::fsync(descriptor.number()); }) == 0) return 0;
  return errno == EINVAL ? 0 : errno;  // some file systems sync names by themselves and refuse to be asked
}

}  // namespace

int WriteAll(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = Retry([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (done < 0) return errno;
    if (done == 0) return EIO;  // would loop for ever
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return 0;
}

Status WriteFailure(const std::string& path, const char* doing, int error) {
  const bool space = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return Status::CannotWrite(fmt::format("{}: cannot {}: {}", path, doing, Cause(error)),
                             space ? "free some space or choose another folder" : "choose a folder that you may write to");
}

Descriptor::~Descriptor() {
  if (is_open()) ::close(number_);
}

Result<File> File::OpenRead(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer before we can see that it is no regular file.
  Descriptor descriptor(Retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!descriptor.is_open()) return Status::Data(fmt::format("{}: cannot open: {}", path, Cause(errno)));
  struct stat facts {};
  if (::fstat(descriptor.number(), &facts) != 0) return Status::Data(fmt::format("{}: cannot open: {}", path, Cause(errno)));
  if (!S_ISREG(facts.st_mode)) {
    return Status::Data(
        fmt::format("{}: is {}; wanted a regular file", path, S_ISDIR(facts.st_mode) ? "a folder" : "a device or pipe"));
  }
  // No reading ahead by the kernel: pages on their way in cannot be taken back, and in a memory group of the budget's size the
  // usual window (8 MB on some machines) is the end of the process. Our own reads are large enough, or asked for in time
  // (Expect).
  ::posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_RANDOM);
  return File(std::move(descriptor), path, static_cast<int64_t>(facts.st_size));
}

Status File::ReadAt(int64_t offset, int64_t bytes, void* out) const {
  PLIMSOLL_CHECK(offset >= 0 && bytes >= 0, "a read must have an offset and a size");
  if (offset > size_ || bytes > size_ - offset) {
    return CannotRead(path_, offset, fmt::format("wanted {} bytes, the file ends at byte {}", bytes, size_));
  }
  auto* place = static_cast<std::byte*>(out);
  while (bytes > 0) {
    const ssize_t done = Retry([&] { return ::pread(descriptor_.number(), place, static_cast<size_t>(bytes), offset); });
    if (done < 0) return CannotRead(path_, offset, Cause(errno));
    if (done == 0) return CannotRead(path_, offset, fmt::format("the file had {} bytes and became shorter", size_));
    place += done;
    offset += done;
    bytes -= done;
  }
  return Status::Ok();
}

void File::Expect(int64_t offset, int64_t bytes) const {
  ::posix_fadvise(descriptor_.number(), offset, bytes, POSIX_FADV_WILLNEED);
}

FileFacts File::Facts() const {
  struct stat facts {};
  if (::fstat(descriptor_.number(), &facts) != 0) return {};
  return {.bytes = static_cast<int64_t>(facts.st_size),
          .changed_ns = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

Result<std::string> ReadWholeFile(const std::string& path, int64_t cap) {
  Descriptor descriptor(Retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!descriptor.is_open()) return Status::Data(fmt::format("{}: cannot open: {}", path, Cause(errno)));
  struct stat facts {};
  if (::fstat(descriptor.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Status::Data(fmt::format("{}: is not a regular file", path));
  }
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t done = Retry([&] { return ::read(descriptor.number(), piece, sizeof piece); });
    if (done < 0) return CannotRead(path, static_cast<int64_t>(text.size()), Cause(errno));
    if (done == 0) return text;
    if (done > cap - static_cast<int64_t>(text.size())) {
      return Status::Data(fmt::format("{}: is larger than {} bytes, the most that is read of such a file", path, cap));
    }
    text.append(piece, static_cast<size_t>(done));
  }
}

Result<ScratchFile> ScratchFile::Create() {
  const char* wanted = std::getenv("TMPDIR");
  const std::string folder = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  std::string name = folder + "/plimsoll-XXXXXX";
  Descriptor descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!descriptor.is_open()) return WriteFailure(folder, "make a temporary file there", errno);
  ::unlink(name.c_str());
  ::posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_RANDOM);  // as in OpenRead
  return ScratchFile(std::move(descriptor), folder);
}

Status ScratchFile::Append(std::span<const std::byte> bytes) {
  if (const int error = WriteAll(descriptor_.number(), bytes); error != 0) {
    Status status = WriteFailure(folder_, "write a temporary file there", error);
    return Status::CannotWrite(status.message(), "point TMPDIR to a folder with more space");
  }
  size_ += static_cast<int64_t>(bytes.size());
  return Status::Ok();
}

File ScratchFile::IntoFile(std::string shown_as) && { return File(std::move(descriptor_), std::move(shown_as), size_); }

FileWriter::FileWriter(Descriptor descriptor, std::string path, std::string temporary, std::span<std::byte> buffer)
    : descriptor_(std::move(descriptor)), path_(std::move(path)), temporary_(std::move(temporary)), buffer_(buffer) {
  if (buffer_.empty()) {
    own_buffer_.resize(kOwnBufferBytes);
    buffer_ = own_buffer_;
  }
}

Result<FileWriter> FileWriter::Create(std::string path, std::span<std::byte> buffer) {
  static std::atomic<unsigned> counter = 0;
  // Not mkstemp: it ignores the user's umask, and the file keeps its mode when it is renamed.
  for (int attempt = 0;; ++attempt) {
    std::string temporary = fmt::format("{}.partial-{}-{}", path, ::getpid(), ++counter);
    Descriptor descriptor(Retry([&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }));
    if (descriptor.is_open()) return FileWriter(std::move(descriptor), std::move(path), std::move(temporary), buffer);
    if (errno != EEXIST || attempt == 100) return WriteFailure(path, "create the file", errno);
  }
}

FileWriter::~FileWriter() {
  if (descriptor_.is_open()) ::unlink(temporary_.c_str());
}

Status FileWriter::Fail(const char* doing, int error) {
  failure_ = WriteFailure(path_, doing, error);
  return failure_;
}

Status FileWriter::Flush() {
  const int error = WriteAll(descriptor_.number(), buffer_.first(filled_));
  filled_ = 0;
  return error == 0 ? Status::Ok() : Fail("write", error);
}

Status FileWriter::Write(std::span<const std::byte> bytes) {
  PLIMSOLL_CHECK(descriptor_.is_open(), "nothing is written to a committed file");
  if (!failure_.ok()) return failure_;
  written_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    if (filled_ == 0 && bytes.size() >= buffer_.size()) {  // large pieces need no buffer
      const int error = WriteAll(descriptor_.number(), bytes);
      return error == 0 ? Status::Ok() : Fail("write", error);
    }
    const size_t taken = std::min(bytes.size(), buffer_.size() - filled_);
    std::memcpy(buffer_.data() + filled_, bytes.data(), taken);
    filled_ += taken;
    bytes = bytes.subspan(taken);
    if (filled_ == buffer_.size()) PLIMSOLL_RETURN_IF_ERROR(Flush());
  }
  return Status::Ok();
}

Status FileWriter::Commit() {
  PLIMSOLL_CHECK(descriptor_.is_open(), "a file is committed once");
  if (!failure_.ok()) return failure_;
  PLIMSOLL_RETURN_IF_ERROR(Flush());
  if (Retry([&] { return ::fsync(descriptor_.number()); }) != 0) return Fail("sync", errno);
  // Linux closes the descriptor even when close reports EINTR, and the bytes are synced by now.
  if (::close(descriptor_.Release()) != 0 && errno != EINTR) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    return Fail("close", error);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    return Fail("rename the finished file into place", error);
  }
  if (const int error = SyncFolder(FolderOf(path_)); error != 0) return Fail("sync its folder", error);
  return Status::Ok();
}

bool FolderExists(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

Status MakeFolder(const std::string& path) {
  std::string_view name = path;
  while (name.size() > 1 && name.back() == '/') name.remove_suffix(1);
  const std::string parent = FolderOf(std::string(name));
  if (::mkdir(path.c_str(), 0777) != 0) {
    if (errno == ENOENT)
      return Status::CannotWrite(fmt::format("{}: cannot make the folder: {} is not there", path, parent),
                                 fmt::format("mkdir -p {}", parent));
    return WriteFailure(path, "make the folder", errno);
  }
  if (const int error = SyncFolder(parent); error != 0) {
    return WriteFailure(path, "sync the folder that holds it", error);
  }
  return Status::Ok();
}

Status WriteTextFile(const std::string& path, std::string_view text) {
  std::array<std::byte, 1024> buffer;  // the text lies in memory already: there is nothing to gather
  Result<FileWriter> writer = FileWriter::Create(path, buffer);
  if (!writer.ok()) return writer.status();
  PLIMSOLL_RETURN_IF_ERROR(writer->Write(text));
  return writer->Commit();
}

}  // namespace plimsoll
