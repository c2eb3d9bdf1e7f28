// bpe_trainer: learns the pieces of byte-pair encoding. All bytes are pieces; then the two neighbours that come most often
//   become one piece, and again, until there are as many as wanted.
//   in:    words (Tokenizer, kind Bpe) with their counts
//   out:   the pieces that were made, in their order
//   never: takes more memory than it was given: then the rarest words, and the rarest pairs of neighbours, are left out
// Of pairs that come equally often the one of the older pieces is taken, the first of the two deciding: the same counts always
// give the same pieces.
#pragma once

#include <cstdint>

#include "data/token_table.h"

namespace plimsoll {

// What learning from these words takes, the counter included; never more than `most_bytes`, where the counter has half of that.
int64_t LearningBytes(const TokenCounter& words, int64_t most_bytes);

struct LearntPieces {
  TokenTable pieces;      // without the single bytes
  int64_t words = 0;      // that were learnt from
  int64_t all_words = 0;  // that there were
};
// At most `most` pieces. Takes the counter, whose memory is given back on the way.
LearntPieces LearnPieces(TokenCounter words, int64_t most, int64_t most_bytes);

}  // namespace plimsoll
