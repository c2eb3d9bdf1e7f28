// npy_test_files: .npy and .npz bytes made by hand, for tests; sound ones, and the pieces to make damaged ones of.
#pragma once

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plimsoll {

// A folder for one test, removed at its end.
class TestFolder {
 public:
  TestFolder() : path_(fmt::format("{}/plimsoll_data_test_{}", std::filesystem::temp_directory_path().string(), ::getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  // Makes a new file: truncating an old one would make some file systems sync it, which is slow.
  std::string Put(const std::string& name, std::string_view bytes) const {
    std::filesystem::remove(path_ + "/" + name);
    return Overwrite(name, bytes);
  }
  // The same file with other bytes, as seen by whoever has it open.
  std::string Overwrite(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

inline std::string LittleEndian(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xFF);
  return text;
}

// A .npy with any header text and any data.
inline std::string NpyWithHeader(std::string header, std::string_view data, int version = 1) {
  const size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + LittleEndian(header.size(), version == 1 ? 2 : 4) +
         header + std::string(data);
}

inline std::string NpyHeader(std::string_view descr, std::string_view shape, bool fortran = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran ? "True" : "False", shape);
}

template <typename T>
std::string DescrOf() {
  if constexpr (std::is_same_v<T, bool>) return "|b1";
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return fmt::format("{}{}{}", sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
  }
  return bytes;
}

// A sound .npy: Npy<float>({1, 2, 3, 4}, "(2, 2)").
template <typename T>
std::string Npy(const std::vector<T>& values, std::string_view shape, int version = 1) {
  return NpyWithHeader(NpyHeader(DescrOf<T>(), shape), BytesOf(values), version);
}

// As an archive has it, unless zlib's window bits ask for another header.
inline std::string Deflate(std::string_view bytes, int window_bits = -MAX_WBITS) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A member of an archive under construction. What the directory claims can be set apart from what is there.
struct TestMember {
  TestMember(std::string given_name, std::string given_bytes, bool deflated = false)
      : name(std::move(given_name)), packed(deflated ? Deflate(given_bytes) : given_bytes) {
    method = deflated ? 8 : 0;
    claimed_packed = packed.size();
    claimed_bytes = given_bytes.size();
    crc = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(given_bytes.data()), static_cast<uInt>(given_bytes.size())));
  }
  std::string name;
  std::string packed;
  uint16_t method = 0;
  uint16_t flags = 0;
  uint64_t claimed_packed = 0;
  uint64_t claimed_bytes = 0;
  uint32_t crc = 0;
  int64_t claimed_offset = -1;  // of the local header; negative: where it is
  std::string local_name;       // empty: as `name`
};

struct ZipOptions {
  bool zip64 = false;     // sizes, offsets and counts all go through the ZIP64 records
  int extra_entries = 0;  // claimed beyond those that are there
  std::string comment = {};
};

inline std::string Zip(const std::vector<TestMember>& members, const ZipOptions& options = {}) {
  const uint64_t in64 = 0xFFFFFFFF;
  std::string file, directory;
  for (const TestMember& member : members) {
    const uint64_t offset = member.claimed_offset < 0 ? file.size() : static_cast<uint64_t>(member.claimed_offset);
    const std::string& local_name = member.local_name.empty() ? member.name : member.local_name;
    const std::string sizes = LittleEndian(member.claimed_bytes, 8) + LittleEndian(member.claimed_packed, 8);
    // As numpy does, the local header always has a ZIP64 field, whose length the directory does not know.
    file += "PK\3\4" + LittleEndian(45, 2) + LittleEndian(member.flags, 2) + LittleEndian(member.method, 2) +
            LittleEndian(0, 4) + LittleEndian(member.crc, 4) + LittleEndian(in64, 4) + LittleEndian(in64, 4) +
            LittleEndian(local_name.size(), 2) + LittleEndian(20, 2) + local_name + LittleEndian(1, 2) + LittleEndian(16, 2) +
            sizes + member.packed;
    std::string extra;
    if (options.zip64) {  // another field in front, which readers must step over
      extra = LittleEndian(0x5455, 2) + LittleEndian(1, 2) + "x" + LittleEndian(1, 2) + LittleEndian(24, 2) + sizes +
              LittleEndian(offset, 8);
    }
    const auto short_field = [&](uint64_t number) { return LittleEndian(options.zip64 ? in64 : number, 4); };
    directory += "PK\1\2" + LittleEndian(45, 2) + LittleEndian(45, 2) + LittleEndian(member.flags, 2) +
                 LittleEndian(member.method, 2) + LittleEndian(0, 4) + LittleEndian(member.crc, 4) +
                 short_field(member.claimed_packed) + short_field(member.claimed_bytes) + LittleEndian(member.name.size(), 2) +
                 LittleEndian(extra.size(), 2) + LittleEndian(0, 2) + LittleEndian(0, 2) + LittleEndian(0, 2) +
                 LittleEndian(0, 4) + short_field(offset) + member.name + extra;
  }
  const uint64_t start = file.size(), count = members.size() + static_cast<uint64_t>(options.extra_entries);
  file += directory;
  if (options.zip64) {
    const uint64_t end64 = file.size();
    file += "PK\6\6" + LittleEndian(44, 8) + LittleEndian(45, 2) + LittleEndian(45, 2) + LittleEndian(0, 8) +
            LittleEndian(count, 8) + LittleEndian(count, 8) + LittleEndian(directory.size(), 8) + LittleEndian(start, 8);
    file += "PK\6\7" + LittleEndian(0, 4) + LittleEndian(end64, 8) + LittleEndian(1, 4);
  }
  const uint64_t end_count = options.zip64 ? 0xFFFF : count;
  file += "PK\5\6" + LittleEndian(0, 4) + LittleEndian(end_count, 2) + LittleEndian(end_count, 2) +
          LittleEndian(options.zip64 ? in64 : directory.size(), 4) + LittleEndian(options.zip64 ? in64 : start, 4) +
          LittleEndian(options.comment.size(), 2) + options.comment;
  return file;
}

}  // namespace plimsoll
