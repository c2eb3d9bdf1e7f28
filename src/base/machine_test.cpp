#include "base/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace plimsoll {
namespace {

// Memory groups as the kernel shows them, made of plain files. RLIMIT_DATA has no part in it: tests run without one.
class FakeGroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "plimsoll_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  MemoryFacts Read() const { return ReadMemoryFacts(folder_.string(), (folder_ / "own").string()); }

  std::filesystem::path folder_;
};

TEST_F(FakeGroups, TheTightestOfAGroupAndItsParentsCounts) {
  Write("own", "0::/jobs/one\n");
  Write("jobs/one/memory.max", "max\n");
  Write("jobs/memory.max", "500000000\n");
  EXPECT_EQ(Read().limit_bytes, 500000000);
  EXPECT_EQ(Read().limit_source, "cgroup v2 memory.max");
  Write("jobs/one/memory.max", "300000000\n");
  EXPECT_EQ(Read().limit_bytes, 300000000);
}

TEST_F(FakeGroups, Version2BesideVersion1) {
  Write("own", "0::/jobs\n4:cpu,memory:/box\n");
  Write("unified/jobs/memory.max", "700000000\n");
  Write("memory/box/memory.limit_in_bytes", "600000000\n");
  EXPECT_EQ(Read().limit_bytes, 600000000);
  EXPECT_EQ(Read().limit_source, "cgroup v1 memory.limit_in_bytes");
  Write("memory/box/memory.limit_in_bytes", "9223372036854771712\n");  // how version 1 says "none"
  EXPECT_EQ(Read().limit_bytes, 700000000);
  EXPECT_EQ(Read().limit_source, "cgroup v2 memory.max");
}

TEST_F(FakeGroups, NoGroupIsNoLimit) {
  Write("own", "3:cpu:/\nno colon here\n");
  EXPECT_EQ(Read().limit_bytes, 0);
  EXPECT_GT(Read().total_bytes, 0);
}

}  // namespace
}  // namespace plimsoll
