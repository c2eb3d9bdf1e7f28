// Byte-pair encoding from the words to the ids and back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "data/bpe_encoder.h"
#include "data/bpe_trainer.h"
#include "data/npy_test_files.h"
#include "data/tokenizer.h"
#include "data/utf8.h"

namespace plimsoll {
namespace {

constexpr int64_t kMuch = 16 << 20;
using Strings = std::vector<std::string>;

Strings Pieces(std::string_view text) {
  Result<Tokenizer> tokenizer = Tokenizer::Make({.kind = TokenKind::Bpe});
  EXPECT_TRUE(tokenizer.ok());
  std::vector<std::string_view> found;
  tokenizer->Split(text, found);
  return {found.begin(), found.end()};
}

TokenCounter Counted(std::string_view text) {
  TokenCounter counter(kMuch / 2);
  for (const std::string& word : Pieces(text)) counter.Add(word);
  return counter;
}

Strings Texts(const TokenTable& table) {
  Strings texts;
  for (int64_t i = 0; i < table.size(); ++i) texts.emplace_back(table[i]);
  return texts;
}

// The same learning as plain loops: all pairs are counted again for each piece.
Strings LearntSlowly(const TokenCounter& counter, size_t most) {
  Strings pieces;
  std::vector<std::pair<std::vector<int>, int64_t>> words;
  for (int64_t i = 0; i < counter.tokens().size(); ++i) {
    std::vector<int> word;
    for (const char byte : counter.tokens()[i]) word.push_back(static_cast<unsigned char>(byte));
    words.emplace_back(word, counter.count(i));
  }
  const auto text_of = [&](int piece) {
    return piece < 256 ? std::string(1, static_cast<char>(piece)) : pieces[static_cast<size_t>(piece - 256)];
  };
  std::set<std::pair<int, int>> refused;
  while (pieces.size() < most) {
    std::map<std::pair<int, int>, int64_t> counts;
    for (const auto& [word, count] : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += count;
    }
    std::pair<int, int> best;
    int64_t most_often = 1;
    for (const auto& [pair, count] : counts) {
      if (count > most_often && !refused.contains(pair)) {
        best = pair;
        most_often = count;
      }
    }
    if (most_often == 1) break;
    const std::string text = text_of(best.first) + text_of(best.second);
    if (std::count(pieces.begin(), pieces.end(), text) > 0) {
      refused.insert(best);
      continue;
    }
    pieces.push_back(text);
    for (auto& [word, count] : words) {
      std::vector<int> merged;
      for (size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && word[i] == best.first && word[i + 1] == best.second;
        merged.push_back(here ? static_cast<int>(255 + pieces.size()) : word[i]);
        i += here ? 1 : 0;
      }
      word = merged;
    }
  }
  return pieces;
}

std::string RandomText(RandomSequence& random, int characters, char32_t letters) {
  std::string text;
  for (int i = 0; i < characters; ++i) {
    char32_t point = 0;
    switch (random.Below(8)) {
      case 0:
        point = " \n\t'.,7"[random.Below(7)];
        break;
      case 1:
        point = static_cast<char32_t>(1 + random.Below(0x10FFFE));
        if (point >= 0xD800 && point < 0xE000) point = 0x4E2D;
        break;
      default:
        point = U'a' + static_cast<char32_t>(random.Below(letters));
    }
    char utf8[4];
    text.append(utf8, WriteCodePoint(point, utf8));
  }
  return text;
}

TEST(Bpe, WordsForItHaveTheBlankBeforeThemAndLoseNothing) {
  EXPECT_EQ(Pieces("Don't  stop, it's 3.5!\n\n x"),
            (Strings{"Don't", " ", " stop", ",", " it's", " 3", ".", "5", "!", "\n", "\n", " x"}));
  EXPECT_EQ(Pieces("a \n"), (Strings{"a", " ", "\n"}));
  EXPECT_EQ(Pieces("\t\t b"), (Strings{"\t\t", " b"}));
  EXPECT_EQ(Pieces("na\xC3\xAFve\xE3\x80\x82 x"), (Strings{"na\xC3\xAFve", "\xE3\x80\x82", " x"}));
  RandomSequence random(7, 0);
  for (int round = 0; round < 200; ++round) {
    const std::string text = RandomText(random, 100, 3);
    std::string joined;
    for (const std::string& piece : Pieces(text)) {
      EXPECT_LE(piece.size(), kLongestPiece);
      joined += piece;
    }
    EXPECT_EQ(joined, text);
  }
  for (const std::string& piece : Pieces(std::string(1000, 'a'))) EXPECT_LE(piece.size(), kLongestPiece);
}

TEST(Bpe, TheMostFrequentNeighboursBecomePiecesAndEqualsByAge) {
  EXPECT_EQ(Texts(LearnPieces(Counted("abc abc abc bc"), 3, kMuch).pieces), (Strings{"bc", "abc", " abc"}));
  EXPECT_EQ(Texts(LearnPieces(Counted("xy-ab-xy-ab"), 2, kMuch).pieces), (Strings{"ab", "xy"}));
  EXPECT_EQ(Texts(LearnPieces(Counted("aaaaa"), 10, kMuch).pieces), (Strings{"aa"}))
      << "aa aa a: two of them are side by side once";
  EXPECT_TRUE(Texts(LearnPieces(Counted("abcdefg"), 10, kMuch).pieces).empty()) << "what comes once is no habit";
}

TEST(Bpe, LearningIsThatOfPlainLoops) {
  RandomSequence random(11, 0);
  for (int round = 0; round < 60; ++round) {
    const TokenCounter counter = Counted(RandomText(random, 50 + round * 20, 2 + static_cast<char32_t>(round % 5)));
    const Strings expected = LearntSlowly(counter, 60);
    EXPECT_EQ(Texts(LearnPieces(counter, 60, kMuch).pieces), expected) << round;
    EXPECT_GT(expected.size(), 3u);
  }
}

TEST(Bpe, WhatDoesNotFitTheBoundIsTheRarest) {
  TokenCounter counter(kMuch);
  for (int i = 0; i < 60'000; ++i) counter.Add(fmt::format(" w{:x}q{:o}", i * 7919 % 65536, i));
  for (int i = 0; i < 5000; ++i) counter.Add(" frequent");
  constexpr int64_t kLittle = 512 * 1024;
  EXPECT_LE(LearningBytes(counter, kLittle), kLittle);
  const int64_t words = counter.tokens().size();
  const LearntPieces learnt = LearnPieces(std::move(counter), 400, kLittle);
  EXPECT_EQ(learnt.all_words, words);
  EXPECT_LT(learnt.words, words / 4);
  EXPECT_GT(learnt.words, 500);
  EXPECT_GE(learnt.pieces.Find(" frequent"), 0);
  EXPECT_EQ(learnt.pieces.size(), 400);
}

TEST(Bpe, EveryTextComesBackFromItsPieces) {
  RandomSequence random(3, 0);
  const TokenCounter counter = Counted(RandomText(random, 20'000, 5));
  const Vocabulary vocabulary = Vocabulary::OfPieces(LearnPieces(counter, 500, kMuch).pieces, {.unknown = false, .ends = true});
  EXPECT_GT(vocabulary.size(), 600);
  const TestFolder folder;
  Result<Vocabulary> read = Vocabulary::Read(folder.Put("vocabulary.txt", vocabulary.AsText()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), vocabulary.size());
  Result<BpeEncoder> encoder = BpeEncoder::Make(vocabulary, "made"), from_file = BpeEncoder::Make(*read, "read");
  ASSERT_TRUE(encoder.ok() && from_file.ok());
  size_t bytes = 0, pieces = 0;
  for (int round = 0; round < 500; ++round) {
    // Other letters than those it was learnt from, too.
    const std::string text = RandomText(random, 200, round % 2 == 0 ? 5 : 26);
    std::vector<int32_t> ids, again;
    for (const std::string& word : Pieces(text)) {
      encoder->Encode(word, ids);
      from_file->Encode(word, again);
    }
    EXPECT_EQ(ids, again);
    std::string joined;
    for (const int32_t id : ids) joined += vocabulary.token(id);
    ASSERT_EQ(joined, text) << round;
    bytes += round % 2 == 0 ? text.size() : 0;
    pieces += round % 2 == 0 ? ids.size() : 0;
  }
  EXPECT_LT(10 * pieces, 7 * bytes) << "pieces are shorter than the text";
}

TEST(Bpe, AWordIsJoinedByTheEarliestPieces) {
  TokenTable pieces;
  for (const char* piece : {"ab", "bc", "cd", "abcd"}) pieces.Add(piece);
  const Vocabulary vocabulary = Vocabulary::OfPieces(pieces, {.unknown = false, .ends = false});
  Result<BpeEncoder> encoder = BpeEncoder::Make(vocabulary, "made");
  const auto texts = [&](std::string_view word) {
    std::vector<int32_t> ids;
    encoder->Encode(word, ids);
    Strings found;
    for (const int32_t id : ids) found.emplace_back(vocabulary.token(id));
    return found;
  };
  EXPECT_EQ(texts("abc"), (Strings{"ab", "c"}));
  EXPECT_EQ(texts("xbcd"), (Strings{"x", "bc", "d"}));
  EXPECT_EQ(texts("abcdx"), (Strings{"abcd", "x"}));
  EXPECT_EQ(texts("abcd"), (Strings{"abcd"}));
  EXPECT_EQ(texts("abc"), (Strings{"ab", "c"})) << "the second time it was seen before";
}

TEST(Bpe, AVocabularyWithoutAllBytesIsRefused) {
  TokenCounter counter(kMuch);
  counter.Add("a");
  const Result<BpeEncoder> encoder = BpeEncoder::Make(Vocabulary::Make(counter, {}, 10), "model/vocabulary.txt");
  ASSERT_FALSE(encoder.ok());
  EXPECT_NE(encoder.status().message().find("model/vocabulary.txt: has no \\x00"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
