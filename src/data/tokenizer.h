// tokenizer: cuts text into tokens.
//   in:    text that is UTF-8 (bytes: any)
//   out:   its tokens in order, as texts
//   never: knows a vocabulary; keeps text
//
//   byte   each byte
//   char   each code point
//   word   runs of letters, marks, digits and "_"; an apostrophe between letters belongs to the word ("don't"). Every other
//          character that is no blank is a word of its own, and so is each Chinese or Japanese one. With `lines` a line break
//          is a word, too
//   bpe    words for byte-pair encoding, which loses nothing: all bytes of a text, in pieces of at most kLongestPiece. A run of
//          letters, of digits or of other characters, with the one blank before it; a line break; blanks. Whatever is no ASCII
//          and no usual punctuation counts as a letter
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/unicode_library.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr size_t kLongestPiece = 64;  // bytes of a word for byte-pair encoding

class Tokenizer {
 public:
  struct Options {
    TokenKind kind = TokenKind::Word;
    bool lower = false;  // words alone
    bool lines = false;  // words alone: a line break is one
  };
  static Result<Tokenizer> Make(const Options& options);

  // The tokens of a text, which stay until the next call.
  void Split(std::string_view text, std::vector<std::string_view>& tokens);
  // One token as it is, but for small letters: of data that come in tokens.
  std::string_view Whole(std::string_view token);

 private:
  explicit Tokenizer(const Options& options) : options_(options) {}
  void SplitWords(std::string_view text, std::vector<std::string_view>& tokens) const;
  bool IsWordPart(char32_t point) const;
  static void SplitPieces(std::string_view text, std::vector<std::string_view>& tokens);
  std::string_view Lower(std::string_view text, std::string& out) const;

  Options options_;
  std::shared_ptr<UnicodeLibrary> unicode_;  // words alone
  std::string lower_;
};

}  // namespace plimsoll
