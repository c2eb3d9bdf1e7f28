#include "data/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "base/check.h"
#include "data/line_reader.h"
#include "data/utf8.h"

namespace plimsoll {
namespace {

// Special tokens stand in the table with a zero byte first, which no text has.
constexpr std::array<std::string_view, 3> kSpecialNames = {"unknown", "begin", "end"};

std::string SpecialToken(std::string_view name) { return '\0' + std::string(name); }

void AppendEscaped(std::string& out, std::string_view token) {
  if (!token.empty() && token[0] == '\0') {
    for (const std::string_view name : kSpecialNames) {
      if (token.substr(1) == name) {
        out += '\\';
        out += name;
        return;
      }
    }
  }
  const bool broken = FirstBadByte(token) < token.size();
  for (size_t i = 0; i < token.size(); ++i) {
    const auto byte = static_cast<unsigned char>(token[i]);
    // Bytes that are no character are written by their numbers, and so are blanks where an eye or an editor loses them.
    const bool lone = broken && byte >= 0x80;
    const bool edge = byte == ' ' && (i == 0 || i + 1 == token.size());
    if (byte == '\\') {
      out += "\\\\";
    } else if (byte < ' ' || byte == 0x7F || lone || edge) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += token[i];
    }
  }
}

}  // namespace

bool UnescapeToken(std::string_view line, std::string& token) {
  token.clear();
  if (line.starts_with('\\')) {
    for (const std::string_view name : kSpecialNames) {
      if (line.substr(1) == name) {
        token = SpecialToken(name);
        return true;
      }
    }
  }
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      token += line[i];
    } else if (line.substr(i).starts_with("\\\\")) {
      token += '\\';
      ++i;
    } else if (i + 3 < line.size() && line[i + 1] == 'x' && digit(line[i + 2]) >= 0 && digit(line[i + 3]) >= 0) {
      token += static_cast<char>(digit(line[i + 2]) * 16 + digit(line[i + 3]));
      i += 3;
    } else {
      return false;
    }
  }
  return true;
}

std::string EscapedToken(std::string_view token) {
  std::string out;
  AppendEscaped(out, token);
  return out;
}

TokenTable SortedNames(const TokenTable& table) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < table.size(); ++i) names.emplace_back(table[i]);
  const auto whole = [](const std::string& name) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && stop == name.data() + name.size() ? std::optional(number) : std::nullopt;
  };
  const bool numbers =
      std::all_of(names.begin(), names.end(), [&](const std::string& name) { return whole(name).has_value(); });
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return numbers && *whole(a) != *whole(b) ? *whole(a) < *whole(b) : a < b;
  });
  TokenTable sorted;
  for (const std::string& name : names) sorted.Add(name);
  return sorted;
}

std::string LinesOf(const TokenTable& names) {
  std::string text;
  for (int64_t i = 0; i < names.size(); ++i) {
    AppendEscaped(text, names[i]);
    text += '\n';
  }
  return text;
}

Result<TokenTable> ReadLines(const std::string& path) {
  Result<LineReader> lines = LineReader::Open(path, {});
  if (!lines.ok()) return lines.status();
  TokenTable table;
  std::string token;
  while (true) {
    const Result<bool> next = lines->Next();
    if (!next.ok()) return next.status();
    if (!next.value()) return table;
    const auto refuse = [&](std::string_view what) {
      return Status::Data(fmt::format("{}:{}: {}", path, lines->number(), what), "docs/formats.md has the form of such a file");
    };
    if (!lines->problem().empty()) return Status::Data(fmt::format("{}:{}", path, lines->problem()));
    if (!UnescapeToken(lines->line(), token))
      return refuse("an escape that is none; wanted \\\\, \\xHH, \\unknown, \\begin or \\end");
    if (table.Find(token) != TokenTable::kNone) return refuse("stands there twice");
    table.Add(token);
  }
}

void Vocabulary::AddSpecials(const Specials& specials) {
  if (specials.unknown) tokens_.Add(SpecialToken(kSpecialNames[Unknown]));
  if (specials.ends) {
    tokens_.Add(SpecialToken(kSpecialNames[Begin]));
    tokens_.Add(SpecialToken(kSpecialNames[End]));
  }
  NoteSpecials();
}

void Vocabulary::NoteSpecials() {
  for (size_t i = 0; i < kSpecialNames.size(); ++i) specials_[i] = tokens_.Find(SpecialToken(kSpecialNames[i]));
}

Vocabulary Vocabulary::Make(const TokenCounter& counter, const Specials& specials, int64_t most) {
  Vocabulary made;
  made.AddSpecials(specials);
  for (const int64_t number : counter.MostFrequent(std::max<int64_t>(most - made.size(), 0))) {
    made.tokens_.Add(counter.tokens()[number]);
  }
  return made;
}

Vocabulary Vocabulary::OfBytes(const Specials& specials) {
  Vocabulary made;
  made.AddSpecials({.unknown = false, .ends = specials.ends});
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    made.tokens_.Add({&c, 1});
  }
  return made;
}

Vocabulary Vocabulary::OfPieces(const TokenTable& pieces, const Specials& specials) {
  Vocabulary made = OfBytes(specials);
  for (int64_t i = 0; i < pieces.size(); ++i) made.tokens_.Add(pieces[i]);
  return made;
}

Result<Vocabulary> Vocabulary::Read(const std::string& path) {
  Result<TokenTable> table = ReadLines(path);
  if (!table.ok()) return table.status();
  Vocabulary read;
  read.tokens_ = std::move(table).value();
  read.NoteSpecials();
  return read;
}

std::string Vocabulary::AsText() const { return LinesOf(tokens_); }

int64_t Vocabulary::Id(std::string_view token) const {
  const int64_t found = tokens_.Find(token);
  return found >= 0 ? found : specials_[Unknown];
}

}  // namespace plimsoll
