// fixed_text: text that is put together without the heap: lines of progress and of logs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

namespace plimsoll {

// Text of bounded length without the heap; what does not fit is cut off. Columns are counted as characters.
template <size_t capacity>
class FixedText {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    const auto result = fmt::format_to_n(bytes_.data() + size_, capacity - size_, format, std::forward<Args>(args)...);
    size_ += std::min(result.size, capacity - size_);
  }
  void Append(std::string_view text) {
    const size_t taken = text.copy(bytes_.data() + size_, capacity - size_);
    size_ += taken;
  }
  void Clear() { size_ = 0; }
  std::string_view view() const { return {bytes_.data(), size_}; }
  int columns() const {
    int count = 0;
    for (size_t i = 0; i < size_; ++i) count += (static_cast<unsigned char>(bytes_[i]) & 0xC0) != 0x80;
    return count;
  }

 private:
  std::array<char, capacity> bytes_;
  size_t size_ = 0;
};

// "name":number behind a comma; what is no number becomes null, which is all that JSON has for it.
template <size_t capacity>
void AddJsonNumber(FixedText<capacity>& text, std::string_view name, double number) {
  if (std::isfinite(number)) {
    text.Add(",\"{}\":{}", name, number);
  } else {
    text.Add(",\"{}\":null", name);
  }
}

// The inside of a JSON string.
template <size_t capacity>
void AddJsonText(FixedText<capacity>& text, std::string_view value) {
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text.Add("\\{}", c);
    } else if (static_cast<unsigned char>(c) < ' ') {
      text.Add("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text.Append({&c, 1});
    }
  }
}

}  // namespace plimsoll
