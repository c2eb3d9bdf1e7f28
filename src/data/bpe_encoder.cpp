#include "data/bpe_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "data/tokenizer.h"

namespace plimsoll {

Result<BpeEncoder> BpeEncoder::Make(const Vocabulary& vocabulary, const std::string& shown_as) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (vocabulary.Find({&c, 1}) < 0)
      return Status::Data(fmt::format("{}: has no \\x{:02x}; byte-pair encoding needs all 256 bytes", shown_as, byte),
                          "is it the vocabulary of a model with data.tokens = \"bpe\"?");
  }
  return BpeEncoder(vocabulary);
}

void BpeEncoder::Encode(std::string_view word, std::vector<int32_t>& ids) {
  if (const int64_t whole = vocabulary_->Find(word); whole >= 0) {
    ids.push_back(static_cast<int32_t>(whole));
    return;
  }
  if (word.size() > Seen::kBytes) return Join(word, ids);
  Seen& seen = seen_[std::hash<std::string_view>()(word) % kSeen];
  if (seen.size != word.size() || std::memcmp(seen.text, word.data(), word.size()) != 0) {
    const size_t first = ids.size();
    Join(word, ids);
    const size_t count = ids.size() - first;
    if (count > Seen::kIds) return;
    std::memcpy(seen.text, word.data(), word.size());
    seen.size = static_cast<uint8_t>(word.size());
    seen.count = static_cast<uint8_t>(count);
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(first), count, seen.ids);
    return;
  }
  ids.insert(ids.end(), seen.ids, seen.ids + seen.count);
}

void BpeEncoder::Join(std::string_view word, std::vector<int32_t>& ids) const {
  constexpr int64_t kNone = INT64_MAX;
  PLIMSOLL_CHECK(word.size() <= kLongestPiece, "the tokenizer cuts words to this size");
  std::array<uint8_t, kLongestPiece + 1> starts{};  // of the pieces, and the end of the last
  std::array<int64_t, kLongestPiece> joined{};      // of each piece and the next: the id of both as one; kNone: there is none
  size_t count = word.size();
  const auto look = [&](size_t i) {
    if (i + 1 >= count) return kNone;
    const int64_t found = vocabulary_->Find(word.substr(starts[i], static_cast<size_t>(starts[i + 2] - starts[i])));
    return found >= 0 ? found : kNone;
  };
  for (size_t i = 0; i <= count; ++i) starts[i] = static_cast<uint8_t>(i);
  for (size_t i = 0; i < count; ++i) joined[i] = look(i);
  while (count > 1) {
    const auto best = static_cast<size_t>(std::min_element(joined.begin(), joined.begin() + count) - joined.begin());
    if (joined[best] == kNone) break;
    std::copy(starts.begin() + best + 2, starts.begin() + count + 1, starts.begin() + best + 1);
    std::copy(joined.begin() + best + 2, joined.begin() + count, joined.begin() + best + 1);
    --count;
    joined[best] = look(best);
    if (best > 0) joined[best - 1] = look(best - 1);
  }
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(
        static_cast<int32_t>(vocabulary_->Find(word.substr(starts[i], static_cast<size_t>(starts[i + 1] - starts[i])))));
  }
}

}  // namespace plimsoll
