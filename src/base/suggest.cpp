// suggest: edit distance over a handful of short names.
//   in:    a name and the names that exist
//   out:   the nearest one as text
//   never: runs in a training step (it allocates)
#include "base/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace plimsoll {
namespace {

constexpr size_t kLongestName = 64;  // nobody mistypes more, and the table below is quadratic
constexpr size_t kFarthest = 2;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Damerau-Levenshtein distance, each letter moved at most once.
size_t Distance(std::string_view a, std::string_view b) {
  const size_t columns = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * columns + j]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + change});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

bool BeginsWith(std::string_view name, std::string_view given) {
  return name.size() >= given.size() &&
         std::equal(given.begin(), given.end(), name.begin(), [](char a, char b) { return Lower(a) == Lower(b); });
}

std::string Offer(std::string_view name) { return "; did you mean '" + std::string(name) + "'?"; }

}  // namespace

std::string DidYouMean(std::string_view given, std::span<const std::string_view> known) {
  if (given.empty() || given.size() > kLongestName) return "";
  std::string_view nearest;
  size_t nearest_distance = kFarthest + 1;
  for (const std::string_view name : known) {
    if (name.size() > kLongestName) continue;
    const size_t distance = Distance(given, name);
    if (distance < nearest_distance && distance < std::min(given.size(), name.size())) {
      nearest = name;
      nearest_distance = distance;
    }
  }
  if (!nearest.empty()) return Offer(nearest);
  for (const std::string_view name : known) {
    if (BeginsWith(name, given)) return Offer(name);
  }
  return "";
}

}  // namespace plimsoll
