// zip: finds the members of a .npz, which is a zip archive of .npy files.
//   in:    an open file
//   out:   an inventory (name, method, where the bytes lie); a deflated member as a scratch file
//   never: uses a member's name as a path; trusts a size that was not checked against the file
// The central directory at the end of the file rules; each member's local header is read again, because its extra part
// has a length of its own, and must agree. ZIP64 is read, because numpy writes it for arrays of 4 GiB and more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int64_t kZipMemberCap = 4096;
inline constexpr int64_t kZipDirectoryCap = 512 * 1024;  // bytes
// A member that claims to grow more than this is refused, where what it would become is also large: honest arrays of
// zeros reach 1000:1, and small ones do no harm.
inline constexpr int64_t kZipRatioCap = 200;
inline constexpr int64_t kZipRatioFreeBytes = int64_t{64} << 20;

struct ZipMember {
  std::string name;
  bool deflated = false;     // else stored: its bytes lie in the file as they are
  uint32_t crc = 0;          // CRC-32 of the bytes after inflating
  int64_t offset = 0;        // first byte of its data in the file
  int64_t packed_bytes = 0;  // in the file
  int64_t bytes = 0;         // after inflating, as the directory claims
};

// Members in the order of the directory. Their ranges lie inside the file and do not overlap; no name comes twice.
Result<std::vector<ZipMember>> ReadZipDirectory(const File& file);

// Inflates a member into a scratch file through fixed buffers. It must give exactly the bytes and the CRC claimed.
Result<File> InflateMember(const File& file, const ZipMember& member);

}  // namespace plimsoll
