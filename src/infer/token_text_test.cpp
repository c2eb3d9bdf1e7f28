#include "infer/token_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "data/utf8.h"

namespace plimsoll {
namespace {

struct Collected final : TextSink {
  Status Text(std::string_view text) override {
    EXPECT_EQ(FirstBadByte(text), text.size()) << "half a character";
    pieces.emplace_back(text);
    all += text;
    return Status::Ok();
  }
  std::vector<std::string> pieces;
  std::string all;
};

struct Outcome {
  std::string text;
  bool stopped = false;
};
Outcome Written(TokenKind kind, const std::vector<std::string>& tokens, const std::string& stop = "",
                const std::string& before = "") {
  Collected sink;
  TokenText text(kind, stop, 16, sink);
  text.Start(before);
  for (const std::string& token : tokens) {
    if (text.Add(token).value()) return {sink.all, true};
  }
  const bool stopped = text.Finish().value();
  return {sink.all, stopped};
}

TEST(TokenText, BytesBecomeWholeCharactersAndWhatIsNoneIsReplaced) {
  EXPECT_EQ(Written(TokenKind::Byte, {"a", "\xC3", "\xA9", "b"}).text,
            "a\xC3\xA9"
            "b");
  EXPECT_EQ(Written(TokenKind::Bpe, {"x\xE4\xB8", "\xAD!"}).text, "x\xE4\xB8\xAD!");
  EXPECT_EQ(Written(TokenKind::Byte, {"\xC3", "a"}).text,
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(Written(TokenKind::Byte, {"\xFF", "\x80", "a"}).text,
            "\xEF\xBF\xBD\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(Written(TokenKind::Byte, {"a", "\xF0", "\x9F", "\x98"}).text, "a\xEF\xBF\xBD") << "cut off by the length";
}

TEST(TokenText, AnyBytesGiveUtf8AndUtf8ComesThroughUnchanged) {
  RandomSequence random(9, 0);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> bytes;
    std::string text;
    for (int i = 0; i < 60; ++i) bytes.emplace_back(1, static_cast<char>(random.Below(round % 2 == 0 ? 256 : 128)));
    for (const std::string& byte : bytes) text += byte;
    const Outcome written = Written(TokenKind::Byte, bytes);  // the sink looks at every piece
    EXPECT_EQ(written.text == text, FirstBadByte(text) == text.size()) << round;
  }
}

TEST(TokenText, TheStopTextEndsATextAndIsNotGivenOut) {
  const Outcome stopped = Written(TokenKind::Char, {"a", "b", "E", "N", "E", "N", "D", "c"}, "END");
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.text, "abEN");
  const Outcome within = Written(TokenKind::Bpe, {"abENDcd"}, "END");
  EXPECT_TRUE(within.stopped);
  EXPECT_EQ(within.text, "ab");
  const Outcome ends = Written(TokenKind::Char, {"a", "E", "N"}, "END");
  EXPECT_FALSE(ends.stopped);
  EXPECT_EQ(ends.text, "aEN") << "what was held back comes at the end";
}

TEST(TokenText, OnlyWhatMayBeTheStopTextWaits) {
  Collected sink;
  TokenText text(TokenKind::Char, "\n\n", 4, sink);
  text.Start("");
  for (const char* token : {"a", "\n", "b"}) EXPECT_FALSE(text.Add(token).value());
  EXPECT_EQ(sink.pieces, (std::vector<std::string>{"a", "\nb"}));
}

TEST(TokenText, WordsHaveBlanksBetweenThem) {
  const std::vector<std::string> words = {"we", "saw", "(", "two", ")", "films", ",", "\n", "and", "left", "."};
  EXPECT_EQ(Written(TokenKind::Word, words).text, "we saw (two) films,\nand left.");
  EXPECT_EQ(Written(TokenKind::Word, {"saw"}, "", "we").text, " saw");
  EXPECT_EQ(Written(TokenKind::Word, {"saw"}, "", "we ").text, "saw");
  EXPECT_EQ(Written(TokenKind::Word, {"\xE4\xB8\xAD", "\xE6\x96\x87", "x"}).text, "\xE4\xB8\xAD\xE6\x96\x87 x");
}

}  // namespace
}  // namespace plimsoll
