// zip: the records of an archive, from its end to its front.
//   in:    bytes of a zip, hostile until proven otherwise
//   out:   members whose ranges were checked; inflated bytes that have the size and the CRC claimed
//   never: adds an offset to a size before both are known to lie inside the file
#include "data/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace plimsoll {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50, kEntrySignature = 0x02014b50, kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr int64_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr int64_t kCommentCap = 0xFFFF;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // "see the ZIP64 field"
constexpr uint16_t kIn64Short = 0xFFFF;
constexpr uint16_t kExtra64 = 0x0001, kFlagEncrypted = 0x0001, kStored = 0, kDeflated = 8;
constexpr int64_t kPieceBytes = 32 * 1024;

Status Refuse(const File& file, int64_t offset, const std::string& what, std::string hint = "") {
  return Status::Data(fmt::format("{}: damaged archive at byte {}: {}", file.path(), offset, what), std::move(hint));
}

std::string Printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 64)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

// Little-endian fields of a record whose size was checked before.
class Fields {
 public:
  explicit Fields(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  uint16_t U16(size_t at) const { return static_cast<uint16_t>(Number(at, 2)); }
  uint32_t U32(size_t at) const { return static_cast<uint32_t>(Number(at, 4)); }
  uint64_t U64(size_t at) const { return Number(at, 8); }

 private:
  uint64_t Number(size_t at, size_t count) const {
    uint64_t number = 0;
    for (const unsigned char byte : bytes_.subspan(at, count)) number = number >> 8 | static_cast<uint64_t>(byte) << 56;
    return number >> (64 - 8 * count);
  }
  std::span<const unsigned char> bytes_;
};

struct Directory {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t entries = 0;
};

// Takes the claims of an end record, as 64-bit numbers, against where the record itself lies.
Result<Directory> CheckedDirectory(const File& file, int64_t end_offset, uint64_t entries, uint64_t bytes, uint64_t offset) {
  const auto before = static_cast<uint64_t>(end_offset);
  if (bytes > before || offset != before - bytes) {
    return Refuse(file, end_offset,
                  fmt::format("the directory is said to be at {} with {} bytes; it must end here", offset, bytes));
  }
  if (entries > bytes / kEntryBytes) {
    return Refuse(file, end_offset, fmt::format("{} members do not fit a directory of {} bytes", entries, bytes));
  }
  if (entries > kZipMemberCap || bytes > kZipDirectoryCap) {
    return Refuse(file, end_offset,
                  fmt::format("{} members in {} bytes of directory; at most {} in {} are read", entries, bytes, kZipMemberCap,
                              kZipDirectoryCap));
  }
  return Directory{static_cast<int64_t>(offset), static_cast<int64_t>(bytes), static_cast<int64_t>(entries)};
}

// The end record is the last one whose comment reaches exactly to the end of the file.
Result<int64_t> FindEndRecord(const File& file) {
  const int64_t tail_bytes = std::min(file.size(), kEndBytes + kCommentCap);
  std::vector<unsigned char> tail(static_cast<size_t>(tail_bytes));
  const int64_t tail_offset = file.size() - tail_bytes;
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(tail_offset, tail_bytes, tail.data()));
  const Fields fields(tail);
  for (int64_t at = tail_bytes - kEndBytes; at >= 0; --at) {
    const auto place = static_cast<size_t>(at);
    if (fields.U32(place) == kEndSignature && fields.U16(place + 20) == tail_bytes - kEndBytes - at) return tail_offset + at;
  }
  return Refuse(file, file.size(), "the end of the archive is missing", "the file was cut off: write or copy it again");
}

Result<Directory> FindDirectory(const File& file) {
  const auto found = FindEndRecord(file);
  if (!found.ok()) return found.status();
  const int64_t end_offset = found.value();
  std::array<unsigned char, kEndBytes> end{};
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(end_offset, kEndBytes, end.data()));
  const Fields fields(end);
  const uint16_t entries = fields.U16(10);
  const uint32_t bytes = fields.U32(12), offset = fields.U32(16);
  if (fields.U16(4) != 0 || fields.U16(6) != 0 || fields.U16(8) != entries) {
    return Refuse(file, end_offset, "archives in several parts are not read");
  }
  if (entries != kIn64Short && bytes != kIn64 && offset != kIn64)
    return CheckedDirectory(file, end_offset, entries, bytes, offset);

  const int64_t locator_offset = end_offset - kLocator64Bytes;
  std::array<unsigned char, kLocator64Bytes> locator{};
  if (locator_offset < kEnd64Bytes) return Refuse(file, end_offset, "the ZIP64 records are missing");
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(locator_offset, kLocator64Bytes, locator.data()));
  const Fields locator_fields(locator);
  const int64_t end64_offset = locator_offset - kEnd64Bytes;  // a longer record has extensions, which nobody writes
  if (locator_fields.U32(0) != kLocator64Signature || locator_fields.U64(8) != static_cast<uint64_t>(end64_offset)) {
    return Refuse(file, locator_offset, "the ZIP64 locator is missing or points elsewhere");
  }
  std::array<unsigned char, kEnd64Bytes> end64{};
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(end64_offset, kEnd64Bytes, end64.data()));
  const Fields fields64(end64);
  const uint64_t entries64 = fields64.U64(32), bytes64 = fields64.U64(40), offset64 = fields64.U64(48);
  if (fields64.U32(0) != kEnd64Signature || fields64.U64(4) != kEnd64Bytes - 12 || fields64.U64(24) != entries64) {
    return Refuse(file, end64_offset, "the ZIP64 end record is damaged");
  }
  if ((entries != kIn64Short && entries != entries64) || (bytes != kIn64 && bytes != bytes64) ||
      (offset != kIn64 && offset != offset64)) {
    return Refuse(file, end64_offset, "the two end records disagree");
  }
  return CheckedDirectory(file, end64_offset, entries64, bytes64, offset64);
}

// One directory entry, sizes still as claimed.
struct Entry {
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;
  uint64_t local_offset = 0;
};

// Replaces saturated fields by those of the ZIP64 extra field. False: it is missing or too short.
bool TakeExtra64(std::span<const unsigned char> extra, Entry& entry) {
  std::array<uint64_t*, 3> wanted{};
  size_t count = 0;
  if (entry.bytes == kIn64) wanted[count++] = &entry.bytes;
  if (entry.packed_bytes == kIn64) wanted[count++] = &entry.packed_bytes;
  if (entry.local_offset == kIn64) wanted[count++] = &entry.local_offset;
  if (count == 0) return true;
  while (extra.size() >= 4) {
    const Fields head(extra);
    const size_t bytes = head.U16(2);
    if (bytes > extra.size() - 4) return false;
    if (head.U16(0) == kExtra64) {
      if (bytes < 8 * count) return false;
      const Fields numbers(extra.subspan(4, bytes));
      for (size_t i = 0; i < count; ++i) *wanted[i] = numbers.U64(8 * i);
      return true;
    }
    extra = extra.subspan(4 + bytes);
  }
  return false;
}

// Checks the member's claims against the file and its local header, and finds its data.
Result<ZipMember> LocateMember(const File& file, const Directory& directory, const Entry& entry, uint16_t method, uint32_t crc,
                               std::string name) {
  const auto limit = static_cast<uint64_t>(directory.offset);  // members lie in front of the directory
  if (entry.local_offset > limit || limit - entry.local_offset < static_cast<uint64_t>(kLocalBytes)) {
    return Refuse(
        file, directory.offset,
        fmt::format("member '{}' is said to start at byte {}, behind the last member", Printable(name), entry.local_offset));
  }
  const auto local_offset = static_cast<int64_t>(entry.local_offset);
  std::array<unsigned char, kLocalBytes> local{};
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(local_offset, kLocalBytes, local.data()));
  const Fields fields(local);
  const int64_t name_bytes = fields.U16(26), extra_bytes = fields.U16(28);
  const int64_t remaining = directory.offset - local_offset - kLocalBytes;
  if (fields.U32(0) != kLocalSignature || fields.U16(8) != method || name_bytes != static_cast<int64_t>(name.size()) ||
      name_bytes + extra_bytes > remaining) {
    return Refuse(file, local_offset,
                  fmt::format("no header of member '{}' here, or not as the directory says", Printable(name)));
  }
  std::string local_name(name.size(), ' ');
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(local_offset + kLocalBytes, name_bytes, local_name.data()));
  if (local_name != name) {
    return Refuse(file, local_offset,
                  fmt::format("member '{}' is called '{}' in the directory", Printable(local_name), Printable(name)));
  }
  if (entry.packed_bytes > static_cast<uint64_t>(remaining - name_bytes - extra_bytes)) {
    return Refuse(file, local_offset,
                  fmt::format("member '{}' is said to have {} bytes here; {} are left", Printable(name), entry.packed_bytes,
                              remaining - name_bytes - extra_bytes));
  }
  if (method == kStored && entry.bytes != entry.packed_bytes) {
    return Refuse(file, local_offset, fmt::format("member '{}' is stored, but its two sizes differ", Printable(name)));
  }
  if (entry.bytes > static_cast<uint64_t>(INT64_MAX)) {
    return Refuse(file, local_offset, fmt::format("member '{}' claims {} bytes", Printable(name), entry.bytes));
  }
  return ZipMember{.name = std::move(name),
                   .deflated = method == kDeflated,
                   .crc = crc,
                   .offset = local_offset + kLocalBytes + name_bytes + extra_bytes,
                   .packed_bytes = static_cast<int64_t>(entry.packed_bytes),
                   .bytes = static_cast<int64_t>(entry.bytes)};
}

struct Range {
  int64_t begin = 0;  // of the local header
  int64_t end = 0;    // of the data
};

Status RefuseOverlaps(const File& file, std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) return Refuse(file, ranges[i].begin, "two members overlap");
  }
  return Status::Ok();
}

Status RefuseDuplicates(const File& file, const Directory& directory, const std::vector<ZipMember>& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const ZipMember& member : members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Status::Ok();
  return Refuse(file, directory.offset, fmt::format("two members are called '{}'", Printable(*twice)));
}

Status InflateProblem(const File& file, const ZipMember& member, const std::string& what) {
  return Status::Data(fmt::format("{}: member '{}' at byte {}: {}", file.path(), Printable(member.name), member.offset, what));
}

Status OutOfMemory(const File& file) {
  StatusDetails details;
  details.message = fmt::format("out of memory while inflating {}", file.path());
  return {StatusKind::Internal, std::move(details)};
}

// Ends zlib's stream whichever way the function is left.
class InflateStream {
 public:
  InflateStream() : ready_(inflateInit2(&stream_, -MAX_WBITS) == Z_OK) {}
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() {
    if (ready_) inflateEnd(&stream_);
  }
  bool ready() const { return ready_; }
  z_stream& operator*() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

Result<std::vector<ZipMember>> ReadZipDirectory(const File& file) {
  const auto found = FindDirectory(file);
  if (!found.ok()) return found.status();
  const Directory& directory = found.value();
  std::vector<unsigned char> bytes(static_cast<size_t>(directory.bytes));
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(directory.offset, directory.bytes, bytes.data()));

  std::vector<ZipMember> members;
  std::vector<Range> ranges;
  members.reserve(static_cast<size_t>(directory.entries));
  ranges.reserve(static_cast<size_t>(directory.entries));
  std::span<const unsigned char> rest(bytes);
  for (int64_t number = 0; number < directory.entries; ++number) {
    const int64_t offset = directory.offset + directory.bytes - static_cast<int64_t>(rest.size());
    if (rest.size() < kEntryBytes) return Refuse(file, offset, "the directory ends early");
    const Fields fields(rest);
    const size_t name_bytes = fields.U16(28), extra_bytes = fields.U16(30), comment_bytes = fields.U16(32);
    if (fields.U32(0) != kEntrySignature || name_bytes + extra_bytes + comment_bytes > rest.size() - kEntryBytes) {
      return Refuse(file, offset, "wanted a directory entry");
    }
    const auto name_at = rest.subspan(kEntryBytes, name_bytes);
    std::string name(name_at.begin(), name_at.end());
    const uint16_t method = fields.U16(10);
    if ((fields.U16(8) & kFlagEncrypted) != 0)
      return Refuse(file, offset, fmt::format("member '{}' is encrypted", Printable(name)));
    if (method != kStored && method != kDeflated) {
      return Refuse(
          file, offset,
          fmt::format("member '{}' is compressed by method {}; stored and deflated ones are read", Printable(name), method),
          "save with np.savez or np.savez_compressed");
    }
    Entry entry{.packed_bytes = fields.U32(20), .bytes = fields.U32(24), .local_offset = fields.U32(42)};
    if (!TakeExtra64(rest.subspan(kEntryBytes + name_bytes, extra_bytes), entry)) {
      return Refuse(file, offset, fmt::format("the ZIP64 field of member '{}' is missing or short", Printable(name)));
    }
    auto member = LocateMember(file, directory, entry, method, fields.U32(16), std::move(name));
    if (!member.ok()) return member.status();
    ranges.push_back({static_cast<int64_t>(entry.local_offset), member->offset + member->packed_bytes});
    members.push_back(std::move(*member));
    rest = rest.subspan(kEntryBytes + name_bytes + extra_bytes + comment_bytes);
  }
  if (!rest.empty())
    return Refuse(file, directory.offset, fmt::format("{} bytes behind the last directory entry", rest.size()));
  PLIMSOLL_RETURN_IF_ERROR(RefuseOverlaps(file, std::move(ranges)));
  PLIMSOLL_RETURN_IF_ERROR(RefuseDuplicates(file, directory, members));
  return members;
}

Result<File> InflateMember(const File& file, const ZipMember& member) {
  if (member.bytes > kZipRatioFreeBytes && member.bytes / kZipRatioCap > member.packed_bytes) {
    return InflateProblem(file, member,
                          fmt::format("{} bytes claim to become {}, more than {}:1, as a decompression bomb does",
                                      member.packed_bytes, member.bytes, kZipRatioCap));
  }
  auto scratch = ScratchFile::Create();
  if (!scratch.ok()) return scratch.status();
  InflateStream inflater;
  if (!inflater.ready()) return OutOfMemory(file);
  z_stream& stream = *inflater;
  std::vector<std::byte> buffer(2 * kPieceBytes);
  auto* const in = reinterpret_cast<Bytef*>(buffer.data());
  auto* const out = in + kPieceBytes;

  int64_t read = 0, written = 0;
  uLong crc = crc32(0, nullptr, 0);
  int outcome = Z_OK;
  while (outcome != Z_STREAM_END) {
    if (stream.avail_in == 0 && read < member.packed_bytes) {
      const int64_t now = std::min(kPieceBytes, member.packed_bytes - read);
      PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(member.offset + read, now, in));
      read += now;
      stream.next_in = in;
      stream.avail_in = static_cast<uInt>(now);
    }
    stream.next_out = out;
    stream.avail_out = static_cast<uInt>(kPieceBytes);
    outcome = inflate(&stream, Z_NO_FLUSH);
    if (outcome == Z_MEM_ERROR) return OutOfMemory(file);
    const int64_t made = kPieceBytes - static_cast<int64_t>(stream.avail_out);
    if (outcome != Z_OK && outcome != Z_STREAM_END) {  // Z_BUF_ERROR: the input ended inside the stream
      return InflateProblem(file, member,
                            fmt::format("the compressed bytes are damaged or end early, after {} bytes", written + made));
    }
    if (made > member.bytes - written)
      return InflateProblem(file, member, fmt::format("inflates to more than the {} bytes claimed", member.bytes));
    crc = crc32(crc, out, static_cast<uInt>(made));
    PLIMSOLL_RETURN_IF_ERROR(scratch->Append(std::as_bytes(std::span(out, static_cast<size_t>(made)))));
    written += made;
  }
  if (written != member.bytes) {
    return InflateProblem(file, member, fmt::format("inflates to {} bytes, {} were claimed", written, member.bytes));
  }
  if (stream.avail_in != 0 || read != member.packed_bytes)
    return InflateProblem(file, member, "has bytes behind its compressed stream");
  if (crc != member.crc) {
    return InflateProblem(file, member, fmt::format("has CRC {:08x}, {:08x} was claimed", crc, member.crc));
  }
  return std::move(*scratch).IntoFile(fmt::format("{}: member '{}', inflated", file.path(), Printable(member.name)));
}

}  // namespace plimsoll
