#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace plimsoll {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // bits reversed

// What each byte comes to, for processors without the instruction.
constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value % 2 == 0 ? value >> 1 : value >> 1 ^ kPolynomial;
    table[byte] = value;
  }
  return table;
}();

uint32_t ByTable(const std::byte* at, size_t count, uint32_t crc) {
  for (size_t i = 0; i < count; ++i) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint32_t>(at[i])) & 0xFF];
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t ByInstruction(const std::byte* at, size_t count, uint32_t crc) {
  uint64_t wide = crc;
  for (; count >= 8; count -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return ByTable(at, count, static_cast<uint32_t>(wide));
}

}  // namespace

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t before) {
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  return ~(kHasInstruction ? ByInstruction : ByTable)(bytes.data(), bytes.size(), ~before);
}

}  // namespace plimsoll
