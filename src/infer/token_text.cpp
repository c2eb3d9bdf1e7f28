#include "infer/token_text.h"

#include <algorithm>

#include "data/utf8.h"

namespace plimsoll {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsOneOf(char32_t point, std::u32string_view points) { return points.find(point) != std::u32string_view::npos; }

// Written without blanks between words: Chinese and Japanese.
bool StandsClose(char32_t point) { return point >= 0x3000 && point <= 0x9FFF; }

char32_t LastCodePoint(std::string_view text) {
  char32_t last = 0;
  for (size_t at = text.size() - std::min<size_t>(text.size(), 4); at < text.size();) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
      ++at;  // in the middle of the one before
      continue;
    }
    last = NextCodePoint(text, at);
  }
  return last;
}

// Whether bytes that are no character may still become one.
bool MayBecomeOne(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0xC2 || first > 0xF4) return false;
  const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (bytes.size() >= size) return false;
  if (bytes.size() == 1) return true;
  char whole[4] = {'\x80', '\x80', '\x80', '\x80'};
  std::copy(bytes.begin(), bytes.end(), whole);
  return FirstBadByte({whole, size}) == size;
}

}  // namespace

TokenText::TokenText(TokenKind kind, std::string stop, size_t longest_token, TextSink& sink)
    : kind_(kind), stop_(std::move(stop)), sink_(sink) {
  bytes_.reserve(longest_token + 8);
  text_.reserve(stop_.size() + kReplacement.size() * (longest_token + 8));
}

void TokenText::Start(std::string_view before) {
  bytes_.clear();
  text_.clear();
  before_ = kind_ == TokenKind::Word ? LastCodePoint(before) : 0;
}

bool TokenText::WantsBlank(std::string_view token) const {
  if (kind_ != TokenKind::Word || before_ == 0 || token.empty()) return false;
  size_t at = 0;
  const char32_t next = NextCodePoint(token, at);
  if (before_ <= ' ' || next == '\n' || IsOneOf(before_, U"([{")) return false;
  if (at == token.size() && IsOneOf(next, U".,;:!?)]}%\u2026\u2019")) return false;
  return !StandsClose(before_) || !StandsClose(next);
}

Result<bool> TokenText::Add(std::string_view token) {
  if (WantsBlank(token)) bytes_ += ' ';
  bytes_ += token;
  if (kind_ == TokenKind::Word) before_ = LastCodePoint(token);
  TakeCharacters(/*last=*/false);
  return GiveOut(/*last=*/false);
}

Result<bool> TokenText::Finish() {
  TakeCharacters(/*last=*/true);
  return GiveOut(/*last=*/true);
}

void TokenText::TakeCharacters(bool last) {
  std::string_view rest = bytes_;
  while (!rest.empty()) {
    const size_t good = FirstBadByte(rest);
    text_ += rest.substr(0, good);
    rest.remove_prefix(good);
    if (rest.empty() || (!last && MayBecomeOne(rest))) break;
    text_ += kReplacement;
    // A character that is cut off is one thing that is missing, not as many as it has bytes.
    rest.remove_prefix(last && MayBecomeOne(rest) ? rest.size() : 1);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
}

Result<bool> TokenText::GiveOut(bool last) {
  const size_t stop = stop_.empty() ? std::string::npos : text_.find(stop_);
  const bool stopped = stop != std::string::npos;
  size_t ready = stopped ? stop : text_.size();
  if (!stopped && !last) {  // what may be the beginning of the stop text waits
    size_t held = std::min(text_.size(), stop_.empty() ? 0 : stop_.size() - 1);
    while (held > 0 && !std::string_view(stop_).starts_with(std::string_view(text_).substr(text_.size() - held))) --held;
    ready -= held;
  }
  if (ready > 0) PLIMSOLL_RETURN_IF_ERROR(sink_.Text(std::string_view(text_).substr(0, ready)));
  text_.erase(0, ready);
  return stopped;
}

}  // namespace plimsoll
