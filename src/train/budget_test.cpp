#include "train/budget.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

constexpr int64_t kMB = 1'000'000;
MemoryFacts Machine(int64_t available, int64_t limit) {
  MemoryFacts facts;
  facts.total_bytes = 1000 * kMB;
  facts.available_bytes = available;
  facts.limit_bytes = limit;
  return facts;
}

int64_t Bytes(const std::string& text, const MemoryFacts& machine) {
  const Result<Budget> budget = ResolveBudget(text, machine, /*own_bytes=*/10 * kMB);
  return budget.ok() ? budget.value().bytes : -1;
}

TEST(Budget, WhatIsStatedCountsWhereItCanBeHad) {
  EXPECT_EQ(Bytes("64MB", Machine(500 * kMB, 0)), 64 * kMB);
  EXPECT_TRUE(ResolveBudget("64MB", Machine(500 * kMB, 0), 0).value().note.empty());
}

TEST(Budget, WhereLessIsThereTheSmallerNumberCountsAndALineSaysSo) {
  EXPECT_EQ(Bytes("800MB", Machine(500 * kMB, 0)), 510 * kMB);
  EXPECT_EQ(Bytes("800MB", Machine(500 * kMB, 200 * kMB)), 200 * kMB);
  EXPECT_FALSE(ResolveBudget("800MB", Machine(500 * kMB, 0), 0).value().note.empty());
}

TEST(Budget, AutoIsTheGroupsLimitOrFourFifthsOfWhatIsAvailable) {
  EXPECT_EQ(Bytes("auto", Machine(500 * kMB, 200 * kMB)), 200 * kMB);
  EXPECT_EQ(Bytes("auto", Machine(490 * kMB, 0)), 400 * kMB);
  EXPECT_EQ(Bytes("auto", Machine(100 * kMB, 200 * kMB)), 110 * kMB) << "a limit is no promise that others left so much";
}

TEST(Budget, AShareIsOfTheGroupsLimitOrOfAllMemory) {
  EXPECT_EQ(Bytes("50%", Machine(900 * kMB, 0)), 500 * kMB);
  EXPECT_EQ(Bytes("50%", Machine(900 * kMB, 200 * kMB)), 100 * kMB);
}

TEST(Budget, ARunningJobFollowsTheSystemAndGivesUpAQuarterUnderPressure) {
  Plan plan;
  plan.own_groups_bytes = 50 * kMB;
  plan.peak_bytes = 80 * kMB;
  EXPECT_EQ(FollowSystem(100 * kMB, 0, false, plan), 100 * kMB);
  EXPECT_EQ(FollowSystem(100 * kMB, 70 * kMB, false, plan), 70 * kMB);
  EXPECT_EQ(FollowSystem(100 * kMB, 200 * kMB, false, plan), 100 * kMB) << "never more than the user allows";
  EXPECT_EQ(FollowSystem(100 * kMB, 0, true, plan), 60 * kMB);
  EXPECT_EQ(FollowSystem(100 * kMB, 55 * kMB, true, plan), 55 * kMB);
  plan.peak_bytes = 60 * kMB;
  EXPECT_EQ(FollowSystem(100 * kMB, 0, true, plan), 50 * kMB) << "not below what the job can hold";
}

}  // namespace
}  // namespace plimsoll
