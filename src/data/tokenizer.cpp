#include "data/tokenizer.h"

#include "base/check.h"
#include "data/utf8.h"

namespace plimsoll {
namespace {

bool IsAsciiLetter(char32_t point) { return (point | 0x20) >= 'a' && (point | 0x20) <= 'z'; }
bool IsApostrophe(char32_t point) { return point == '\'' || point == 0x2019; }
// Scripts without blanks between words: a character is the best that can be had without a dictionary.
bool StandsAlone(char32_t point) {
  return (point >= 0x3040 && point <= 0x30FF) || (point >= 0x3400 && point <= 0x9FFF) || (point >= 0xF900 && point <= 0xFAFF) ||
         (point >= 0x20000 && point <= 0x3FFFF);
}

enum class CharacterKind { Letter, Digit, Blank, LineEnd, Other };
// Without tables: what is no ASCII is a letter, but for the blocks of punctuation that most scripts share.
CharacterKind KindOf(char32_t point) {
  if (IsAsciiLetter(point)) return CharacterKind::Letter;
  if (point >= '0' && point <= '9') return CharacterKind::Digit;
  if (point == '\n') return CharacterKind::LineEnd;
  if (point <= ' ') return CharacterKind::Blank;
  const bool punctuation = point < 0xC0 || (point >= 0x2000 && point <= 0x206F) || (point >= 0x3000 && point <= 0x303F) ||
                           (point >= 0xFF00 && point <= 0xFF0F);
  return punctuation ? CharacterKind::Other : CharacterKind::Letter;
}

}  // namespace

Result<Tokenizer> Tokenizer::Make(const Options& options) {
  Tokenizer tokenizer(options);
  if (options.kind == TokenKind::Word) {
    Result<std::unique_ptr<UnicodeLibrary>> unicode = UnicodeLibrary::Load();
    if (!unicode.ok()) return unicode.status();
    tokenizer.unicode_ = std::move(unicode).value();
  }
  return tokenizer;
}

void Tokenizer::Split(std::string_view text, std::vector<std::string_view>& tokens) {
  tokens.clear();
  if (options_.kind == TokenKind::Byte || options_.kind == TokenKind::Char)
    tokens.reserve(text.size());  // no more than it takes
  switch (options_.kind) {
    case TokenKind::Byte:
      for (size_t i = 0; i < text.size(); ++i) tokens.push_back(text.substr(i, 1));
      break;
    case TokenKind::Char:
      for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        NextCodePoint(text, at);
        tokens.push_back(text.substr(start, at - start));
      }
      break;
    case TokenKind::Ids:
      for (size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
        const size_t end = std::min(text.find_first_of(" \t", at), text.size());
        tokens.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(" \t", end);
      }
      break;
    case TokenKind::Word:
      SplitWords(options_.lower ? Lower(text, lower_) : text, tokens);
      break;
    case TokenKind::Bpe:
      SplitPieces(text, tokens);
      break;
    case TokenKind::Auto:
      PLIMSOLL_CHECK(false, "the kind of tokens is decided before text is cut");
  }
}

std::string_view Tokenizer::Whole(std::string_view token) {
  return options_.kind == TokenKind::Word && options_.lower ? Lower(token, lower_) : token;
}

bool Tokenizer::IsWordPart(char32_t point) const {
  if (point < 0x80) return IsAsciiLetter(point) || (point >= '0' && point <= '9') || point == '_';
  const utf8proc_category_t category = unicode_->category(static_cast<utf8proc_int32_t>(point));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;  // letters, marks, numbers
}

void Tokenizer::SplitWords(std::string_view text, std::vector<std::string_view>& tokens) const {
  constexpr size_t kNone = std::string_view::npos;
  size_t word = kNone;  // where the word begins that is not yet over
  const auto finish = [&](size_t end) {
    if (word != kNone) tokens.push_back(text.substr(word, end - word));
    word = kNone;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t point = NextCodePoint(text, at);
    if (IsWordPart(point) && !StandsAlone(point)) {
      if (word == kNone) word = start;
      continue;
    }
    if (word != kNone && IsApostrophe(point) && at < text.size()) {
      size_t next = at;
      const char32_t behind = NextCodePoint(text, next);
      if (IsWordPart(behind) && !StandsAlone(behind)) continue;
    }
    finish(start);
    if (point == '\n' && options_.lines) {
      tokens.push_back(text.substr(start, 1));
      continue;
    }
    const bool blank = point < 0x80 ? point <= ' ' || point == 0x7F : [&] {
      const auto category = unicode_->category(static_cast<utf8proc_int32_t>(point));
      return category >= UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_CN;
    }();
    if (!blank) tokens.push_back(text.substr(start, at - start));
  }
  finish(text.size());
}

void Tokenizer::SplitPieces(std::string_view text, std::vector<std::string_view>& tokens) {
  const auto kind_at = [&](size_t at) { return at < text.size() ? KindOf(NextCodePoint(text, at)) : CharacterKind::LineEnd; };
  // An apostrophe between letters belongs to their word.
  const auto goes_on = [&](size_t at, CharacterKind kind) {
    if (at >= text.size()) return false;
    const CharacterKind here = kind_at(at);
    if (here == kind || kind != CharacterKind::Letter) return here == kind;
    return IsApostrophe(NextCodePoint(text, at)) && kind_at(at) == CharacterKind::Letter;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    CharacterKind kind = kind_at(at);
    NextCodePoint(text, at);
    if (text[start] == ' ' && kind_at(at) != CharacterKind::Blank && kind_at(at) != CharacterKind::LineEnd) {
      kind = kind_at(at);
      NextCodePoint(text, at);
    }
    while (kind != CharacterKind::LineEnd && goes_on(at, kind)) {
      size_t next = at;
      NextCodePoint(text, next);
      // The last of several blanks goes with what stands behind it.
      const bool last_blank =
          kind == CharacterKind::Blank && text[at] == ' ' && !goes_on(next, kind) && kind_at(next) != CharacterKind::LineEnd;
      if (next - start > kLongestPiece || last_blank) break;
      at = next;
    }
    tokens.push_back(text.substr(start, at - start));
  }
}

std::string_view Tokenizer::Lower(std::string_view text, std::string& out) const {
  out.clear();
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      const char c = text[at++];
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
      continue;
    }
    char utf8[4];
    const char32_t point = NextCodePoint(text, at);
    const auto small = static_cast<char32_t>(unicode_->to_lower(static_cast<utf8proc_int32_t>(point)));
    out.append(utf8, WriteCodePoint(small, utf8));
  }
  return out;
}

}  // namespace plimsoll
