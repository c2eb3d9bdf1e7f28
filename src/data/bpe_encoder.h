// bpe_encoder: words as pieces of byte-pair encoding.
//   in:    words (Tokenizer, kind Bpe), a vocabulary of pieces
//   out:   ids: that of the word where it is a piece itself; else of its bytes, of which the two neighbours that make the
//          earliest piece of the vocabulary become one until no two make any. Joined, the pieces are the word again
//   never: meets a word that has no ids; allocates but for the caller's list
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/vocabulary.h"
#include "plimsoll/status.h"

namespace plimsoll {

class BpeEncoder {
 public:
  // The vocabulary stays the caller's. `shown_as`: for the message where it lacks a byte.
  static Result<BpeEncoder> Make(const Vocabulary& vocabulary, const std::string& shown_as);
  // Adds the ids of a word of at most kLongestPiece bytes.
  void Encode(std::string_view word, std::vector<int32_t>& ids);

 private:
  // Words that are no pieces, as they were seen last: most come again soon. A place for each hash.
  struct Seen {
    static constexpr size_t kBytes = 22;
    static constexpr size_t kIds = 10;
    char text[kBytes];
    uint8_t size = 0;
    uint8_t count = 0;
    int32_t ids[kIds];
  };
  static constexpr size_t kSeen = 4096;  // 256 KiB

  explicit BpeEncoder(const Vocabulary& vocabulary) : vocabulary_(&vocabulary), seen_(kSeen) {}
  void Join(std::string_view word, std::vector<int32_t>& ids) const;

  const Vocabulary* vocabulary_;
  std::vector<Seen> seen_;
};

}  // namespace plimsoll
