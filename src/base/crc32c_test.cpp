#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace plimsoll {
namespace {

uint32_t Of(std::string_view text) { return Crc32c(std::as_bytes(std::span(text))); }

// Bit by bit, as the polynomial says.
uint32_t Slowly(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
  }
  return ~crc;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Of(""), 0u);
  EXPECT_EQ(Of("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32)), 0x8A9136AAu);  // RFC 3720
}

TEST(Crc32c, AnyLengthAndAnyCutGiveTheSame) {
  std::vector<std::byte> bytes(100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  for (size_t length = 0; length <= bytes.size(); ++length) {
    const std::span<const std::byte> all = std::span(bytes).first(length);
    EXPECT_EQ(Crc32c(all), Slowly(all)) << length;
    EXPECT_EQ(Crc32c(all.subspan(length / 3), Crc32c(all.first(length / 3))), Slowly(all)) << length;
  }
}

}  // namespace
}  // namespace plimsoll
