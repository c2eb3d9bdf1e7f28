#include "data/utf8.h"

#include <cstring>

namespace plimsoll {

size_t FirstBadByte(std::string_view text) {
  const size_t size = text.size();
  size_t at = 0;
  while (at < size) {
    if (size - at >= 8) {  // most text is ASCII
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const size_t more = first < 0xC2 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : 0;
    if (more == 0 || size - at <= more) return at;
    for (size_t i = 1; i <= more; ++i) {
      if ((byte(at + i) & 0xC0) != 0x80) return at;
    }
    const unsigned second = byte(at + 1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second >= 0x90))
      return at;
    at += 1 + more;
  }
  return size;
}

size_t WriteCodePoint(char32_t point, char* out) {
  if (point < 0x80) {
    out[0] = static_cast<char>(point);
    return 1;
  }
  const size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<char>(kFirst[more] | point >> (6 * more));
  for (size_t i = 1; i <= more; ++i) out[i] = static_cast<char>(0x80 | (point >> (6 * (more - i)) & 0x3F));
  return 1 + more;
}

}  // namespace plimsoll
