#include "base/memory_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace plimsoll {
namespace {

// A group as cgroup v2 shows it, made of plain files.
class FakeGroup : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "plimsoll_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ / "jobs/one");
    Write("own", "1:cpu:/elsewhere\n0::/jobs/one\n");
    Write("jobs/one/memory.high", "max\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  MemoryWatch Watch() const { return MemoryWatch(folder_.string(), (folder_ / "own").string()); }

  std::filesystem::path folder_;
};

TEST_F(FakeGroup, TheBoundIsReadAnewEachTime) {
  const MemoryWatch watch = Watch();
  EXPECT_TRUE(watch.watches());
  EXPECT_EQ(watch.High(), 0) << "max is no bound";
  Write("jobs/one/memory.high", "123456789\n");
  EXPECT_EQ(watch.High(), 123456789);
  Write("jobs/one/memory.high", "max\n");
  EXPECT_EQ(watch.High(), 0);
}

TEST_F(FakeGroup, AFileThatReportsNoEventIsNoPressure) {
  Write("jobs/one/memory.pressure", "some avg10=0.00\n");
  MemoryWatch watch = Watch();
  EXPECT_FALSE(watch.UnderPressure());
}

TEST_F(FakeGroup, WithoutAGroupNothingIsWatched) {
  Write("own", "5:memory:/jobs/one\n");
  MemoryWatch watch = Watch();
  EXPECT_FALSE(watch.watches());
  EXPECT_EQ(watch.High(), 0);
  EXPECT_FALSE(watch.UnderPressure());
}

}  // namespace
}  // namespace plimsoll
