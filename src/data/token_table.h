// token_table: texts, each once, numbered from 0 in the order in which they came.
//   in:    short texts
//   out:   their numbers, and the texts by number
//   never: takes more memory than it says: bytes() before and after each call
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

class TokenTable {
 public:
  static constexpr int64_t kNone = -1;

  int64_t Find(std::string_view token) const;
  int64_t Add(std::string_view token);  // or finds it
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  std::string_view operator[](int64_t number) const;
  // Of the heap, once one more token of this size has been added.
  int64_t BytesWith(size_t token_bytes) const;
  void Reserve(int64_t tokens, int64_t bytes);  // so that adding as many does not move them
  void Clear();

 private:
  size_t Slot(std::string_view token) const;
  void Grow(size_t slots);

  std::string texts_;           // one behind the other
  std::vector<uint32_t> ends_;  // of each in texts_
  std::vector<int32_t> slots_;  // hash table of numbers, -1: free; a power of two, at most two thirds full
};

// Texts with how often they came, in bounded memory. Where the bound is reached, the rarest are dropped until a third of it is
// free; one that comes again counts from one. So counts are lower bounds, and what is frequent stays.
class TokenCounter {
 public:
  explicit TokenCounter(int64_t most_bytes) : most_bytes_(most_bytes) {}
  void Add(std::string_view token);
  const TokenTable& tokens() const { return tokens_; }
  int64_t count(int64_t number) const { return counts_[static_cast<size_t>(number)]; }
  // Numbers of the most frequent, at most `most`; of equals, the smaller bytes first.
  std::vector<int64_t> MostFrequent(int64_t most) const;
  int64_t bytes() const;                                    // of the heap, once another token has come
  int64_t drops() const { return drops_; }                  // how often the bound was reached
  int64_t dropped_below() const { return dropped_below_; }  // tokens with at most so many were dropped

 private:
  void DropRarest();
  int64_t most_bytes_;
  TokenTable tokens_;
  std::vector<int64_t> counts_;
  int64_t drops_ = 0;
  int64_t dropped_below_ = 0;
};

}  // namespace plimsoll
