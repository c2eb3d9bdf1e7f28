// event_file: scalars for TensorBoard, in its own format: records of one protobuf Event each, between two masked CRC-32C.
//   in:    a step, and name and number of each scalar
//   out:   bytes of whole records, for the caller to append to a file whose name holds "tfevents"
//   never: allocates; scalars that do not fit a record are left out
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll {

uint32_t MaskedCrc32c(std::string_view bytes);

class EventRecord {
 public:
  // The first record of a file.
  std::string_view Version(double wall_seconds);

  void Start() { summary_.size = 0; }
  void Scalar(std::string_view folder, std::string_view name, double value);  // shown as "folder/name"
  std::string_view Finish(double wall_seconds, int64_t step);                 // there until the next call

 private:
  template <size_t capacity>
  struct Bytes {
    std::array<char, capacity> data;
    size_t size = 0;
    bool Fits(size_t more) const { return more <= capacity - size; }
    void Append(std::string_view bytes) { size += bytes.copy(data.data() + size, capacity - size); }
    void Fixed(uint64_t value, int bytes) {
      for (int i = 0; i < bytes; ++i) data[size++] = static_cast<char>(value >> (8 * i));
    }
    void Varint(uint64_t value) {
      for (; value >= 0x80; value >>= 7) data[size++] = static_cast<char>(value | 0x80);
      data[size++] = static_cast<char>(value);
    }
    std::string_view view() const { return {data.data(), size}; }
  };

  void Head(double wall_seconds);
  std::string_view Frame();

  Bytes<1536> summary_;
  Bytes<1600> event_;
  Bytes<1664> record_;
};

}  // namespace plimsoll
