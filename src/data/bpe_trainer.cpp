#include "data/bpe_trainer.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "data/tokenizer.h"

namespace plimsoll {
namespace {

constexpr int32_t kBytes = 256;     // the first pieces
constexpr int32_t kBorder = -1;     // stands between two words
constexpr int32_t kInside = -2;     // neither the first nor the last byte of a piece
constexpr int32_t kNowhere = -1;    // the end of a list
constexpr int64_t kLeastCount = 2;  // a pair that comes once is no habit
constexpr uint64_t kFree = ~uint64_t{0};

// Shares of the bound. A place costs 12 bytes and 4 more while its pair is merged; a word 12; a slot of a pair 24, its copy
// while the table is made anew and its entry in the queue 27 more.
constexpr int64_t kPlaceShare = 40;
constexpr int64_t kSlotShare = 128;
constexpr int64_t kPlaceBytes = 12, kMergedBytes = 4, kWordBytes = 12, kSlotBytes = 51, kFewestSlots = 4096;

struct Extent {
  int64_t places = 0, words = 0, slots = 0;
  int64_t bytes() const { return places * (kPlaceBytes + kMergedBytes) + words * kWordBytes + slots * kSlotBytes; }
};

int64_t MostSlots(int64_t places, int64_t most_bytes) {
  const auto bound =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max(most_bytes / kSlotShare, kFewestSlots))));
  return std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * places))), kFewestSlots, bound);
}

uint64_t KeyOf(int32_t left, int32_t right) { return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right); }

// Two pieces side by side: how often, and the list of places where the first of them begins.
struct Pair {
  uint64_t key = kFree;
  int64_t count = 0;  // 0: it is nowhere any more, or must not be merged
  int32_t head = kNowhere;
};

// A hash table that never grows: a pair that comes when it is full is not merged.
class PairTable {
 public:
  explicit PairTable(int64_t slots) : slots_(static_cast<size_t>(slots)) {}
  Pair* Find(uint64_t key) {
    Pair& slot = slots_[Slot(key)];
    return slot.key == key ? &slot : nullptr;
  }
  // Or finds it; null: there is no room.
  Pair* Add(uint64_t key) {
    Pair& slot = slots_[Slot(key)];
    if (slot.key == key) return &slot;
    if (!HasRoom(1)) return nullptr;
    ++used_;
    slot.key = key;
    return &slot;
  }
  size_t most() const { return 2 * slots_.size() / 3; }
  bool HasRoom(size_t more) const { return used_ + more <= most(); }
  // Those that are somewhere, at least `fewest_free` fewer than the table takes: the rarest go.
  std::vector<Pair> TakeLive(size_t fewest_free) {
    std::vector<Pair> live;
    live.reserve(
        static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [](const Pair& pair) { return pair.count > 0; })));
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(live), [](const Pair& pair) { return pair.count > 0; });
    // A part of the room is free behind this, so that it comes seldom; pairs of a table that fits its words always stay.
    const size_t kept = std::min(slots_.size() / 2, most() - std::min(most(), fewest_free));
    if (live.size() > kept) {
      std::nth_element(live.begin(), live.begin() + static_cast<int64_t>(kept), live.end(),
                       [](const Pair& a, const Pair& b) { return a.count != b.count ? a.count > b.count : a.key < b.key; });
      live.resize(kept);
    }
    std::fill(slots_.begin(), slots_.end(), Pair{});
    used_ = 0;
    for (const Pair& pair : live) *Add(pair.key) = pair;
    return live;
  }

 private:
  size_t Slot(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    size_t slot = static_cast<size_t>(hash ^ hash >> 32) & mask;
    while (slots_[slot].key != kFree && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }
  std::vector<Pair> slots_;
  size_t used_ = 0;
};

// All words one behind the other, a place a byte. A piece has its number at its first and at its last byte, so that both
// neighbours of a place are found by the pieces' sizes alone.
class Trainer {
 public:
  Trainer(TokenCounter counter, int64_t most_bytes) : Trainer(std::move(counter), most_bytes, most_bytes / kPlaceShare) {}

  LearntPieces Learn(int64_t most) {
    while (learnt_.pieces.size() < most && !queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), Later);
      const Queued best = queue_.back();
      queue_.pop_back();
      Pair* pair = pairs_.Find(best.key);
      if (pair == nullptr || pair->count < kLeastCount) continue;
      if (pair->count != best.count) {  // it has become rarer since
        Push({pair->count, best.key});
        continue;
      }
      Merge(*pair);
    }
    return std::move(learnt_);
  }

 private:
  struct Queued {
    int64_t count;
    uint64_t key;
  };
  static bool Later(const Queued& a, const Queued& b) { return a.count != b.count ? a.count < b.count : a.key > b.key; }

  Trainer(TokenCounter counter, int64_t most_bytes, int64_t most_places)
      : pairs_(MostSlots(TakeWords(counter, most_places), most_bytes)) {
    counter = TokenCounter(0);  // its memory is needed
    sizes_.assign(kBytes, 1);
    next_.assign(symbols_.size(), kNowhere);
    before_.assign(symbols_.size(), kNowhere);
    for (size_t word = 0; word < starts_.size(); ++word) {
      for (int32_t place = starts_[word]; symbols_[At(place + 1)] != kBorder; ++place) Link(place, counts_[word]);
    }
    fresh_ = {};
    queue_.reserve(pairs_.most());  // one that grows would hold what it was, too
    FillQueue(pairs_.TakeLive(0));
  }

  static size_t At(int32_t place) { return static_cast<size_t>(place); }
  int32_t SizeOf(int32_t piece) const { return sizes_[static_cast<size_t>(piece)]; }
  std::string_view TextOf(int32_t piece, char& byte) const {
    if (piece >= kBytes) return learnt_.pieces[piece - kBytes];
    byte = static_cast<char>(piece);
    return {&byte, 1};
  }

  // The most frequent words that have room. Returns their places.
  int64_t TakeWords(const TokenCounter& counter, int64_t most_places) {
    const std::vector<int64_t> order = counter.MostFrequent(counter.tokens().size());
    learnt_.all_words = counter.tokens().size();
    int64_t places = 1;
    for (const int64_t number : order) {
      const auto size = static_cast<int64_t>(counter.tokens()[number].size());
      if (places + size + 1 > most_places) break;
      places += size + 1;
      ++learnt_.words;
    }
    symbols_.reserve(static_cast<size_t>(places));
    starts_.reserve(static_cast<size_t>(learnt_.words));
    counts_.reserve(static_cast<size_t>(learnt_.words));
    symbols_.push_back(kBorder);
    for (int64_t i = 0; i < learnt_.words; ++i) {
      const int64_t number = order[static_cast<size_t>(i)];
      starts_.push_back(static_cast<int32_t>(symbols_.size()));
      counts_.push_back(counter.count(number));
      for (const char byte : counter.tokens()[number]) symbols_.push_back(static_cast<unsigned char>(byte));
      symbols_.push_back(kBorder);
    }
    return places;
  }

  int64_t CountAt(int32_t place) const {
    const auto word = std::upper_bound(starts_.begin(), starts_.end(), place) - starts_.begin() - 1;
    return counts_[static_cast<size_t>(word)];
  }

  // The pair that begins at a place is there from now on, or no longer.
  void Link(int32_t place, int64_t count) {
    const int32_t left = symbols_[At(place)], right = symbols_[At(place + SizeOf(left))];
    Pair* pair = pairs_.Add(KeyOf(left, right));
    if (pair == nullptr) return;
    if (pair->count == 0) fresh_.push_back(pair->key);
    pair->count += count;
    next_[At(place)] = pair->head;
    before_[At(place)] = kNowhere;
    if (pair->head != kNowhere) before_[At(pair->head)] = place;
    pair->head = place;
  }
  void Unlink(int32_t place, int64_t count) {
    const int32_t left = symbols_[At(place)], right = symbols_[At(place + SizeOf(left))];
    Pair* pair = pairs_.Find(KeyOf(left, right));
    if (pair == nullptr || pair->count == 0) return;
    pair->count -= count;
    const int32_t next = next_[At(place)], before = before_[At(place)];
    if (next != kNowhere) before_[At(next)] = before;
    (before == kNowhere ? pair->head : next_[At(before)]) = next;
  }

  void Push(const Queued& queued) {
    queue_.push_back(queued);
    std::push_heap(queue_.begin(), queue_.end(), Later);
  }

  void MakeRoom(size_t more) {
    if (pairs_.HasRoom(more)) return;
    FillQueue(pairs_.TakeLive(more));
  }
  void FillQueue(const std::vector<Pair>& live) {
    queue_.clear();
    for (const Pair& pair : live) queue_.push_back({pair.count, pair.key});
    std::make_heap(queue_.begin(), queue_.end(), Later);
  }

  void Merge(Pair& pair) {
    const auto left = static_cast<int32_t>(pair.key >> 32), right = static_cast<int32_t>(pair.key & 0xFFFFFFFF);
    places_.clear();
    for (int32_t place = pair.head; place != kNowhere; place = next_[At(place)]) places_.push_back(place);
    pair.count = 0;
    pair.head = kNowhere;
    char byte = 0;
    text_ = TextOf(left, byte);
    text_ += TextOf(right, byte);
    if (learnt_.pieces.Find(text_) >= 0) return;  // another pair has made this piece already
    const auto made = static_cast<int32_t>(kBytes + learnt_.pieces.Add(text_));
    sizes_.push_back(static_cast<uint8_t>(text_.size()));
    // Of "aaa" the first two are taken: places in their order.
    std::sort(places_.begin(), places_.end());
    MakeRoom(std::min(2 * places_.size(), 2 * sizes_.size()));
    fresh_.clear();
    const int32_t left_size = SizeOf(left), size = SizeOf(made);
    for (const int32_t place : places_) {
      const int32_t middle = place + left_size, behind = place + size;
      if (symbols_[At(place)] != left || symbols_[At(middle)] != right) continue;  // taken by the one before
      const int64_t count = CountAt(place);
      const int32_t before = symbols_[At(place - 1)] == kBorder ? kNowhere : place - SizeOf(symbols_[At(place - 1)]);
      const bool ends = symbols_[At(behind)] == kBorder;
      if (before != kNowhere) Unlink(before, count);
      if (!ends) Unlink(middle, count);
      symbols_[At(middle - 1)] = symbols_[At(middle)] = kInside;
      symbols_[At(place)] = symbols_[At(behind - 1)] = made;
      if (before != kNowhere) Link(before, count);
      if (!ends) Link(place, count);
    }
    // From here on these pairs can only become rarer: new places of them would need a newer piece. So the queue is never
    // behind.
    for (const uint64_t key : fresh_) {
      if (const Pair* found = pairs_.Find(key); found != nullptr && found->count >= kLeastCount) Push({found->count, key});
    }
  }

  LearntPieces learnt_;
  std::vector<int32_t> symbols_;  // of every place: the piece; kBorder; kInside
  std::vector<int32_t> starts_;   // of the words
  std::vector<int64_t> counts_;
  PairTable pairs_;
  std::vector<int32_t> next_, before_;  // places of the same pair
  std::vector<uint8_t> sizes_;          // of the pieces in bytes
  std::vector<Queued> queue_;           // a heap: the pair to merge next
  std::vector<int32_t> places_;         // of the pair that is merged
  std::vector<uint64_t> fresh_;         // pairs that came with it
  std::string text_;
};
static_assert(kLongestPiece <= UINT8_MAX);

}  // namespace

int64_t LearningBytes(const TokenCounter& words, int64_t most_bytes) {
  Extent extent{.places = 1, .words = words.tokens().size()};
  for (int64_t word = 0; word < extent.words; ++word) extent.places += static_cast<int64_t>(words.tokens()[word].size()) + 1;
  extent.places = std::min(extent.places, most_bytes / kPlaceShare);
  extent.slots = MostSlots(extent.places, most_bytes);
  const int64_t beside_counter = extent.places * kPlaceBytes / 3 + extent.words * (kWordBytes + 8);
  return std::min(most_bytes, std::max(extent.bytes(), words.bytes() + beside_counter));
}

LearntPieces LearnPieces(TokenCounter words, int64_t most, int64_t most_bytes) {
  return Trainer(std::move(words), most_bytes).Learn(most);
}

}  // namespace plimsoll
