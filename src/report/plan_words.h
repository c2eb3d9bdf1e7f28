// plan_words: words that the lines, the tables and the pictures of a plan share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "plimsoll/plan.h"

namespace plimsoll {

inline constexpr const char* kSmallerGroups =
    "row groups are smaller than the job's own: sums round differently, nothing else changes";

// "once", "twice", "3 times"
inline std::string HowOften(int64_t times) {
  if (times == 1) return "once";
  return times == 2 ? "twice" : fmt::format("{} times", times);
}

// "64", or "2 x 32" where row groups run side by side.
inline std::string RowsOf(const Plan& plan) {
  return plan.groups_abreast == 1 ? fmt::format("{}", plan.group_rows)
                                  : fmt::format("{} x {}", plan.groups_abreast, plan.group_rows);
}

// "48 blocks of 16 steps in 6 segments, 5 slots". `block_steps` of 0: without the steps.
inline std::string StageShape(const PlannedStage& stage, int64_t block_steps) {
  const int64_t segment_blocks = std::max<int64_t>(1, stage.segment_blocks);
  const int64_t segments = (stage.blocks + segment_blocks - 1) / segment_blocks;
  std::string text = fmt::format("{} block{}", stage.blocks, stage.blocks == 1 ? "" : "s");
  auto out = std::back_inserter(text);
  if (block_steps > 0) fmt::format_to(out, " of {} steps", block_steps);
  if (segments > 1) fmt::format_to(out, " in {} segments", segments);
  if (stage.slots > 0) {
    fmt::format_to(out, ", {} slot{}{}", stage.slots, stage.slots == 1 ? "" : "s", stage.spilled ? " in a file" : "");
  }
  return text;
}

}  // namespace plimsoll
