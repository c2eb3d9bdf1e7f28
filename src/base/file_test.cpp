#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace plimsoll {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "plimsoll_file_test_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Put(const std::string& name, const std::string& text) const { std::ofstream(Path(name), std::ios::binary) << text; }
  int64_t EntriesInFolder() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }
  std::string folder_;
};

TEST_F(FileTest, BytesAreReadAtAnyOffset) {
  Put("a", "0123456789");
  const auto file = File::OpenRead(Path("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value().size(), 10);
  std::string got(4, ' ');
  ASSERT_TRUE(file.value().ReadAt(6, 4, got.data()).ok());
  EXPECT_EQ(got, "6789");
  EXPECT_TRUE(file.value().ReadAt(10, 0, got.data()).ok());
}

// Whether a page lies in the page cache: then it can be read without waiting. -1: the file system cannot tell.
int IsCached(const std::string& path, int64_t offset) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  const iovec place{&byte, 1};
  if (::preadv2(file.number(), &place, 1, offset, RWF_NOWAIT) == 1) return 1;
  return errno == EAGAIN ? 0 : -1;
}

TEST_F(FileTest, BytesThatAreExpectedComeIntoThePageCacheAndOthersDoNot) {
  constexpr int64_t kExpected = 3 << 20, kOther = 1 << 20;
  Put("a", std::string(4 << 20, 'x'));
  const auto file = File::OpenRead(Path("a"));
  ASSERT_TRUE(file.ok());
  {
    const Descriptor own(::open(Path("a").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::fsync(own.number()), 0);
    ::posix_fadvise(own.number(), 0, 0, POSIX_FADV_DONTNEED);
  }
  if (IsCached(Path("a"), kExpected) != 0) GTEST_SKIP() << "files stay in memory here";
  file.value().Expect(kExpected, 8192);
  for (int wait = 0; wait < 200 && IsCached(Path("a"), kExpected + 8191) != 1; ++wait) ::usleep(10'000);
  EXPECT_EQ(IsCached(Path("a"), kExpected), 1);
  EXPECT_EQ(IsCached(Path("a"), kExpected + 8191), 1);
  EXPECT_EQ(IsCached(Path("a"), kOther), 0) << "negative control";
}

TEST_F(FileTest, AReadBeyondTheEndNamesFileAndOffset) {
  Put("a", "0123456789");
  const auto file = File::OpenRead(Path("a"));
  ASSERT_TRUE(file.ok());
  char out[16];
  for (const auto& [offset, bytes] : {std::pair<int64_t, int64_t>{7, 4}, {11, 0}, {INT64_MAX, INT64_MAX}, {1, INT64_MAX}}) {
    const Status status = file.value().ReadAt(offset, bytes, out);
    EXPECT_EQ(status.exit_code(), 3);
    EXPECT_NE(status.message().find(Path("a")), std::string::npos);
    EXPECT_NE(status.message().find("byte " + std::to_string(offset)), std::string::npos) << status.message();
  }
}

TEST_F(FileTest, AFileThatShrinksWhileOpenIsAnErrorNotACrash) {
  Put("a", std::string(10000, 'x'));
  const auto file = File::OpenRead(Path("a"));
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(Path("a"), 100);
  std::string out(10000, ' ');
  const Status status = file.value().ReadAt(0, 10000, out.data());
  EXPECT_EQ(status.exit_code(), 3);
  EXPECT_NE(status.message().find("shorter"), std::string::npos) << status.message();
}

TEST_F(FileTest, OnlyRegularFilesAreOpenedAndAPipeDoesNotHang) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(File::OpenRead(Path("pipe")).status().exit_code(), 3);
  EXPECT_EQ(File::OpenRead(folder_).status().exit_code(), 3);
  EXPECT_EQ(File::OpenRead(Path("missing")).status().exit_code(), 3);
}

TEST_F(FileTest, AWholeFileIsReadUpToTheCapAndNotBeyond) {
  Put("a", std::string(5000, 'x'));
  EXPECT_EQ(ReadWholeFile(Path("a"), 5000).value().size(), 5000u);
  EXPECT_EQ(ReadWholeFile(Path("a"), 4999).status().exit_code(), 3);
  EXPECT_FALSE(ReadWholeFile("/proc/self/status", 1 << 20).value().empty());
}

TEST_F(FileTest, AWriterGathersPiecesOfAllSizesInOrder) {
  std::vector<std::byte> buffer(16);
  for (const bool own : {true, false}) {
    auto writer = FileWriter::Create(Path("out"), own ? std::span<std::byte>() : std::span(buffer));
    ASSERT_TRUE(writer.ok());
    std::string wanted;
    for (size_t piece = 0; piece < 60; ++piece) {
      const std::string text(piece, static_cast<char>('a' + piece % 26));
      wanted += text;
      ASSERT_TRUE(writer->Write(text).ok());
    }
    EXPECT_FALSE(std::filesystem::exists(Path("out"))) << "a file must not appear before Commit";
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_EQ(ReadWholeFile(Path("out"), 10000).value(), wanted);
    EXPECT_EQ(writer->written(), static_cast<int64_t>(wanted.size()));
    std::filesystem::remove(Path("out"));
  }
}

TEST_F(FileTest, AnUncommittedFileLeavesNothingAndTheOldOneStays) {
  Put("out", "old");
  {
    auto writer = FileWriter::Create(Path("out"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Write("new").ok());
    EXPECT_EQ(EntriesInFolder(), 2);
  }
  EXPECT_EQ(EntriesInFolder(), 1);
  EXPECT_EQ(ReadWholeFile(Path("out"), 100).value(), "old");
}

TEST_F(FileTest, ACommittedFileFollowsTheUmask) {
  const mode_t before = ::umask(027);
  auto writer = FileWriter::Create(Path("out"));
  ::umask(before);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Commit().ok());
  struct stat facts {};
  ASSERT_EQ(::stat(Path("out").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(FileTest, AFailedWriteIsExitSevenWithTheCauseAndStaysFailed) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  auto writer = FileWriter::Create(Path("out"));
  ASSERT_TRUE(writer.ok());
  rlimit small = old_limit;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = writer->Write(std::string(200000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_EQ(status.exit_code(), 7);
  EXPECT_NE(status.message().find(Path("out")), std::string::npos);
  EXPECT_NE(status.message().find("limit on file sizes"), std::string::npos) << status.message();
  EXPECT_EQ(writer->Commit().exit_code(), 7) << "a file that failed once is dead";
  EXPECT_FALSE(std::filesystem::exists(Path("out")));
}

TEST_F(FileTest, WhatCannotBeCreatedIsExitSevenWithThePath) {
  EXPECT_EQ(FileWriter::Create(Path("no/such/folder/out")).status().exit_code(), 7);
  EXPECT_EQ(FileWriter::Create("/proc/out").status().exit_code(), 7);
  EXPECT_EQ(MakeFolder(Path("no/such")).exit_code(), 7);
  EXPECT_EQ(MakeFolder(folder_).exit_code(), 7) << "an existing folder is not taken over silently";
  EXPECT_EQ(EntriesInFolder(), 0);
}

TEST_F(FileTest, RenamingOntoAFolderFailsAndLeavesNoTemporary) {
  std::filesystem::create_directory(Path("out"));
  auto writer = FileWriter::Create(Path("out"));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->Commit().exit_code(), 7);
  EXPECT_EQ(EntriesInFolder(), 1);
}

TEST_F(FileTest, AFolderIsMadeOnce) {
  EXPECT_FALSE(FolderExists(Path("runs")));
  EXPECT_TRUE(MakeFolder(Path("runs/")).ok());
  EXPECT_TRUE(FolderExists(Path("runs")));
  Put("a", "");
  EXPECT_FALSE(FolderExists(Path("a")));
}

TEST_F(FileTest, AScratchFileHasNoNameAndIsReadBack) {
  ::setenv("TMPDIR", folder_.c_str(), 1);
  auto scratch = ScratchFile::Create();
  ASSERT_TRUE(scratch.ok());
  EXPECT_EQ(EntriesInFolder(), 0);
  const std::string text = "inflated";
  ASSERT_TRUE(scratch->Append(std::as_bytes(std::span(text))).ok());
  const File file = std::move(*scratch).IntoFile("shown");
  std::string got(text.size(), ' ');
  ASSERT_TRUE(file.ReadAt(0, file.size(), got.data()).ok());
  EXPECT_EQ(got, text);
  ::setenv("TMPDIR", Path("missing").c_str(), 1);
  EXPECT_EQ(ScratchFile::Create().status().exit_code(), 7);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace plimsoll
