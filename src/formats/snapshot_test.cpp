#include "formats/snapshot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/file.h"

namespace plimsoll {
namespace {

using Bytes = std::vector<std::byte>;

// A file without a name.
Descriptor NewFile() {
  std::string name = testing::TempDir() + "plimsoll_XXXXXX";
  Descriptor file(mkstemp(name.data()));
  unlink(name.c_str());
  return file;
}

Bytes Pattern(int64_t bytes) {
  Bytes pattern(static_cast<size_t>(bytes));
  for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i * 131 + i / 7);
  return pattern;
}

Bytes FileOf(const Bytes& content, uint64_t generation) {
  const Descriptor file = NewFile();
  Bytes buffer(kSnapshotBlockBytes);
  SnapshotWriter writer(file.number(), buffer, generation, static_cast<int64_t>(content.size()));
  EXPECT_EQ(writer.Start(), 0);
  for (size_t at = 0; at < content.size(); at += 1000) {
    EXPECT_EQ(writer.Write(std::span(content).subspan(at).first(std::min<size_t>(1000, content.size() - at))), 0);
  }
  EXPECT_EQ(writer.Finish(), 0);
  Bytes bytes(static_cast<size_t>(lseek(file.number(), 0, SEEK_END)));
  EXPECT_EQ(pread(file.number(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

// What is wrong with a file; empty: nothing.
std::string ProblemOf(const Bytes& bytes) {
  const Descriptor file = NewFile();
  EXPECT_EQ(pwrite(file.number(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  Bytes buffer(kSnapshotBlockBytes);
  SnapshotReader reader(file.number(), static_cast<int64_t>(bytes.size()), buffer);
  return reader.Start() && reader.Finish() ? "" : reader.problem();
}

TEST(Snapshot, ContentOfAnySizeComesBackInAnyPieces) {
  for (const int64_t size : {0, 1, 65531, 65532, 65533, 131064, 200000}) {
    const Bytes content = Pattern(size), bytes = FileOf(content, 7);
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), SnapshotFileBytes(size));
    const Descriptor file = NewFile();
    ASSERT_EQ(WriteAll(file.number(), bytes), 0);
    Bytes buffer(kSnapshotBlockBytes), again(content.size());
    SnapshotReader reader(file.number(), static_cast<int64_t>(bytes.size()), buffer);
    ASSERT_TRUE(reader.Start()) << reader.problem();
    EXPECT_EQ(reader.generation(), 7u);
    EXPECT_EQ(reader.content_bytes(), size);
    for (size_t at = 0; at < again.size(); at += 777) {
      ASSERT_TRUE(reader.Read(std::span(again).subspan(at).first(std::min<size_t>(777, again.size() - at))));
    }
    EXPECT_EQ(reader.left(), 0);
    EXPECT_TRUE(reader.Finish()) << reader.problem();
    EXPECT_EQ(again, content);
    std::byte more{};
    EXPECT_FALSE(reader.Read({&more, 1})) << "there is no more";
  }
}

TEST(Snapshot, EveryTruncationIsFound) {
  const Bytes bytes = FileOf(Pattern(3000), 1);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(ProblemOf(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))), "") << length;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_NE(ProblemOf(longer), "");
  EXPECT_EQ(ProblemOf(bytes), "") << "the control";
}

TEST(Snapshot, EverySingleBitIsWatched) {
  Bytes bytes = FileOf(Pattern(300), 3);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_NE(ProblemOf(bytes), "") << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  EXPECT_EQ(ProblemOf(bytes), "") << "the control";
}

TEST(Snapshot, BlocksThatChangePlacesOrFilesAreFound) {
  const Bytes content(3 * 65532, std::byte{5});  // three blocks with the same content
  const Bytes first = FileOf(content, 1), second = FileOf(content, 2);
  const auto block = [](int64_t number) { return static_cast<std::ptrdiff_t>(64 + number * kSnapshotBlockBytes); };
  Bytes mixed = first;
  std::copy_n(first.begin() + block(1), kSnapshotBlockBytes, mixed.begin() + block(0));
  EXPECT_EQ(ProblemOf(mixed), "block 0: its checksum is wrong");
  mixed = first;
  std::copy_n(second.begin() + block(2), kSnapshotBlockBytes, mixed.begin() + block(2));
  EXPECT_EQ(ProblemOf(mixed), "block 2: its checksum is wrong");
  mixed = first;
  std::copy(second.end() - 64, second.end(), mixed.end() - 64);
  EXPECT_EQ(ProblemOf(mixed), "its trailer is that of another file");
  mixed = first;
  std::copy(first.end() - 64, first.end(), mixed.begin());
  EXPECT_EQ(ProblemOf(mixed), "it does not begin as a snapshot does");
  mixed = first;
  std::fill_n(mixed.begin() + 8192, 4096, std::byte{0});
  EXPECT_EQ(ProblemOf(mixed), "block 0: its checksum is wrong");
}

TEST(Snapshot, AFailedWriteIsRepeatedByEveryLaterCall) {
  const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  Bytes buffer(kSnapshotBlockBytes);
  SnapshotWriter writer(full.number(), buffer, 1, 10);
  EXPECT_EQ(writer.Start(), ENOSPC);
  EXPECT_EQ(writer.Write(Pattern(10)), ENOSPC);
  EXPECT_EQ(writer.Finish(), ENOSPC);
}

}  // namespace
}  // namespace plimsoll
