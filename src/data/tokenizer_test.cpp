#include "data/tokenizer.h"

#include <gtest/gtest.h>

#include "data/npy_test_files.h"
#include "data/vocabulary.h"

namespace plimsoll {
namespace {

std::vector<std::string> Tokens(std::string_view text, const Tokenizer::Options& options) {
  Result<Tokenizer> tokenizer = Tokenizer::Make(options);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  std::vector<std::string> tokens;
  std::vector<std::string_view> found;
  tokenizer->Split(text, found);
  for (const std::string_view token : found) tokens.emplace_back(token);
  return tokens;
}

using Strings = std::vector<std::string>;

TEST(Tokenizer, WordsAreLettersDigitsAndMarksAndPunctuationStandsAlone) {
  EXPECT_EQ(Tokens("Don't  stop, it's 3.5!", {}), (Strings{"Don't", "stop", ",", "it's", "3", ".", "5", "!"}));
  EXPECT_EQ(Tokens("'quoted' rock'n'roll'", {}), (Strings{"'", "quoted", "'", "rock'n'roll", "'"}));
  EXPECT_EQ(Tokens("na\xC3\xAFve\xC2\xA0\xE2\x82\xAC"
                   "5 \xE4\xB8\xAD\xE6\x96\x87",
                   {}),
            (Strings{"na\xC3\xAFve", "\xE2\x82\xAC", "5", "\xE4\xB8\xAD", "\xE6\x96\x87"}));
}

TEST(Tokenizer, SmallLettersAreMadeOfAllScripts) {
  EXPECT_EQ(Tokens("\xC3\x84pfel UND \xD0\x9C\xD0\xB8\xD1\x80", {.lower = true}),
            (Strings{"\xC3\xA4pfel", "und", "\xD0\xBC\xD0\xB8\xD1\x80"}));
}

TEST(Tokenizer, LineBreaksAreWordsOfALongTextAlone) {
  EXPECT_EQ(Tokens("a\n\nb", {.lines = true}), (Strings{"a", "\n", "\n", "b"}));
  EXPECT_EQ(Tokens("a\n\nb", {}), (Strings{"a", "b"}));
}

TEST(Tokenizer, CharactersBytesAndIds) {
  EXPECT_EQ(Tokens("a\xC3\xA9", {.kind = TokenKind::Char}), (Strings{"a", "\xC3\xA9"}));
  EXPECT_EQ(Tokens("a\xC3\xA9", {.kind = TokenKind::Byte}), (Strings{"a", "\xC3", "\xA9"}));
  EXPECT_EQ(Tokens(" 7  12 3 ", {.kind = TokenKind::Ids}), (Strings{"7", "12", "3"}));
}

TEST(TokenCounter, TheMostFrequentComeFirstAndEqualsByTheirBytes) {
  TokenCounter counter(1 << 20);
  for (const char* token : {"b", "a", "c", "c", "b", "d", "c"}) counter.Add(token);
  Strings order;
  for (const int64_t number : counter.MostFrequent(3)) order.emplace_back(counter.tokens()[number]);
  EXPECT_EQ(order, (Strings{"c", "b", "a"}));
  EXPECT_EQ(counter.drops(), 0);
}

TEST(TokenCounter, WhereTheBoundIsReachedTheRarestGoAndTheFrequentStay) {
  constexpr int64_t kBytes = 256 * 1024;
  TokenCounter counter(kBytes);
  for (int i = 0; i < 200'000; ++i) {
    counter.Add(fmt::format("rare{}", i));
    if (i % 20 == 0) counter.Add(fmt::format("often{}", i / 20 % 50));
  }
  EXPECT_GT(counter.drops(), 0);
  EXPECT_LE(counter.tokens().BytesWith(1), kBytes);
  Strings most;
  for (const int64_t number : counter.MostFrequent(50)) most.emplace_back(counter.tokens()[number]);
  for (const std::string& token : most) EXPECT_TRUE(token.starts_with("often")) << token;
}

TEST(Vocabulary, TheFileIsReadableAndGivesTheSameIdsBack) {
  const TestFolder folder;
  TokenCounter counter(1 << 20);
  for (const char* token : {"\\", "\\unknown", " ", "\n", "word", "\xC3\xA9", "a b", "\x7F"}) counter.Add(token);
  const Vocabulary made = Vocabulary::Make(counter, {.unknown = true, .ends = true}, 1000);
  const std::string text = made.AsText();
  EXPECT_TRUE(text.starts_with("\\unknown\n\\begin\n\\end\n")) << text;
  EXPECT_NE(text.find("\n\\\\unknown\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\\x0a\n"), std::string::npos) << text;
  Result<Vocabulary> read = Vocabulary::Read(folder.Put("vocabulary.txt", text));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), made.size());
  for (int64_t id = 0; id < made.size(); ++id) EXPECT_EQ(read->token(id), made.token(id)) << id;
  EXPECT_EQ(read->Id("never seen"), read->special(Vocabulary::Unknown));
  EXPECT_EQ(read->special(Vocabulary::End), 2);
}

TEST(Vocabulary, AllBytesHaveAnIdAndComeBackFromTheFile) {
  const TestFolder folder;
  const Vocabulary bytes = Vocabulary::OfBytes({.ends = true});
  EXPECT_EQ(bytes.size(), 258);
  Result<Vocabulary> read = Vocabulary::Read(folder.Put("vocabulary.txt", bytes.AsText()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(read->Id({&c, 1}), bytes.Id({&c, 1})) << byte;
  }
}

TEST(Vocabulary, IsNoLargerThanAsked) {
  TokenCounter counter(1 << 20);
  for (int i = 0; i < 100; ++i) counter.Add(fmt::format("{}", i));
  EXPECT_EQ(Vocabulary::Make(counter, {}, 10).size(), 10);
  EXPECT_EQ(Vocabulary::Make(counter, {}, 1000).size(), 101);
}

TEST(Vocabulary, AFileThatIsNoneIsRefusedWithItsLine) {
  const TestFolder folder;
  for (const char* text : {"a\nb\\q\n", "a\na\n", "a\nb\\x1\n", "a\n\xFF\n"}) {
    const Result<Vocabulary> read = Vocabulary::Read(folder.Put("vocabulary.txt", text));
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.status().message().find("vocabulary.txt:2"), std::string::npos) << read.status().message();
  }
}

}  // namespace
}  // namespace plimsoll
