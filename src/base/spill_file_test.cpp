#include "base/spill_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <numeric>
#include <vector>

namespace plimsoll {
namespace {

using Piece = SpillFile::Piece;
using Direction = SpillFile::Direction;

// A folder on a real disk: the build folder, where the tests run.
std::string RealFolder() { return std::filesystem::current_path().string(); }

TEST(SpillFile, WhatGoesOutComesBackAlsoWhileAnotherLaneIsUnderWay) {
  Result<std::unique_ptr<SpillFile>> file = SpillFile::Open(RealFolder());
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<char> first(100'000), second(70'001), back(100'000), back_too(70'001);
  std::iota(first.begin(), first.end(), 1);
  std::iota(second.begin(), second.end(), 7);
  ASSERT_TRUE((*file)->Reserve(200'000).ok());
  const Piece out[] = {{first.data(), 100'000, 0}}, out_too[] = {{second.data(), 70'001, 100'000}};
  (*file)->Start(0, Direction::Out, out);
  (*file)->Start(1, Direction::Out, out_too);
  ASSERT_TRUE((*file)->Wait(0).ok());
  const Piece in[] = {{back.data(), 40'000, 0}, {back.data() + 40'000, 60'000, 40'000}};
  (*file)->Start(0, Direction::In, in);
  ASSERT_TRUE((*file)->Wait(1).ok());
  const Piece in_too[] = {{back_too.data(), 70'001, 100'000}};
  (*file)->Start(1, Direction::In, in_too);
  ASSERT_TRUE((*file)->Wait(0).ok());
  ASSERT_TRUE((*file)->Wait(1).ok());
  EXPECT_EQ(back, first);
  EXPECT_EQ(back_too, second);
}

TEST(SpillFile, NothingWithANameIsLeftInTheFolder) {
  std::string folder = RealFolder() + "/spill_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  Result<std::unique_ptr<SpillFile>> file = SpillFile::Open(folder);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Reserve(4096).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  file->reset();
  std::filesystem::remove(folder);
}

TEST(SpillFile, MemoryThatPosesAsADiskIsRefused) {
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no tmpfs here";
  const auto file = SpillFile::Open("/dev/shm");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().kind(), StatusKind::Usage);
  EXPECT_NE(file.status().message().find("tmpfs"), std::string::npos);
}

TEST(SpillFile, AFolderThatIsNotThereIsNamed) {
  const auto file = SpillFile::Open("/nowhere/at/all");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().kind(), StatusKind::CannotWrite);
  EXPECT_NE(file.status().message().find("/nowhere/at/all"), std::string::npos);
}

TEST(SpillFile, ADiskWithoutSpaceIsKnownWhenTheSpaceIsTaken) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  Result<std::unique_ptr<SpillFile>> file = SpillFile::Open(RealFolder());
  ASSERT_TRUE(file.ok());
  rlimit small = before;
  small.rlim_cur = 64 * 1024;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status refused = (*file)->Reserve(1 << 20);
  std::vector<char> bytes(100'000);
  const Piece out[] = {{bytes.data(), 100'000, 0}};
  (*file)->Start(0, Direction::Out, out);
  const Status failed = (*file)->Wait(0);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(refused.kind(), StatusKind::CannotWrite);
  EXPECT_EQ(failed.kind(), StatusKind::CannotWrite) << "a write that fails later is told by Wait";
  EXPECT_TRUE((*file)->Wait(0).ok()) << "and told once";
}

}  // namespace
}  // namespace plimsoll
