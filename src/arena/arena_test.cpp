#include "arena/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/bytes.h"
#include "base/machine.h"

namespace plimsoll {
namespace {

TEST(Arena, IsResidentBeforeAnybodyWritesToIt) {
  const int64_t before = ResidentBytes();
  const Result<Arena> arena = Arena::Create(40 * kMiB);
  ASSERT_TRUE(arena.ok());
  EXPECT_GE(ResidentBytes() - before, 39 * kMiB);
}

TEST(Arena, LargePagesMakeNothingResidentThatWasNotAskedFor) {
  constexpr int64_t kOthers = 512 * kKiB;  // of the test itself, under a sanitizer; a large page too many would be a MiB or two
  for (const int64_t bytes : {2 * kMiB - 4096, 2 * kMiB + 4096, 5 * kMiB + 3 * 4096, 33 * kMiB - 4096}) {
    const int64_t before = ResidentBytes();
    Result<Arena> arena = Arena::Create(bytes);
    ASSERT_TRUE(arena.ok());
    EXPECT_LE(ResidentBytes() - before, bytes + kOthers) << bytes;
    ASSERT_TRUE(arena.value().Resize(bytes - 1 * kMiB).ok());
    EXPECT_LE(ResidentBytes() - before, bytes - 1 * kMiB + kOthers) << bytes << ", less a MiB";
  }
}

TEST(Arena, GoesBackToTheSystemWithItsOwner) {
  { const Result<Arena> arena = Arena::Create(40 * kMiB); }
  const int64_t before = ResidentBytes();
  { const Result<Arena> arena = Arena::Create(40 * kMiB); }
  EXPECT_LE(ResidentBytes() - before, 1 * kMiB);
}

TEST(ArenaDeathTest, AnAddressOutsideStopsTheProgram) {
  const Result<Arena> arena = Arena::Create(4096);
  EXPECT_EXIT(arena.value().At(5000), testing::ExitedWithCode(1), "outside the arena");
}

TEST(Arena, GuardsNoticeAWriteBeyondTheEnd) {
  if constexpr (kGuardBytes > 0) {
    const Result<Arena> arena = Arena::Create(4096);
    arena.value().FillGuard(1024);
    EXPECT_TRUE(arena.value().GuardIntact(1024));
    *arena.value().At(1024) = 0;
    EXPECT_FALSE(arena.value().GuardIntact(1024));
  } else {
    EXPECT_EQ(kGuardBytes, 0) << "release builds have no guards";
  }
}

}  // namespace
}  // namespace plimsoll
