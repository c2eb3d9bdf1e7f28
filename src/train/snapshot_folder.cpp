#include "train/snapshot_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "plimsoll/text.h"

namespace plimsoll {
namespace {

constexpr std::string_view kEnding = ".plimsoll";
constexpr std::string_view kPartialEnding = ".partial";
constexpr const char* kNewLink = "link.partial";
constexpr double kSpaceFactor = 1.1;
constexpr int64_t kSpaceBeside = kMiB;

// A name without the heap.
using Name = std::array<char, 40>;
Name NameOf(uint64_t generation, std::string_view ending) {
  Name name{};
  fmt::format_to_n(name.data(), name.size() - 1, "{:06}{}", generation, ending);
  return name;
}

// 0: not the name of a generation.
uint64_t GenerationOf(std::string_view name) {
  uint64_t generation = 0;
  if (!name.ends_with(kEnding)) return 0;
  name.remove_suffix(kEnding.size());
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), generation);
  const bool whole = error == std::errc() && stop == name.data() + name.size();
  return whole && generation <= kMostGeneration && NameOf(generation, "").data() == name ? generation : 0;
}

// Calls `visit` with the name of every entry.
template <typename Visit>
void ForEachName(const std::string& folder, const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return;
  while (const dirent* entry = readdir(open.get())) visit(entry->d_name);
}

}  // namespace

std::string SnapshotName(uint64_t generation) { return NameOf(generation, kEnding).data(); }

std::vector<uint64_t> GenerationsIn(const std::string& folder) {
  std::vector<uint64_t> generations;
  ForEachName(folder, [&](const char* name) {
    if (const uint64_t generation = GenerationOf(name); generation > 0) generations.push_back(generation);
  });
  std::sort(generations.rbegin(), generations.rend());
  return generations;
}

Result<SnapshotFolder> SnapshotFolder::Open(std::string folder, int64_t keep, const Known& verified) {
  PLIMSOLL_CHECK(keep >= 2, "at least two generations stay; the job reader sees to it");
  if (!FolderExists(folder)) PLIMSOLL_RETURN_IF_ERROR(MakeFolder(folder));
  Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open()) return WriteFailure(folder, "open the folder", errno);
  SnapshotFolder opened(std::move(descriptor), std::move(folder), keep);
  std::vector<std::string> stale;
  ForEachName(opened.path_, [&](std::string_view name) {
    if (name.ends_with(kPartialEnding)) stale.emplace_back(name);
  });
  for (const std::string& name : stale) unlinkat(opened.folder_.number(), name.c_str(), 0);
  std::vector<uint64_t> there = GenerationsIn(opened.path_);
  opened.kept_.reserve(there.size() + static_cast<size_t>(keep) + 4);
  for (auto generation = there.rbegin(); generation != there.rend(); ++generation) {
    const bool known = *generation == verified.generation;
    opened.kept_.push_back({known ? verified : Known{.generation = *generation}, known});
    opened.newest_ = *generation;
  }
  return opened;
}

std::string SnapshotFolder::PathOf(uint64_t generation) const { return path_ + "/" + SnapshotName(generation); }

uint64_t SnapshotFolder::newest_verified() const {
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    if (kept->verified) return kept->known.generation;
  }
  return 0;
}

Status SnapshotFolder::Failure(const char* doing, int error) const { return WriteFailure(path_, doing, error); }

Status SnapshotFolder::CheckSpace(int64_t content_bytes) const {
  struct statvfs facts {};
  if (fstatvfs(folder_.number(), &facts) != 0) return Status::Ok();  // who does not say how much is free may have enough
  const double wanted =
      kSpaceFactor * static_cast<double>(SnapshotFileBytes(content_bytes)) + static_cast<double>(kSpaceBeside);
  if (static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize) >= wanted) return Status::Ok();
  const Status full = Failure("save a snapshot", ENOSPC);
  return Status::CannotWrite(fmt::format("{}; it wants {} free", full.message(), PrettyBytes(static_cast<int64_t>(wanted))),
                             full.hint());
}

Status SnapshotFolder::Write(SnapshotContent& content, std::span<std::byte> buffer, const char* partial, uint64_t& digest) {
  unlinkat(folder_.number(), partial, 0);
  const int number = openat(folder_.number(), partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (number < 0) return Failure("create a snapshot", errno);
  Descriptor file(number);
  SnapshotWriter writer(number, buffer, next(), content.bytes());
  if (const int error = writer.Start(); error != 0) return Failure("write a snapshot", error);
  PLIMSOLL_RETURN_IF_ERROR(content.WriteTo(writer));
  if (const int error = writer.error() != 0 ? writer.error() : writer.Finish(); error != 0)
    return Failure("write a snapshot", error);
  if (fsync(number) != 0) return Failure("sync a snapshot", errno);
  posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED);  // so that it is the disk that is asked when it is read back
  digest = writer.digest();
  // Linux closes the descriptor even when close reports EINTR, and the bytes are synced by now.
  if (close(file.Release()) != 0 && errno != EINTR) return Failure("close a snapshot", errno);
  return Status::Ok();
}

Status SnapshotFolder::MoveIn(const char* partial, const char* name) {
  if (renameat(folder_.number(), partial, folder_.number(), name) != 0)
    return Failure("rename the finished snapshot into place", errno);
  // Some file systems sync names by themselves and refuse to be asked.
  if (fsync(folder_.number()) != 0 && errno != EINVAL) return Failure("sync the folder of snapshots", errno);
  return Status::Ok();
}

bool SnapshotFolder::Verifies(const char* name, std::span<std::byte> buffer, uint64_t digest) const {
  const Descriptor file(openat(folder_.number(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts {};
  if (!file.is_open() || fstat(file.number(), &facts) != 0) return false;
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_RANDOM);  // no reading ahead: see File::OpenRead
  SnapshotReader reader(file.number(), facts.st_size, buffer);
  const bool good = reader.Start() && reader.Finish() && reader.digest() == digest;
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  return good;
}

Status SnapshotFolder::Commit(SnapshotContent& content, std::span<std::byte> buffer, uint64_t best) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSpace(content.bytes()));
  const uint64_t generation = next();
  const Name name = NameOf(generation, kEnding), partial = NameOf(generation, kPartialEnding);
  uint64_t digest = 0;
  Status done = Write(content, buffer, partial.data(), digest);
  if (done.ok()) done = MoveIn(partial.data(), name.data());
  if (done.ok() && !Verifies(name.data(), buffer, digest)) done = Failure("read back the snapshot that was written", EIO);
  if (!done.ok()) {  // the file is dead, whatever its name by now
    unlinkat(folder_.number(), partial.data(), 0);
    unlinkat(folder_.number(), name.data(), 0);
    return done;
  }
  newest_ = generation;
  bytes_ = SnapshotFileBytes(content.bytes());
  kept_.push_back({{.generation = generation, .best = best}, true});
  Link("last", generation);
  if (best == generation) Link("best", generation);
  DropOld();
  return Status::Ok();
}

namespace {

// The content of a file that is one already.
class CopiedContent final : public SnapshotContent {
 public:
  CopiedContent(SnapshotReader& reader, std::span<std::byte> piece) : reader_(reader), piece_(piece) {}
  int64_t bytes() const override { return reader_.content_bytes(); }
  Status WriteTo(SnapshotWriter& writer) override {
    while (reader_.left() > 0) {
      const auto now = std::min(reader_.left(), static_cast<int64_t>(piece_.size()));
      const std::span<std::byte> bytes = piece_.first(static_cast<size_t>(now));
      if (!reader_.Read(bytes)) return Status::Data(reader_.problem());
      writer.Write(bytes);
    }
    return reader_.Finish() ? Status::Ok() : Status::Data(reader_.problem());
  }

 private:
  SnapshotReader& reader_;
  std::span<std::byte> piece_;
};

}  // namespace

Status SnapshotFolder::Adopt(const std::string& file, uint64_t generation, std::span<std::byte> buffer) {
  Descriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!from.is_open() || fstat(from.number(), &facts) != 0) return Status::Data(fmt::format("{}: cannot be opened", file));
  std::vector<std::byte> read(static_cast<size_t>(kSnapshotBlockBytes)), piece(4096);
  SnapshotReader reader(from.number(), facts.st_size, read);
  if (!reader.Start()) return Status::Data(fmt::format("{}: {}", file, reader.problem()));
  CopiedContent content(reader, piece);
  PLIMSOLL_CHECK(generation > newest_, "generations come in order");
  newest_ = generation - 1;
  const Status done = Commit(content, buffer, generation);
  return done.kind() == StatusKind::Data ? Status::Data(fmt::format("{}: {}", file, done.message())) : done;
}

// For people, and replaced as a whole; a file system that has no links does without.
void SnapshotFolder::Link(const char* link, uint64_t generation) {
  unlinkat(folder_.number(), kNewLink, 0);
  if (symlinkat(NameOf(generation, kEnding).data(), folder_.number(), kNewLink) != 0) return;
  if (renameat(folder_.number(), kNewLink, folder_.number(), link) != 0) unlinkat(folder_.number(), kNewLink, 0);
}

// What is older than the newest `keep` verified ones goes, but for what one of those holds for the best.
void SnapshotFolder::DropOld() {
  int64_t good = 0;
  size_t oldest = kept_.size();
  while (oldest > 0 && good < keep_) good += kept_[--oldest].verified ? 1 : 0;
  if (good < keep_) return;
  const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(oldest);
  const auto stays = std::remove_if(kept_.begin(), end, [&](const Kept& kept) {
    const uint64_t generation = kept.known.generation;
    const bool wanted = std::any_of(end, kept_.end(), [&](const Kept& newer) { return newer.known.best == generation; });
    return !wanted && unlinkat(folder_.number(), NameOf(generation, kEnding).data(), 0) == 0;
  });
  kept_.erase(stays, end);
}

}  // namespace plimsoll
