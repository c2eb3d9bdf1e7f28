#include "base/threads.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

namespace plimsoll {
namespace {

TEST(ThreadPool, EveryPartRunsOnceACall) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadPool pool(size);
    std::vector<int> calls(static_cast<size_t>(size));
    for (int round = 0; round < 2000; ++round) {
      pool.Run([&](int part) { ++calls[static_cast<size_t>(part)]; });
    }
    for (const int count : calls) EXPECT_EQ(count, 2000);
  }
}

// Each team once, with a pool whose threads are there and meet, side by side where they can be.
TEST(ThreadPool, TeamsRunOnceWithThreadsOfTheirOwn) {
  for (const int size : {1, 2, 3, 4, 8}) {
    ThreadPool pool(size);
    const int members = size % kTeams == 0 ? size / kTeams : size;
    std::array<int, kTeams> calls = {};
    std::array<std::vector<int>, kTeams> parts;
    for (std::vector<int>& own : parts) own.resize(static_cast<size_t>(members));
    for (int round = 0; round < 500; ++round) {
      pool.RunTeams([&](int team, ThreadPool& threads) {
        const auto number = static_cast<size_t>(team);
        ++calls[number];
        ASSERT_EQ(threads.size(), members);
        for (int again = 0; again < round % 4; ++again) {  // also none
          threads.Run([&](int part) {
            ++parts[number][static_cast<size_t>(part)];
            threads.Meet();
          });
        }
      });
      std::atomic<int> all = 0;
      pool.Run([&](int) { ++all; });  // the whole pool is there again
      ASSERT_EQ(all, size);
    }
    for (const int count : calls) EXPECT_EQ(count, 500) << size << " threads";
    for (const std::vector<int>& own : parts) EXPECT_EQ(own, std::vector<int>(static_cast<size_t>(members), 750)) << size;
  }
}

TEST(ThreadPool, TeamsRunSideBySide) {
  ThreadPool pool(2);
  std::atomic<int> there = 0;
  pool.RunTeams([&](int, ThreadPool&) {
    ++there;
    while (there < kTeams) usleep(100);  // for ever, if one came behind the other
  });
  EXPECT_EQ(there, kTeams);
}

TEST(ThreadPool, WorkersThatFellAsleepComeBack) {
  ThreadPool pool(3);
  std::vector<int> calls(3);
  for (int round = 0; round < 5; ++round) {
    usleep(20000);
    pool.Run([&](int part) { ++calls[static_cast<size_t>(part)]; });
  }
  EXPECT_EQ(calls, (std::vector<int>{5, 5, 5}));
}

TEST(ThreadPool, WhatOnePartWroteTheNextCallSees) {
  ThreadPool pool(4);
  std::vector<int64_t> values(4);
  for (int round = 0; round < 1000; ++round) {
    pool.Run([&](int part) { values[static_cast<size_t>(part)] = round + part; });
    int64_t sum = 0;
    pool.Run([&](int part) {
      if (part == 3) sum = std::accumulate(values.begin(), values.end(), int64_t{0});
    });
    ASSERT_EQ(sum, 4 * round + 6);
  }
}

TEST(ThreadPool, WhatAPartWroteTheOthersSeeBehindAMeeting) {
  ThreadPool pool(3);
  int64_t values[2][3] = {}, wrong = 0;
  pool.Run([&](int part) {
    for (int64_t round = 0; round < 5000; ++round) {
      int64_t* now = values[round % 2];  // a part may be one meeting ahead of another, never two
      now[part] = round;
      pool.Meet();
      if (part == 2 && (now[0] != round || now[1] != round)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, AfterALateMeetingWorkKeepsApartForAWhile) {
  ThreadPool pool(2);
  EXPECT_TRUE(pool.MeetsPromptly());
  pool.Run([&](int part) {
    if (part == 1) usleep(100000);  // longer than the other part may be kept from its core
    pool.Meet();
  });
  int apart = 0;
  while (!pool.MeetsPromptly()) ++apart;
  EXPECT_EQ(apart, 1000);
}

TEST(ShareOf, CoversEverythingOnce) {
  for (const int64_t count : {0, 1, 5, 64, 1000}) {
    for (const int parts : {1, 2, 3, 8}) {
      for (const int64_t grain : {1, 8, 1024}) {
        int64_t at = 0;
        for (int part = 0; part < parts; ++part) {
          const Share share = ShareOf(count, part, parts, grain);
          EXPECT_EQ(share.begin, at);
          EXPECT_GE(share.end, share.begin);
          at = share.end;
        }
        EXPECT_EQ(at, count);
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
