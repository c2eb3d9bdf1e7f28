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

constexpr int64_t kGroupStep = 8;  // rows less side by side: smaller row groups are tried in these

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

// All buffers of the plan, without bytes.
std::vector<PlannedBuffer> BuffersOf(const PlanInput& input) {
  std::vector<PlannedBuffer> buffers;
  for (const OwnerNeeds& owner : input.owners) {
    for (const Need& need : owner.needs) {
      buffers.push_back({.owner = owner.owner,
                         .name = need.name,
                         .life = need.life,
                         .first = static_cast<int>(need.first),
                         .last = static_cast<int>(need.last),
                         .beside = owner.beside});
    }
  }
  return buffers;
}

void SetBytes(std::vector<PlannedBuffer>& buffers, const PlanInput& input, const Cut& cut) {
  const Extent first = ExtentOf(input, cut), beside = ExtentOf(input, cut, /*beside=*/true);
  auto buffer = buffers.begin();
  for (const OwnerNeeds& owner : input.owners) {
    for (const Need& need : owner.needs) (buffer++)->bytes = NeedBytes(need, owner.beside ? beside : first);
  }
}

int64_t OwnRows(const PlanInput& input) { return static_cast<int64_t>(input.worst_lengths.size()); }
int64_t FewestRows(const PlanInput& input) { return std::min(input.fewest_rows / input.groups_abreast, OwnRows(input)); }
int64_t FewerRows(const PlanInput& input, int64_t rows) {
  const int64_t step = kGroupStep / input.groups_abreast;
  return (rows - 1) / step * step;
}

int64_t SegmentsOf(int64_t blocks, int64_t segment_blocks) { return (blocks + segment_blocks - 1) / segment_blocks; }

// Forward runs of all blocks, counted on the schedule itself: the first segment may be short.
int64_t ForwardRuns(int64_t blocks, const Recompute& recompute) {
  Schedule schedule(recompute, blocks);
  schedule.Start(blocks);
  int64_t runs = 0;
  for (Action action; schedule.Next(action);) {
    if (action.kind == Action::Kind::Advance || action.kind == Action::Kind::Record) runs += action.blocks;
  }
  return runs;
}

double RecomputeFactor(int64_t blocks, const Recompute& recompute) {
  return static_cast<double>(ForwardRuns(blocks, recompute)) / static_cast<double>(blocks);
}

// The largest number in [0, most] for which `holds`, given that it holds for 0 and never comes back.
template <typename Holds>
int64_t Most(int64_t most, const Holds& holds) {
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

// What the cuts of one size of row groups come to.
struct Fit {
  bool fits = false;
  Cut best;      // the fewest forward runs of those that fit
  Cut smallest;  // of all
  int64_t smallest_bytes = 0;
  int64_t full_speed_bytes = 0;  // everything kept
};

// Tries cuts; the list of buffers is made once.
class Cutter {
 public:
  explicit Cutter(const PlanInput& input) : input_(input), blocks_(BlocksOfWorstGroup(input)), buffers_(BuffersOf(input)) {}

  Fit FitGroup(int64_t rows, int64_t budget_bytes) {
    Fit fit;
    fit.best = fit.smallest = {.group_rows = rows, .recompute = {.segment_blocks = input_.forward_only ? 1 : blocks_}};
    fit.smallest_bytes = fit.full_speed_bytes = Peak(fit.best);
    fit.fits = fit.full_speed_bytes <= budget_bytes;
    if (input_.forward_only) return fit;
    int64_t best_runs = blocks_;
    const auto offer = [&](const Recompute& recompute) {
      const int64_t runs = ForwardRuns(blocks_, recompute);
      if (fit.fits && runs >= best_runs) return;
      fit.best.recompute = recompute;
      best_runs = runs;
      fit.fits = true;
    };
    const auto note_smallest = [&](const Cut& cut, int64_t peak) {
      if (peak >= fit.smallest_bytes) return;
      fit.smallest = cut;
      fit.smallest_bytes = peak;
    };
    const bool slower_wanted = fit.full_speed_bytes > budget_bytes;  // with everything kept nothing is faster

    // Every length of a segment that gives another number of segments. More slots than segments would lie idle.
    for (int64_t length = blocks_ - 1; length >= 1; --length) {
      const int64_t segments = SegmentsOf(blocks_, length);
      const int64_t longest = length;
      length = SegmentsOf(blocks_, segments);  // the shortest that gives as many
      const auto cut_with = [&](int64_t slots, bool spilled) {
        return Cut{.group_rows = rows, .recompute = {.segment_blocks = length, .slots = slots, .spilled = spilled}};
      };
      // A longer segment costs no slot and runs again less: the last one is recorded at once.
      const auto offer_longest = [&](Cut cut) {
        const int64_t more = Most(longest - length, [&](int64_t longer) {
          Cut with = cut;
          with.recompute.segment_blocks += longer;
          return Peak(with) <= budget_bytes;
        });
        cut.recompute.segment_blocks += more;
        offer(cut.recompute);
      };
      const auto few_repeats = [&](int64_t slots) { return CostOf(segments, slots).repeats <= input_.max_repeats; };
      if (!few_repeats(segments - 1)) continue;
      // The fewest slots that keep the repeats within their limit, and the most that fit.
      int64_t fewest = 0;
      while (!few_repeats(fewest)) ++fewest;
      const int64_t peak = Peak(cut_with(fewest, false));
      note_smallest(cut_with(fewest, false), peak);
      if (slower_wanted && peak <= budget_bytes) {
        const int64_t more =
            Most(segments - 1 - fewest, [&](int64_t slots) { return Peak(cut_with(fewest + slots, false)) <= budget_bytes; });
        offer_longest(cut_with(fewest + more, false));
      }
      if (!input_.spill || segments - 1 <= kSpillWindow) continue;
      // In a file there is room for a slot at every border.
      const Cut spilled = cut_with(segments - 1, true);
      const int64_t spilled_peak = Peak(spilled);
      note_smallest(spilled, spilled_peak);
      if (slower_wanted && spilled_peak <= budget_bytes) offer_longest(spilled);
    }
    return fit;
  }

 private:
  int64_t Peak(const Cut& cut) {
    SetBytes(buffers_, input_, cut);
    return input_.base_bytes + kSlackBytes + PlaceBuffers(buffers_, input_.placement);
  }

  const PlanInput& input_;
  int64_t blocks_;
  std::vector<PlannedBuffer> buffers_;
};

Plan FitWithBase(const PlanInput& input) {
  Cutter cutter(input);
  const int64_t own_rows = OwnRows(input);
  const Fit own = cutter.FitGroup(own_rows, input.budget_bytes);
  Fit best = own, smallest = own;
  for (int64_t rows = FewerRows(input, own_rows); rows >= FewestRows(input); rows = FewerRows(input, rows)) {
    const Fit fit = cutter.FitGroup(rows, best.fits ? 0 : input.budget_bytes);
    if (!best.fits && fit.fits) best = fit;
    if (fit.smallest_bytes < smallest.smallest_bytes) smallest = fit;
  }
  Plan plan = PlanWith(input, best.fits ? best.best : smallest.smallest);
  plan.min_bytes = smallest.smallest_bytes;
  plan.own_groups_bytes = own.smallest_bytes;
  plan.full_speed_bytes = own.full_speed_bytes;
  if (!input.forward_only) {
    plan.min_extra_time = ExtraTime(input.work, RecomputeFactor(BlocksOfWorstGroup(input), smallest.smallest.recompute));
  }
  return plan;
}

}  // namespace

int64_t BlocksOfWorstGroup(const PlanInput& input) { return SegmentsOf(input.worst_lengths.front(), input.block_steps); }

Extent ExtentOf(const PlanInput& input, const Cut& cut, bool beside) {
  PLIMSOLL_CHECK(cut.group_rows >= 1 && cut.group_rows <= OwnRows(input), "a group has rows, at most the job's own");
  const std::vector<int64_t>& lengths = beside ? input.worst_lengths_beside : input.worst_lengths;
  PLIMSOLL_CHECK(std::is_sorted(lengths.rbegin(), lengths.rend()), "rows come longest first");
  Extent extent{.rows = cut.group_rows,
                .slots = cut.recompute.spilled ? std::min(kSpillWindow, cut.recompute.slots) : cut.recompute.slots};
  const auto rows = std::min(extent.rows, static_cast<int64_t>(lengths.size()));
  for (int64_t row = 0; row < rows; ++row) {  // rows only end: no segment is larger than the first
    const int64_t length = lengths[static_cast<size_t>(row)];
    extent.group_row_steps += length;
    extent.block_row_steps += std::min(length, input.block_steps);
    extent.kept_row_steps += std::min(length, input.block_steps * cut.recompute.segment_blocks);
    extent.kept_border_rows += std::min(SegmentsOf(length, input.block_steps), cut.recompute.segment_blocks);
  }
  extent.slice_rows = std::min(input.slice_rows, input.slice_steps ? extent.block_row_steps : extent.rows);
  return extent;
}

Plan PlanWith(const PlanInput& input, const Cut& cut) {
  const Extent extent = ExtentOf(input, cut);
  Plan plan;
  plan.buffers = BuffersOf(input);
  SetBytes(plan.buffers, input, cut);
  plan.arena_bytes = PlaceBuffers(plan.buffers, input.placement);
  plan.group_rows = extent.rows;
  plan.groups_abreast = input.groups_abreast;
  plan.rounding_only_change = extent.rows < OwnRows(input);
  plan.block_steps = input.block_steps;
  plan.loss_slice_rows = extent.slice_rows;
  plan.base_bytes = input.base_bytes;
  plan.slack_bytes = kSlackBytes;
  plan.budget_bytes = input.budget_bytes;
  plan.peak_bytes = plan.base_bytes + plan.arena_bytes + plan.slack_bytes;
  plan.min_bytes = plan.own_groups_bytes = plan.full_speed_bytes = plan.peak_bytes;
  plan.feasible = plan.peak_bytes <= plan.budget_bytes;
  plan.owners = ArenaByOwner(plan);
  plan.owners.emplace_back("program", plan.base_bytes);
  plan.owners.emplace_back("slack", plan.slack_bytes);

  const int64_t blocks = BlocksOfWorstGroup(input);
  const Recompute& recompute = cut.recompute;
  PlannedStage stage{.layers = input.layers,
                     .blocks = blocks,
                     .segment_blocks = recompute.segment_blocks,
                     .slots = recompute.slots,
                     .spilled = recompute.spilled};
  if (!input.forward_only) {
    stage.repeats = CostOf(SegmentsOf(blocks, recompute.segment_blocks), recompute.slots).repeats;
    plan.recompute_factor = RecomputeFactor(blocks, recompute);
    plan.extra_time = plan.min_extra_time = ExtraTime(input.work, plan.recompute_factor);
    plan.seconds_per_epoch = EpochSeconds(input.work, plan.recompute_factor, input.operations_per_second);
  }
  plan.stages.push_back(std::move(stage));
  return plan;
}

Plan FitToBudget(const PlanInput& input) {
  const auto as_asked = [](const Plan& plan) { return plan.feasible && !plan.rounding_only_change; };
  Plan plan = FitWithBase(input);
  if (as_asked(plan) || input.lowest_base_bytes == 0) return plan;
  PlanInput lowest = input;
  lowest.base_bytes = input.lowest_base_bytes;
  Plan with_less = FitWithBase(lowest);
  return as_asked(with_less) || (with_less.feasible && !plan.feasible) ? with_less : plan;
}

int64_t SmallestBudget(const PlanInput& input) {
  Cutter cutter(input);
  int64_t smallest = INT64_MAX;
  for (int64_t rows = OwnRows(input); rows >= FewestRows(input); rows = FewerRows(input, rows)) {
    smallest = std::min(smallest, cutter.FitGroup(rows, 0).smallest_bytes);
  }
  return smallest;
}

Recompute RecomputeOf(const Plan& plan) {
  const PlannedStage& stage = plan.stages.front();
  return {.segment_blocks = stage.segment_blocks, .slots = stage.slots, .spilled = stage.spilled};
}

Status CheckFeasible(const Plan& plan) {
  if (plan.feasible) return Status::Ok();
  const auto owner = std::max_element(plan.owners.begin(), plan.owners.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto largest = std::max_element(plan.buffers.begin(), plan.buffers.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  std::string hint = fmt::format("state --memory {} or more", plan.min_bytes);
  for (const PlanChange& change : plan.changes) {
    hint += fmt::format(", or {} (then {})", change.change, PrettyBytesUp(change.min_bytes));
  }
  return Status::OverBudget(
      {.message = fmt::format("no plan fits {}; the smallest budget that works is {} ({} bytes, about +{:.0f} % time); most of "
                              "it: {} with {}; the largest buffer: {} of {} with {}",
                              PrettyBytes(plan.budget_bytes), PrettyBytesUp(plan.min_bytes), plan.min_bytes,
                              100.0 * plan.min_extra_time, owner->first, PrettyBytes(owner->second), largest->name,
                              largest->owner, PrettyBytes(largest->bytes)),
       .hint = hint,
       .min_bytes = plan.min_bytes});
}

}  // namespace plimsoll
