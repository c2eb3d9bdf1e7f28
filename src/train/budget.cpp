#include "train/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace plimsoll {

Result<Budget> ResolveBudget(const std::string& text, const MemoryFacts& machine, int64_t own_bytes) {
  const Result<MemoryAmount> amount = ParseMemory(text);
  if (!amount.ok()) return amount.status();
  const bool limited = machine.limit_bytes > 0 && machine.limit_bytes < machine.total_bytes;
  int64_t reachable = machine.available_bytes + own_bytes;
  if (limited) reachable = std::min(reachable, machine.limit_bytes);
  switch (amount.value().kind) {
    case MemoryAmount::Kind::Auto: {
      if (limited) return Budget{reachable, fmt::format("memory auto: {} ({})", PrettyBytes(reachable), machine.limit_source)};
      const int64_t bytes = reachable / 10 * 8;
      return Budget{bytes, fmt::format("memory auto: {}, 80 % of what is available", PrettyBytes(bytes))};
    }
    case MemoryAmount::Kind::Percent: {
      const double whole = static_cast<double>(limited ? machine.limit_bytes : machine.total_bytes);
      const auto bytes = static_cast<int64_t>(whole * amount.value().percent / 100.0);
      if (bytes <= reachable) return Budget{bytes, fmt::format("memory {}: {}", text, PrettyBytes(bytes))};
      return Budget{reachable, fmt::format("memory {} is {}, but only {} can be had; that counts", text, PrettyBytes(bytes),
                                           PrettyBytes(reachable))};
    }
    case MemoryAmount::Kind::Bytes:
      break;
  }
  const int64_t stated = amount.value().bytes;
  if (stated <= reachable) return Budget{stated, ""};
  return Budget{reachable, fmt::format("{} was stated, but only {} can be had here{}; that counts", PrettyBytes(stated),
                                       PrettyBytes(reachable), limited ? " (" + machine.limit_source + ")" : "")};
}

int64_t FollowSystem(int64_t stated, int64_t group_bound, bool pressure, const Plan& plan) {
  int64_t bytes = group_bound > 0 ? std::min(stated, group_bound) : stated;
  if (pressure) bytes = std::min(bytes, std::max(plan.own_groups_bytes, plan.peak_bytes / 4 * 3));
  return bytes;
}

}  // namespace plimsoll
