#include "data/token_ids.h"

#include <fmt/format.h>

#include <charconv>

namespace plimsoll {

int64_t IdOf(std::string_view token, const TextSettings& settings, const Vocabulary& vocabulary, std::string& problem) {
  constexpr size_t kShown = 40;
  if (settings.tokens != TokenKind::Ids) {
    const int64_t id = vocabulary.Id(token);
    if (id < 0) problem = fmt::format("\"{}\" is not in the vocabulary, which has no \\unknown", token.substr(0, kShown));
    return id;
  }
  int64_t id = 0;
  const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), id);
  const int64_t bound = settings.vocabulary > 0 ? settings.vocabulary : INT32_MAX;
  if (error == std::errc() && stop == token.data() + token.size() && id >= 0 && id < bound) return id;
  problem = fmt::format("\"{}\" is no id; wanted whole numbers from 0 to {}", token.substr(0, kShown), bound - 1);
  return -1;
}

}  // namespace plimsoll
