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

std::vector<PlannedBuffer> BuffersOf(const PlanInput& input, const Extent& extent) {
  std::vector<PlannedBuffer> buffers;
  for (const OwnerNeeds& owner : input.owners) {
    for (const Need& need : owner.needs) {
      buffers.push_back({.owner = owner.owner,
                         .name = need.name,
                         .life = need.life,
                         .bytes = NeedBytes(need, extent),
                         .first = static_cast<int>(need.first),
                         .last = static_cast<int>(need.last)});
    }
  }
  return buffers;
}

int64_t PeakWith(const PlanInput& input, const Recompute& recompute) {
  std::vector<PlannedBuffer> buffers = BuffersOf(input, ExtentOf(input, recompute));
  return input.base_bytes + kSlackBytes + PlaceBuffers(buffers, input.placement);
}

int64_t SegmentsOf(int64_t blocks, int64_t segment_blocks) { return (blocks + segment_blocks - 1) / segment_blocks; }

// Forward runs of all blocks, counted on the schedule itself: the last segment may be short.
int64_t ForwardRuns(int64_t blocks, const Recompute& recompute) {
  Schedule schedule(recompute, blocks);
  schedule.Start(blocks);
  int64_t runs = 0;
  for (Action action; schedule.Next(action);) {
    if (action.kind == Action::Kind::Advance || action.kind == Action::Kind::Record) runs += action.blocks;
  }
  return runs;
}

// The largest number of slots in [0, most] for which holds(slots), given that holds(0) and that it never comes back.
template <typename Holds>
int64_t MostSlots(int64_t most, const Holds& holds) {
  int64_t low = 0;
  while (low < most) {
    const int64_t middle = low + (most - low + 1) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      most = middle - 1;
    }
  }
  return low;
}

}  // namespace

int64_t BlocksOfWorstGroup(const PlanInput& input) { return SegmentsOf(input.worst_lengths.front(), input.block_steps); }

Extent ExtentOf(const PlanInput& input, const Recompute& recompute) {
  const std::vector<int64_t>& lengths = input.worst_lengths;
  PLIMSOLL_CHECK(!lengths.empty() && std::is_sorted(lengths.rbegin(), lengths.rend()), "rows come longest first");
  Extent extent{.rows = static_cast<int64_t>(lengths.size()), .slice_rows = input.slice_rows, .slots = recompute.slots};
  for (const int64_t length : lengths) {  // rows only end: no segment is larger than the first
    extent.group_row_steps += length;
    extent.block_row_steps += std::min(length, input.block_steps);
    extent.kept_row_steps += std::min(length, input.block_steps * recompute.segment_blocks);
    extent.kept_border_rows += std::min(SegmentsOf(length, input.block_steps), recompute.segment_blocks);
  }
  return extent;
}

Plan PlanWith(const PlanInput& input, const Recompute& recompute) {
  const Extent extent = ExtentOf(input, recompute);
  Plan plan;
  plan.buffers = BuffersOf(input, extent);
  plan.arena_bytes = PlaceBuffers(plan.buffers, input.placement);
  plan.group_rows = extent.rows;
  plan.block_steps = input.block_steps;
  plan.loss_slice_rows = input.slice_rows;
  plan.base_bytes = input.base_bytes;
  plan.slack_bytes = kSlackBytes;
  plan.budget_bytes = input.budget_bytes;
  plan.peak_bytes = plan.base_bytes + plan.arena_bytes + plan.slack_bytes;
  plan.min_bytes = plan.full_speed_bytes = plan.peak_bytes;
  plan.feasible = plan.peak_bytes <= plan.budget_bytes;
  plan.owners = ArenaByOwner(plan);
  plan.owners.emplace_back("program", plan.base_bytes);
  plan.owners.emplace_back("slack", plan.slack_bytes);

  const int64_t blocks = BlocksOfWorstGroup(input);
  PlannedStage stage{
      .layers = input.layers, .blocks = blocks, .segment_blocks = recompute.segment_blocks, .slots = recompute.slots};
  if (!input.forward_only) {
    stage.repeats = CostOf(SegmentsOf(blocks, recompute.segment_blocks), recompute.slots).repeats;
    plan.recompute_factor = static_cast<double>(ForwardRuns(blocks, recompute)) / static_cast<double>(blocks);
  }
  plan.stages.push_back(std::move(stage));
  return plan;
}

Plan FitToBudget(const PlanInput& input) {
  if (input.forward_only) return PlanWith(input, {.segment_blocks = 1, .slots = 0});
  const int64_t blocks = BlocksOfWorstGroup(input);
  const Recompute everything{.segment_blocks = blocks, .slots = 0};
  Recompute smallest = everything, best = everything;
  int64_t smallest_peak = PeakWith(input, everything), best_runs = blocks;
  const int64_t full_speed = smallest_peak;
  bool fits = full_speed <= input.budget_bytes;

  // Every length of a segment that gives another number of segments. More slots than segments would lie idle.
  for (int64_t length = SegmentsOf(blocks, 2); length >= 1 && blocks > 1; --length) {
    const int64_t segments = SegmentsOf(blocks, length);
    length = SegmentsOf(blocks, segments);  // the shortest that gives as many
    const auto few_repeats = [&](int64_t slots) { return CostOf(segments, slots).repeats <= input.max_repeats; };
    if (!few_repeats(segments - 1)) continue;
    // The fewest slots that keep the repeats within their limit, and the most that fit.
    int64_t fewest = 0;
    while (!few_repeats(fewest)) ++fewest;
    const int64_t peak = PeakWith(input, {.segment_blocks = length, .slots = fewest});
    if (peak < smallest_peak) {
      smallest_peak = peak;
      smallest = {.segment_blocks = length, .slots = fewest};
    }
    if (full_speed <= input.budget_bytes || peak > input.budget_bytes) continue;
    const int64_t slots = fewest + MostSlots(segments - 1 - fewest, [&](int64_t more) {
                            return PeakWith(input, {.segment_blocks = length, .slots = fewest + more}) <= input.budget_bytes;
                          });
    const int64_t runs = ForwardRuns(blocks, {.segment_blocks = length, .slots = slots});
    if (!fits || runs < best_runs) {
      best = {.segment_blocks = length, .slots = slots};
      best_runs = runs;
      fits = true;
    }
  }
  Plan plan = PlanWith(input, fits ? best : smallest);
  plan.min_bytes = smallest_peak;
  plan.full_speed_bytes = full_speed;
  return plan;
}

Recompute RecomputeOf(const Plan& plan) {
  return {.segment_blocks = plan.stages.front().segment_blocks, .slots = plan.stages.front().slots};
}

Status CheckFeasible(const Plan& plan) {
  if (plan.feasible) return Status::Ok();
  const auto largest = std::max_element(plan.buffers.begin(), plan.buffers.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return Status::OverBudget(
      {.message =
           fmt::format("no plan fits {}; the smallest budget that works is {} ({} bytes); its largest buffer: {} of {} with {}",
                       PrettyBytes(plan.budget_bytes), PrettyBytesUp(plan.min_bytes), plan.min_bytes, largest->name,
                       largest->owner, PrettyBytes(largest->bytes)),
       .hint = fmt::format("state --memory {} or more, or lower train.batch_size", plan.min_bytes),
       .min_bytes = plan.min_bytes});
}

}  // namespace plimsoll
