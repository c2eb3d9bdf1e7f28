// vocabulary: which id a token has.
//   in:    tokens with their counts, or a vocabulary file
//   out:   ids of tokens; the file, one token a line in the order of the ids
//   never: grows while text is turned into ids: what it does not know is `unknown`
// The special tokens come first. docs/formats.md has the file with its escapes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/token_table.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr std::string_view kVocabularyFile = "vocabulary.txt";
inline constexpr std::string_view kLabelsFile = "labels.txt";

class Vocabulary {
 public:
  enum Special { Unknown, Begin, End };  // lines of the file: \unknown, \begin, \end
  struct Specials {
    bool unknown = true;
    bool ends = false;  // begin and end
  };

  // The most frequent tokens, so that the special ones and they are at most `most`.
  static Vocabulary Make(const TokenCounter& counter, const Specials& specials, int64_t most);
  static Vocabulary OfBytes(const Specials& specials);  // all 256
  // Byte-pair encoding: all bytes, then the pieces that were learnt, in their order.
  static Vocabulary OfPieces(const TokenTable& pieces, const Specials& specials);
  static Result<Vocabulary> Read(const std::string& path);
  std::string AsText() const;

  int64_t size() const { return tokens_.size(); }
  // kNone: it is not known, and there is no `unknown`.
  int64_t Id(std::string_view token) const;
  int64_t Find(std::string_view token) const { return tokens_.Find(token); }  // kNone: it is not known
  int64_t special(Special which) const { return specials_[which]; }           // its id; kNone: there is none
  std::string_view token(int64_t id) const { return tokens_[id]; }            // a special one has a zero byte first

 private:
  void AddSpecials(const Specials& specials);
  void NoteSpecials();
  TokenTable tokens_;
  int64_t specials_[3] = {TokenTable::kNone, TokenTable::kNone, TokenTable::kNone};
};

// Names of classes: a line each in the order of the class numbers, with the same escapes.
std::string LinesOf(const TokenTable& names);
Result<TokenTable> ReadLines(const std::string& path);
// In the order that people expect: numbers by size, else by bytes.
TokenTable SortedNames(const TokenTable& names);
// A token as such files have it, and back; false: an escape that is none.
std::string EscapedToken(std::string_view token);
bool UnescapeToken(std::string_view line, std::string& token);

}  // namespace plimsoll
