#include "plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "plan/needs.h"

namespace plimsoll {
namespace {

// beside: half of them are of a second row group.
std::vector<PlannedBuffer> RandomBuffers(RandomSequence& random, int count, bool beside = false) {
  std::vector<PlannedBuffer> buffers;
  for (int i = 0; i < count; ++i) {
    const int first = static_cast<int>(random.Below(7)),
              last = first + static_cast<int>(random.Below(static_cast<uint64_t>(7 - first)));
    buffers.push_back({.owner = "o",
                       .name = "b",
                       .bytes = static_cast<int64_t>(random.Below(5000)),
                       .first = first,
                       .last = last,
                       .beside = beside && i % 2 == 1});
  }
  return buffers;
}

// Whether the buffer is in use at some moment from Forward to Backward, through which row groups side by side go by themselves.
bool InRun(const PlannedBuffer& buffer) {
  return buffer.first <= static_cast<int>(StepMoment::Backward) && buffer.last >= static_cast<int>(StepMoment::Forward);
}

// Two buffers that may be in use at the same time and share a byte.
std::optional<std::pair<size_t, size_t>> FirstClash(const std::vector<PlannedBuffer>& placed) {
  for (size_t a = 0; a < placed.size(); ++a) {
    for (size_t b = a + 1; b < placed.size(); ++b) {
      const bool side_by_side = placed[a].beside != placed[b].beside && InRun(placed[a]) && InRun(placed[b]);
      const bool same_time = side_by_side || (placed[a].first <= placed[b].last && placed[b].first <= placed[a].last);
      const bool same_place =
          placed[a].offset < placed[b].offset + placed[b].bytes && placed[b].offset < placed[a].offset + placed[a].bytes;
      if (same_time && same_place && placed[a].bytes > 0 && placed[b].bytes > 0) return std::pair(a, b);
    }
  }
  return std::nullopt;
}

TEST(Placement, BuffersInUseInTheSameMomentNeverShareAByte) {
  RandomSequence random(7, 0);
  for (int round = 0; round < 1000; ++round) {
    std::vector<PlannedBuffer> buffers = RandomBuffers(random, 40);
    const int64_t peak = PlaceBuffers(buffers, {});
    EXPECT_EQ(FirstClash(buffers), std::nullopt) << "round " << round;
    for (const PlannedBuffer& buffer : buffers) {
      EXPECT_EQ(buffer.offset % 64, 0);
      EXPECT_LE(buffer.offset + buffer.bytes, peak);
    }
  }
}

TEST(Placement, RowGroupsSideBySideNeverShareAByteWhileTheyRun) {
  RandomSequence random(8, 0);
  for (int round = 0; round < 1000; ++round) {
    std::vector<PlannedBuffer> buffers = RandomBuffers(random, 40, /*beside=*/true);
    PlaceBuffers(buffers, {});
    EXPECT_EQ(FirstClash(buffers), std::nullopt) << "round " << round;
  }
  // One group's head may run while the other is still in forward; what is read before or written behind may lie there, too.
  const int forward = static_cast<int>(StepMoment::Forward), head = static_cast<int>(StepMoment::Head),
            read = static_cast<int>(StepMoment::Read), save = static_cast<int>(StepMoment::Save);
  std::vector<PlannedBuffer> buffers = {{.bytes = 256, .first = forward, .last = forward},
                                        {.bytes = 128, .first = head, .last = head, .beside = true},
                                        {.bytes = 64, .first = read, .last = read, .beside = true},
                                        {.bytes = 64, .first = save, .last = save, .beside = true}};
  EXPECT_EQ(PlaceBuffers(buffers, {}), 256 + 128);
  buffers[1].beside = false;
  EXPECT_EQ(PlaceBuffers(buffers, {}), 256);
}

// Where all are in use at once: what is carried, the first group, the second.
TEST(Placement, TheSecondRowGroupLiesBehindTheFirst) {
  RandomSequence random(9, 0);
  for (int round = 0; round < 100; ++round) {
    std::vector<PlannedBuffer> buffers = RandomBuffers(random, 40, /*beside=*/true);
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].first = 0;
      buffers[i].last = 6;
      if (i < 4) buffers[i].life = Life::Param;
    }
    PlaceBuffers(buffers, {});
    int64_t carried_end = 0, first_end = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      int64_t& end = i < 4 ? carried_end : first_end;
      if (i < 4 || !buffers[i].beside) end = std::max(end, buffers[i].offset + buffers[i].bytes);
    }
    for (size_t i = 4; i < buffers.size(); ++i) {
      if (buffers[i].bytes == 0) continue;
      EXPECT_GE(buffers[i].offset, buffers[i].beside ? first_end : carried_end) << "round " << round;
    }
  }
}

TEST(Placement, AClashIsNoticedByTheCheck) {  // negative control of the test above
  std::vector<PlannedBuffer> buffers = {{.bytes = 64, .offset = 0, .first = 0, .last = 3},
                                        {.bytes = 64, .offset = 63, .first = 3, .last = 3}};
  EXPECT_NE(FirstClash(buffers), std::nullopt);
}

TEST(Placement, BytesOfADeadBufferAreReused) {
  std::vector<PlannedBuffer> buffers = {
      {.bytes = 128, .first = 0, .last = 1}, {.bytes = 64, .first = 1, .last = 2}, {.bytes = 64, .first = 2, .last = 2}};
  EXPECT_EQ(PlaceBuffers(buffers, {}), 192);
  EXPECT_EQ(buffers[2].offset, 0);
}

TEST(Placement, GuardsKeepEveryBufferApart) {
  std::vector<PlannedBuffer> buffers = {{.bytes = 64, .first = 0, .last = 0}, {.bytes = 64, .first = 1, .last = 1}};
  EXPECT_EQ(PlaceBuffers(buffers, {.align = 64, .guard_bytes = 64}), 256);
  EXPECT_NE(buffers[0].offset, buffers[1].offset);
}

TEST(Placement, ThePeakIsCloseToTheLargestSumOfAMoment) {
  RandomSequence random(8, 0);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlannedBuffer> buffers = RandomBuffers(random, 40);
    const int64_t peak = PlaceBuffers(buffers, {});
    int64_t largest = 0;
    for (int moment = 0; moment < 7; ++moment) {
      int64_t sum = 0;
      for (const PlannedBuffer& buffer : buffers) {
        if (buffer.first <= moment && moment <= buffer.last) sum += (buffer.bytes + 63) / 64 * 64;
      }
      largest = std::max(largest, sum);
    }
    EXPECT_GE(peak, largest);
    EXPECT_LE(peak, largest + largest / 4) << "round " << round;
  }
}

}  // namespace
}  // namespace plimsoll
