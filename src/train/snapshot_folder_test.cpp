#include "train/snapshot_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "train/train_test_files.h"

namespace plimsoll {
namespace {

class Text final : public SnapshotContent {
 public:
  explicit Text(std::string text, Status status = Status::Ok()) : text_(std::move(text)), status_(std::move(status)) {}
  int64_t bytes() const override { return static_cast<int64_t>(text_.size()); }
  Status WriteTo(SnapshotWriter& writer) override {
    writer.Write(std::as_bytes(std::span(text_)));
    return status_;
  }

 private:
  std::string text_;
  Status status_;
};

struct Opened {
  explicit Opened(const std::string& path, int64_t keep = 2, SnapshotFolder::Known verified = {})
      : folder(SnapshotFolder::Open(path, keep, verified).value()), buffer(kSnapshotBlockBytes) {}
  Status Commit(uint64_t best = 0) {
    Text text("content");
    return folder.Commit(text, buffer, best);
  }
  SnapshotFolder folder;
  std::vector<std::byte> buffer;
};

TEST(SnapshotFolder, TheNewestStayAndLinksNameThem) {
  Folder folder;
  Opened opened(folder / "s", 3);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(opened.Commit().ok());
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{7, 6, 5}));
  EXPECT_EQ(std::filesystem::read_symlink(folder / "s/last"), "000007.plimsoll");
  EXPECT_FALSE(std::filesystem::exists(folder / "s/best"));
  EXPECT_EQ(opened.folder.newest_verified(), 7u);
}

TEST(SnapshotFolder, WhatAKeptOneHoldsForTheBestStays) {
  Folder folder;
  Opened opened(folder / "s");
  const auto commit = [&](uint64_t best) { ASSERT_TRUE(opened.Commit(best).ok()); };
  commit(1);
  for (int i = 2; i <= 6; ++i) commit(1);
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{6, 5, 1}));
  EXPECT_EQ(std::filesystem::read_symlink(folder / "s/best"), "000001.plimsoll");
  commit(7);  // better; 6 still holds 1 for the best, and may be all that can be read one day
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{7, 6, 1}));
  commit(7);
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{8, 7}));
  EXPECT_EQ(std::filesystem::read_symlink(folder / "s/best"), "000007.plimsoll");
}

TEST(SnapshotFolder, ContentThatRefusesItselfLeavesEverythingAsItWas) {
  Folder folder;
  Opened opened(folder / "s");
  ASSERT_TRUE(opened.Commit().ok());
  Text bad("content", Status::Diverged("not finite"));
  EXPECT_EQ(opened.folder.Commit(bad, opened.buffer, 0).kind(), StatusKind::Diverged);
  EXPECT_EQ(GenerationsIn(folder / "s"), std::vector<uint64_t>{1});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "s"), {}), 2) << "the file and the link";
  EXPECT_EQ(opened.folder.next(), 2u);
}

TEST(SnapshotFolder, HalfWrittenFilesOfAKilledProcessGoAndOthersStay) {
  Folder folder;
  {
    Opened opened(folder / "s");
    ASSERT_TRUE(opened.Commit().ok());
    ASSERT_TRUE(opened.Commit().ok());
  }
  std::ofstream(folder / "s/000003.partial") << "half";
  std::ofstream(folder / "s/notes.txt") << "mine";
  std::ofstream(folder / "s/12.plimsoll") << "not a name of ours";
  Opened opened(folder / "s", 2, {.generation = 2});
  EXPECT_FALSE(std::filesystem::exists(folder / "s/000003.partial"));
  EXPECT_TRUE(std::filesystem::exists(folder / "s/notes.txt"));
  EXPECT_EQ(opened.folder.next(), 3u);
  ASSERT_TRUE(opened.Commit().ok());
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{3, 2})) << "two are known to be good";
}

TEST(SnapshotFolder, OnesThatNobodyHasVerifiedDoNotCount) {
  Folder folder;
  {
    Opened opened(folder / "s", 4);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(opened.Commit().ok());
  }
  Opened opened(folder / "s", 2, {.generation = 2});  // 3 and 4 were passed over
  ASSERT_TRUE(opened.Commit().ok());
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{5, 4, 3, 2}));
  ASSERT_TRUE(opened.Commit().ok());
  EXPECT_EQ(GenerationsIn(folder / "s"), (std::vector<uint64_t>{6, 5}));
}

TEST(SnapshotFolder, TheBestOfAnotherFolderIsCopiedUnderItsNumber) {
  Folder folder;
  Opened from(folder / "from");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(from.Commit().ok());
  Opened to(folder / "to");
  ASSERT_TRUE(to.folder.Adopt(folder / "from/000002.plimsoll", 2, to.buffer).ok());
  to.folder.BeginAfter(3);
  ASSERT_TRUE(to.Commit(2).ok());
  EXPECT_EQ(GenerationsIn(folder / "to"), (std::vector<uint64_t>{4, 2}));
  EXPECT_EQ(Contents(folder / "from/000002.plimsoll"), Contents(folder / "to/000002.plimsoll"));
  Opened other(folder / "other");
  std::filesystem::resize_file(folder / "from/000003.plimsoll", 100);
  const Status damaged = other.folder.Adopt(folder / "from/000003.plimsoll", 3, other.buffer);
  EXPECT_EQ(damaged.kind(), StatusKind::Data);
  EXPECT_NE(damaged.message().find("000003.plimsoll"), std::string::npos);
}

TEST(SnapshotFolder, AFileThatWouldFillTheDiskIsNotBegun) {
  Folder folder;
  Opened opened(folder / "s");
  EXPECT_TRUE(opened.folder.CheckSpace(1000).ok());
  const Status full = opened.folder.CheckSpace(int64_t{1} << 60);
  EXPECT_EQ(full.kind(), StatusKind::CannotWrite);
  EXPECT_NE(full.message().find("no space"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
