#include "data/line_reader.h"

#include <gtest/gtest.h>

#include "data/npy_test_files.h"
#include "data/utf8.h"

namespace plimsoll {
namespace {

struct Line {
  std::string text;
  int64_t number;
  std::string problem;
  bool operator==(const Line&) const = default;
};

std::vector<Line> Lines(const std::string& path, const LineReader::Options& options = {}) {
  std::vector<Line> lines;
  Result<LineReader> reader = LineReader::Open(path, options);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  while (reader.ok()) {
    const Result<bool> next = reader->Next();
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !next.value()) break;
    lines.push_back({std::string(reader->line()), reader->number(), reader->problem()});
  }
  return lines;
}

TEST(LineReader, LinesEndWithOneOrTwoBytesOrWithTheFile) {
  const TestFolder folder;
  const std::vector<Line> wanted = {{"one", 1, ""}, {"", 2, ""}, {"three", 3, ""}};
  EXPECT_EQ(Lines(folder.Put("a", "one\r\n\nthree")), wanted);
  EXPECT_EQ(Lines(folder.Put("b", "one\n\nthree\n")), wanted);
  EXPECT_EQ(Lines(folder.Put("c", "\xEF\xBB\xBFone\n\nthree\n")), wanted) << "a byte-order mark is no text";
}

TEST(LineReader, ALineIsWholeWhereverTheBufferEnds) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(static_cast<size_t>(i % 97), 'x') + fmt::format("{}\n", i);
  const std::vector<Line> lines = Lines(folder.Put("many", text));
  ASSERT_EQ(lines.size(), 3000u);
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_TRUE(lines[i].text.ends_with(fmt::format("{}", i))) << i;
}

TEST(LineReader, BytesThatAreNoUtf8AreToldWithLineAndColumn) {
  const TestFolder folder;
  for (const char* bad : {"\xC3", "\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    const std::vector<Line> lines = Lines(folder.Put("bad", std::string("good\nab") + bad + "\nlast\n"));
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[1].problem.substr(0, 4), "2:3:") << lines[1].problem;
    EXPECT_EQ(lines[0].problem + lines[2].problem, "");
  }
  EXPECT_EQ(Lines(folder.Put("good", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n"))[0].problem, "");
}

TEST(LineReader, AZeroByteIsNoText) {
  const TestFolder folder;
  EXPECT_NE(Lines(folder.Put("zero", std::string_view("a\0b\n", 4)))[0].problem, "");
}

TEST(LineReader, ALineThatIsTooLongIsPassedOverInBoundedMemory) {
  const TestFolder folder;
  const std::vector<Line> lines =
      Lines(folder.Put("long", "short\n" + std::string(3'000'000, 'x') + "\nnext\n"), {.most_bytes = 100'000});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[1].problem.find("2: is longer"), std::string::npos);
  EXPECT_EQ(lines[2], (Line{"next", 3, ""}));
}

TEST(LineReader, AnEmptyFileAndUtf16AreRefused) {
  const TestFolder folder;
  EXPECT_EQ(LineReader::Open(folder.Put("empty", ""), {}).status().kind(), StatusKind::Data);
  EXPECT_NE(LineReader::Open(folder.Put("wide", "\xFF\xFEh"), {}).status().message().find("UTF-16"), std::string::npos);
}

TEST(LineReader, StretchesTogetherAreTheTextAndCutNoCharacter) {
  const TestFolder folder;
  std::string with_lines, without;
  for (int i = 0; i < 40'000; ++i) {
    with_lines += i % 11 == 0 ? "\n" : "\xE2\x82\xAC";
    without += "\xF0\x9F\x98\x80";
  }
  for (const std::string& text : {with_lines, without}) {
    Result<LineReader> reader = LineReader::Open(folder.Put("text", text), {});
    ASSERT_TRUE(reader.ok());
    std::string all;
    int pieces = 0;
    while (reader->NextStretch().value()) {
      EXPECT_EQ(reader->problem(), "");
      EXPECT_LE(reader->line().size(), 64u * 1024);
      all += reader->line();
      ++pieces;
    }
    EXPECT_GT(pieces, 1);
    EXPECT_TRUE(all == text);
  }
}

TEST(LineReader, AStretchKnowsTheLineOfItsBadByte) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "12345678\n";
  text.insert(9 * 15'000 + 3, "\xFF");
  Result<LineReader> reader = LineReader::Open(folder.Put("text", text), {});
  ASSERT_TRUE(reader.ok());
  std::string problem;
  while (reader->NextStretch().value()) problem += reader->problem();
  EXPECT_EQ(problem.substr(0, 8), "15001:4:") << problem;
}

TEST(Utf8, CodePointsAreReadAndWrittenTheSame) {
  for (const char32_t point : {U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xFFFD', U'\x10000', U'\x10FFFF'}) {
    char bytes[4];
    const size_t size = WriteCodePoint(point, bytes);
    size_t at = 0;
    EXPECT_EQ(NextCodePoint({bytes, size}, at), point);
    EXPECT_EQ(at, size);
    EXPECT_EQ(FirstBadByte({bytes, size}), size);
  }
}

}  // namespace
}  // namespace plimsoll
