// token_text: tokens become text again, as they come.
//   in:    tokens of a kind; a text that ends it all
//   out:   pieces of text for the sink: whole characters of UTF-8, nothing that may yet turn out to begin the stop text
//   never: allocates once it has begun, but for tokens longer than any it was told of
// Bytes that are no UTF-8 become U+FFFD. Words get blanks between them, but not before a comma or behind a bracket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plimsoll/generate.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

class TokenText {
 public:
  // longest_token: in bytes, so that room is there from the start.
  TokenText(TokenKind kind, std::string stop, size_t longest_token, TextSink& sink);

  // A new text behind `before`, the prompt.
  void Start(std::string_view before);
  // True: the stop text has come; the text is over, and whole.
  Result<bool> Add(std::string_view token);
  // The end: what was held back is given out. True: as above.
  Result<bool> Finish();

 private:
  bool WantsBlank(std::string_view token) const;
  void TakeCharacters(bool last);
  Result<bool> GiveOut(bool last);

  TokenKind kind_;
  std::string stop_;
  TextSink& sink_;
  char32_t before_ = 0;  // words: the last character; 0: nothing is there yet
  std::string bytes_;    // not yet whole characters
  std::string text_;     // not yet given out
};

}  // namespace plimsoll
