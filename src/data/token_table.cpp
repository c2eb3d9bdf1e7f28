#include "data/token_table.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

constexpr size_t kFirstSlots = 256;

uint64_t Hash(std::string_view token) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : token) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

}  // namespace

std::string_view TokenTable::operator[](int64_t number) const {
  const auto at = static_cast<size_t>(number);
  const uint32_t start = at == 0 ? 0 : ends_[at - 1];
  return std::string_view(texts_).substr(start, ends_[at] - start);
}

// The token's slot, or the free one where it belongs.
size_t TokenTable::Slot(std::string_view token) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(Hash(token)) & mask;
  while (slots_[slot] >= 0 && (*this)[slots_[slot]] != token) slot = (slot + 1) & mask;
  return slot;
}

int64_t TokenTable::Find(std::string_view token) const { return slots_.empty() ? kNone : slots_[Slot(token)]; }

int64_t TokenTable::Add(std::string_view token) {
  if (3 * (ends_.size() + 1) > 2 * slots_.size()) Grow(std::max(kFirstSlots, 2 * slots_.size()));
  const size_t slot = Slot(token);
  if (slots_[slot] >= 0) return slots_[slot];
  slots_[slot] = static_cast<int32_t>(ends_.size());
  texts_.append(token);
  ends_.push_back(static_cast<uint32_t>(texts_.size()));
  return slots_[slot];
}

void TokenTable::Grow(size_t slots) {
  slots_.assign(slots, -1);
  for (int64_t number = 0; number < size(); ++number) slots_[Slot((*this)[number])] = static_cast<int32_t>(number);
}

int64_t TokenTable::BytesWith(size_t token_bytes) const {
  const auto next = [](size_t size, size_t capacity) { return size > capacity ? 3 * capacity : capacity; };  // old and new
  size_t slots = slots_.size();
  if (3 * (ends_.size() + 1) > 2 * slots) slots = 3 * std::max(kFirstSlots, slots);
  return static_cast<int64_t>(next(texts_.size() + token_bytes, texts_.capacity()) +
                              next(ends_.size() + 1, ends_.capacity()) * sizeof(uint32_t) + slots * sizeof(int32_t));
}

void TokenTable::Reserve(int64_t tokens, int64_t bytes) {
  texts_.reserve(static_cast<size_t>(bytes));
  ends_.reserve(static_cast<size_t>(tokens));
}

void TokenTable::Clear() { *this = TokenTable(); }

void TokenCounter::Add(std::string_view token) {
  const int64_t found = tokens_.Find(token);
  if (found >= 0) {
    ++counts_[static_cast<size_t>(found)];
    return;
  }
  // Dropping makes a second table, of half the size, beside the first.
  if (bytes() + static_cast<int64_t>(token.size()) > most_bytes_ / 3 * 2 && tokens_.size() > 0) DropRarest();
  tokens_.Add(token);
  counts_.push_back(1);
}

int64_t TokenCounter::bytes() const {
  constexpr size_t kToken = 16;  // as long as most are
  const size_t counts = (counts_.size() == counts_.capacity() ? 3 : 1) * counts_.capacity() * sizeof(int64_t);
  return tokens_.BytesWith(kToken) + static_cast<int64_t>(counts);
}

std::vector<int64_t> TokenCounter::MostFrequent(int64_t most) const {
  std::vector<int64_t> order(static_cast<size_t>(tokens_.size()));
  std::iota(order.begin(), order.end(), 0);
  const auto before = [this](int64_t a, int64_t b) {
    return count(a) != count(b) ? count(a) > count(b) : tokens_[a] < tokens_[b];
  };
  const auto kept = static_cast<int64_t>(std::min(order.size(), static_cast<size_t>(most)));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), before);
  order.resize(static_cast<size_t>(kept));
  return order;
}

void TokenCounter::DropRarest() {
  // The count up to which half of the tokens go. All of them may have the same one: then a half goes by its place.
  std::vector<int64_t> sorted = counts_;
  const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const int64_t limit = *middle;
  sorted = {};
  ++drops_;
  dropped_below_ = std::max(dropped_below_, limit);
  TokenTable kept;
  std::vector<int64_t> kept_counts;
  int64_t equals = std::count(counts_.begin(), counts_.end(), limit) / 2;  // the later half of these stays
  for (int64_t number = 0; number < tokens_.size(); ++number) {
    if (count(number) < limit || (count(number) == limit && equals-- > 0)) continue;
    kept.Add(tokens_[number]);
    kept_counts.push_back(count(number));
  }
  tokens_ = std::move(kept);
  counts_ = std::move(kept_counts);
}

}  // namespace plimsoll
