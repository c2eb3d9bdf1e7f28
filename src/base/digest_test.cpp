#include "base/digest.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace plimsoll {
namespace {

uint64_t Of(std::string_view text) {
  Digest digest;
  digest.Add(text);
  return digest.value();
}

TEST(Digest, ValuesThatXxHashGives) {
  EXPECT_EQ(Of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(Of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(Of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(Of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(Digest, TheCutIntoPiecesDoesNotMatterAndEveryBitDoes) {
  std::vector<std::byte> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 91 + 5);
  Digest whole(7);
  whole.Add(bytes);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    Digest digest(7);
    for (size_t at = 0; at < bytes.size(); at += piece)
      digest.Add(std::span(bytes).subspan(at).first(std::min(piece, bytes.size() - at)));
    EXPECT_EQ(digest.value(), whole.value()) << piece;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    Digest digest(7);
    digest.Add(bytes);
    EXPECT_NE(digest.value(), whole.value()) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
}

}  // namespace
}  // namespace plimsoll
