// utf8: code points of text that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll {

// Where the first byte is that is not UTF-8 (too long or surrogate forms included); the size of the text: nowhere.
size_t FirstBadByte(std::string_view text);

// The code point at `at` of text that is UTF-8; `at` is moved behind it.
inline char32_t NextCodePoint(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t first = byte(at);
  if (first < 0x80) return text[at++];
  const size_t more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  char32_t point = first & (0x3F >> more);
  for (size_t i = 1; i <= more; ++i) point = point << 6 | (byte(at + i) & 0x3F);
  at += 1 + more;
  return point;
}

// Writes a code point as UTF-8 and says how many bytes it has.
size_t WriteCodePoint(char32_t point, char* out);

}  // namespace plimsoll
