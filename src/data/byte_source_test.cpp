#include "data/byte_source.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/digest.h"
#include "data/text_test_files.h"

namespace plimsoll {
namespace {

struct Read {
  std::string text;
  Status status;
};

// Everything, in pieces of an odd size.
Read ReadAll(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
  if (!source.ok()) return {"", source.status()};
  Read read;
  char piece[7];
  while (true) {
    const Result<size_t> got = (*source)->Read(piece);
    if (!got.ok()) return {read.text, got.status()};
    if (got.value() == 0) return read;
    read.text.append(piece, got.value());
  }
}

TEST(ByteSource, GzipAndZstdGiveTheTextThatAPlainFileGives) {
  const TestFolder folder;
  EXPECT_EQ(ReadAll(folder.Put("plain", kTwoMessages)).text, kTwoMessages);
  EXPECT_EQ(ReadAll(folder.Put("gz", Gzipped(kTwoMessages))).text, kTwoMessages);
  const Read zstd = ReadAll(folder.Put("zst", kZstdMessages));
  EXPECT_TRUE(zstd.status.ok()) << zstd.status.message();
  EXPECT_EQ(zstd.text, kTwoMessages);
}

TEST(ByteSource, SeveralMembersOrFramesAreOneText) {
  const TestFolder folder;
  const std::string twice = std::string(kTwoMessages) + std::string(kTwoMessages);
  EXPECT_EQ(ReadAll(folder.Put("gz", Gzipped(kTwoMessages) + Gzipped(kTwoMessages) + std::string(512, '\0'))).text, twice);
  EXPECT_EQ(ReadAll(folder.Put("zst", kZstdMessages + kZstdMessages)).text, twice);
}

TEST(ByteSource, EveryTruncationOfAGzipFileIsAnErrorThatNamesTheFile) {
  const TestFolder folder;
  const std::string whole = Gzipped(kTwoMessages);
  for (size_t bytes = 2; bytes < whole.size(); ++bytes) {
    const Read read = ReadAll(folder.Put("cut.gz", whole.substr(0, bytes)));
    EXPECT_EQ(read.status.kind(), StatusKind::Data) << bytes;
    EXPECT_NE(read.status.message().find("cut.gz"), std::string::npos) << read.status.message();
  }
}

TEST(ByteSource, EveryTruncationOfAZstdFileIsAnError) {
  const TestFolder folder;
  for (size_t bytes = 4; bytes < kZstdMessages.size(); ++bytes) {
    EXPECT_EQ(ReadAll(folder.Put("cut.zst", kZstdMessages.substr(0, bytes))).status.kind(), StatusKind::Data) << bytes;
  }
}

TEST(ByteSource, ADamagedStreamOrBytesBehindItAreErrors) {
  const TestFolder folder;
  std::string damaged = Gzipped(kTwoMessages);
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  EXPECT_EQ(ReadAll(folder.Put("damaged.gz", damaged)).status.kind(), StatusKind::Data);
  EXPECT_EQ(ReadAll(folder.Put("more.gz", Gzipped(kTwoMessages) + "more")).status.kind(), StatusKind::Data);
  damaged = kZstdMessages;
  damaged.back() ^= 1;
  EXPECT_EQ(ReadAll(folder.Put("damaged.zst", damaged)).status.kind(), StatusKind::Data);
}

TEST(ByteSource, AZstdWindowAboveEightMebibytesIsRefused) {
  const TestFolder folder;
  const Read read = ReadAll(folder.Put("long.zst", kZstdLongWindow));
  EXPECT_EQ(read.status.kind(), StatusKind::Data);
  EXPECT_NE(read.status.message().find("window"), std::string::npos) << read.status.message();
}

TEST(ByteSource, AZstdWindowThatTheBudgetHasNoRoomForIsRefusedAsThat) {
  const TestFolder folder;
  const std::string path = folder.Put("long.zst", kZstdLongWindow);
  Result<std::unique_ptr<ByteSource>> source = ByteSource::Open(path, /*most_window=*/1 << 20);
  ASSERT_TRUE(source.ok());
  char piece[64];
  const Result<size_t> got = (*source)->Read(piece);
  EXPECT_EQ(got.status().kind(), StatusKind::OverBudget);
  EXPECT_GE(got.status().min_bytes(), kMostZstdWindow);
}

TEST(ByteSource, AFileThatGrowsWhileItIsReadIsAnError) {
  const TestFolder folder;
  const std::string path = folder.Put("grows", std::string(200'000, 'a'));
  Result<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
  ASSERT_TRUE(source.ok());
  std::vector<char> piece(100'000);
  ASSERT_TRUE((*source)->Read(piece).ok());
  folder.Overwrite("grows", std::string(300'000, 'a'));
  Status end;
  for (int i = 0; i < 10 && end.ok(); ++i) {
    const Result<size_t> got = (*source)->Read(piece);
    if (!got.ok()) end = got.status();
  }
  EXPECT_EQ(end.kind(), StatusKind::Data);
  EXPECT_NE(end.message().find("changed"), std::string::npos) << end.message();
}

TEST(ByteSource, TheFingerprintFollowsFromTheBytesAlone) {
  const TestFolder folder;
  const auto of = [&](std::string_view text, size_t piece_bytes) {
    Result<std::unique_ptr<ByteSource>> source = ByteSource::Open(folder.Put("one", text));
    EXPECT_TRUE(source.ok());
    std::vector<char> piece(piece_bytes);
    while ((*source)->Read(piece).value() > 0) {
    }
    return (*source)->fingerprint();
  };
  const std::string text(200'001, 'a');
  Digest digest;
  digest.Add(text);
  EXPECT_EQ(of(text, 1000), digest.value());
  EXPECT_EQ(of(text, 77'777), digest.value());
  EXPECT_NE(of(text + "a", 1000), digest.value());
  EXPECT_NE(of("one text", 1000), of("one texu", 1000));
  EXPECT_NE(of("a", 1000), of(std::string_view("a\0", 2), 1000));
}

}  // namespace
}  // namespace plimsoll
