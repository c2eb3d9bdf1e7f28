#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/check.h"

namespace plimsoll {
namespace {

// For page granularity and the kernel's counters, which run behind by some pages a core.
constexpr int64_t kSlackBytes = 256 * kKiB;

// The sum that a person is shown a buffer under.
std::string OwnerLine(const PlannedBuffer& buffer) {
  switch (buffer.life) {
    case Life::Param:
      return "weights";
    case Life::Grad:
      return "gradient";
    case Life::Moment:
      return "optimizer";
    case Life::State:
      return "state";
    case Life::Tape:
      return "tape";
    case Life::Scratch:
      return "workspace";
    case Life::Data:
      return "data";
  }
  PLIMSOLL_CHECK(false, "unknown life");
}

// The arena's bytes by owner. A place that several buffers share in turn counts for the largest of them.
std::vector<std::pair<std::string, int64_t>> ArenaByOwner(const Plan& plan) {
  std::vector<const PlannedBuffer*> largest_first;
  for (const PlannedBuffer& buffer : plan.buffers) largest_first.push_back(&buffer);
  std::stable_sort(largest_first.begin(), largest_first.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });

  std::map<std::string, int64_t> sums;
  std::map<int64_t, int64_t> covered;  // begin to end of stretches, disjoint
  int64_t counted = 0;
  for (const PlannedBuffer* buffer : largest_first) {
    int64_t begin = buffer->offset, end = buffer->offset + buffer->bytes, fresh = end - begin;
    for (auto at = covered.begin(); at != covered.end();) {
      if (at->second < begin || at->first > end) {
        ++at;
        continue;
      }
      fresh -= std::max<int64_t>(0, std::min(end, at->second) - std::max(begin, at->first));
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = covered.erase(at);
    }
    covered[begin] = end;
    sums[OwnerLine(*buffer)] += fresh;
    counted += fresh;
  }
  sums["alignment"] = plan.arena_bytes - counted;
  std::vector<std::pair<std::string, int64_t>> owners(sums.begin(), sums.end());
  std::stable_sort(owners.begin(), owners.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return owners;
}

}  // namespace

Extent FullExtent(const std::vector<int64_t>& lengths, int64_t block_steps, int64_t slice_rows) {
  PLIMSOLL_CHECK(!lengths.empty() && std::is_sorted(lengths.rbegin(), lengths.rend()), "rows come longest first");
  Extent extent{.rows = static_cast<int64_t>(lengths.size()), .slice_rows = slice_rows};
  for (const int64_t length : lengths) {
    extent.group_row_steps += length;
    extent.block_row_steps += std::min(length, block_steps);
    extent.kept_border_rows += (length + block_steps - 1) / block_steps;
  }
  extent.kept_row_steps = extent.group_row_steps;
  return extent;
}

Extent ForwardExtent(const std::vector<int64_t>& lengths, int64_t block_steps, int64_t slice_rows) {
  Extent extent = FullExtent(lengths, block_steps, slice_rows);
  extent.kept_row_steps = extent.block_row_steps;
  extent.kept_border_rows = extent.rows;
  return extent;
}

Plan MakeBufferPlan(const PlanInput& input, const Extent& extent) {
  Plan plan;
  for (const OwnerNeeds& owner : input.owners) {
    for (const Need& need : owner.needs) {
      plan.buffers.push_back({.owner = owner.owner,
                              .name = need.name,
                              .life = need.life,
                              .bytes = NeedBytes(need, extent),
                              .first = static_cast<int>(need.first),
                              .last = static_cast<int>(need.last)});
    }
  }
  plan.arena_bytes = PlaceBuffers(plan.buffers, input.placement);
  plan.group_rows = extent.rows;
  plan.block_steps = input.block_steps;
  plan.loss_slice_rows = input.slice_rows;
  const int64_t blocks = (input.worst_lengths.front() + input.block_steps - 1) / input.block_steps;
  plan.stages.push_back({.layers = input.layers, .blocks = blocks, .segment_blocks = blocks});
  return plan;
}

Status SettleBudget(Plan& plan, int64_t base_bytes, int64_t budget_bytes) {
  plan.base_bytes = base_bytes;
  plan.slack_bytes = kSlackBytes;
  plan.budget_bytes = budget_bytes;
  plan.peak_bytes = plan.base_bytes + plan.arena_bytes + plan.slack_bytes;
  plan.min_bytes = plan.full_speed_bytes = plan.peak_bytes;
  plan.feasible = plan.peak_bytes <= budget_bytes;

  plan.owners = ArenaByOwner(plan);
  plan.owners.emplace_back("program", plan.base_bytes);
  plan.owners.emplace_back("slack", plan.slack_bytes);

  if (plan.feasible) return Status::Ok();
  const auto largest = std::max_element(plan.buffers.begin(), plan.buffers.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return Status::OverBudget(
      {.message =
           fmt::format("no plan fits {}; the smallest budget that works is {} ({} bytes); largest buffer: {} of {} with {}",
                       PrettyBytes(budget_bytes), PrettyBytesUp(plan.min_bytes), plan.min_bytes, largest->name, largest->owner,
                       PrettyBytes(largest->bytes)),
       .hint = fmt::format("state --memory {} or more, or lower train.batch_size", plan.min_bytes),
       .min_bytes = plan.min_bytes});
}

}  // namespace plimsoll
