#include "plan/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace plimsoll {
namespace {

constexpr int64_t kMany = int64_t{1} << 40;  // more segments than any group has

// Segments that `places` for State (the start counts as one) can reverse when none is run on more than `repeats` times:
// the binomial coefficient of places + repeats over places, capped.
int64_t Reach(int64_t places, int64_t repeats) {
  if (repeats < 0 || places < 0) return 0;
  int64_t reach = 1;
  for (int64_t i = 1; i <= std::min(places, repeats); ++i) {
    reach = reach * (std::max(places, repeats) + i) / i;
    if (reach > kMany) return kMany;
  }
  return reach;
}

int64_t RepeatsFor(int64_t segments, int64_t places) {
  int64_t repeats = 0;
  while (Reach(places, repeats) < segments) ++repeats;
  return repeats;
}

// Where to keep State next, counted from the start of the span.
int64_t SplitOf(int64_t segments, int64_t places) {
  const int64_t repeats = RepeatsFor(segments, places);
  return std::max({int64_t{1}, Reach(places, repeats - 2), segments - Reach(places - 1, repeats)});
}

}  // namespace

RecomputeCost CostOf(int64_t segments, int64_t slots) {
  const int64_t places = slots + 1, repeats = RepeatsFor(segments, places);
  return {.forward_runs = segments + repeats * segments - Reach(places + 1, repeats - 1), .repeats = repeats};
}

Schedule::Schedule(const Recompute& recompute, int64_t most_blocks) : recompute_(recompute) {
  PLIMSOLL_CHECK(recompute.segment_blocks >= 1 && recompute.slots >= 0, "a segment has blocks");
  const int64_t segments = (most_blocks + recompute.segment_blocks - 1) / recompute.segment_blocks;
  spans_.reserve(static_cast<size_t>(std::min(recompute.slots, segments) + 2));
}

void Schedule::Start(int64_t blocks) {
  const int64_t segments = (blocks + recompute_.segment_blocks - 1) / recompute_.segment_blocks;
  missing_ = segments * recompute_.segment_blocks - blocks;
  spans_.clear();
  spans_.push_back({0, segments, kStartSlot});
  state_at_ = 0;
  recorded_ = false;
}

int64_t Schedule::FirstBlock(int64_t segment) const {
  return std::max<int64_t>(0, segment * recompute_.segment_blocks - missing_);
}

Action Schedule::OnBlocks(Action::Kind kind, int64_t begin_segment, int64_t end_segment) const {
  const int64_t first = FirstBlock(begin_segment);
  return {.kind = kind, .first_block = first, .blocks = FirstBlock(end_segment) - first};
}

bool Schedule::Next(Action& action) {
  while (!spans_.empty() && spans_.back().begin == spans_.back().end) spans_.pop_back();
  if (spans_.empty()) return false;
  Span& span = spans_.back();
  const int64_t segments = span.end - span.begin;
  if (recorded_) {
    action = OnBlocks(Action::Kind::Reverse, span.end - 1, span.end);
    --span.end;
    recorded_ = false;
    state_at_ = -1;
    return true;
  }
  // Slots below this span's are taken by the spans around it.
  const int64_t used = static_cast<int64_t>(spans_.size()) - 1;
  const int64_t places = recompute_.slots - used + 1;
  if (state_at_ < span.begin || state_at_ >= span.end) {
    action = {.kind = Action::Kind::Restore, .first_block = FirstBlock(span.begin), .slot = span.slot};
    state_at_ = span.begin;
    return true;
  }
  if (state_at_ > span.begin && places > 1) {  // it has advanced to the split: from here on a span of its own
    const int64_t begin = state_at_, end = span.end;
    action = {.kind = Action::Kind::Keep, .first_block = FirstBlock(begin), .slot = used};
    span.end = begin;
    spans_.push_back({begin, end, used});
    return true;
  }
  if (state_at_ == span.end - 1) {
    action = OnBlocks(Action::Kind::Record, span.end - 1, span.end);
    state_at_ = span.end;
    recorded_ = true;
    return true;
  }
  const int64_t target = places > 1 ? span.begin + SplitOf(segments, places) : span.end - 1;
  action = OnBlocks(Action::Kind::Advance, state_at_, target);
  state_at_ = target;
  return true;
}

}  // namespace plimsoll
