#include "plan/placement.h"

#include <algorithm>
#include <numeric>

#include "base/bytes.h"
#include "plan/needs.h"

namespace plimsoll {
namespace {

constexpr int kRunBegins = static_cast<int>(StepMoment::Forward), kRunEnds = static_cast<int>(StepMoment::Backward);

// Of two row groups side by side, one may be at any moment of its run while the other is at any of its own.
bool Meet(const PlannedBuffer& a, const PlannedBuffer& b) {
  const bool one_group = a.beside == b.beside;
  const auto first = [&](int moment) { return !one_group && moment <= kRunEnds ? std::min(moment, kRunBegins) : moment; };
  const auto last = [&](int moment) { return !one_group && moment >= kRunBegins ? std::max(moment, kRunEnds) : moment; };
  return first(a.first) <= last(b.last) && first(b.first) <= last(a.last);
}

}  // namespace

int64_t PlaceBuffers(std::vector<PlannedBuffer>& buffers, const PlacementRules& rules) {
  // Largest first; each goes to the lowest gap between the buffers it meets. What is carried from step to step comes before
  // all else: it meets everything, so nothing is lost, and it has the same place in every plan of a job. The second of two row
  // groups comes last: a core fetches what lies behind the lines that it reads, and should not find the other's there.
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto carried = [&](size_t index) { return buffers[index].life == Life::Param || buffers[index].life == Life::Moment; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (carried(a) != carried(b)) return carried(a);
    if (buffers[a].beside != buffers[b].beside) return buffers[b].beside;
    return buffers[a].bytes > buffers[b].bytes;
  });
  const auto extent = [&](const PlannedBuffer& buffer) { return RoundUp(buffer.bytes + rules.guard_bytes, rules.align); };

  int64_t peak = 0;
  std::vector<size_t> placed;  // by offset
  for (const size_t index : order) {
    PlannedBuffer& buffer = buffers[index];
    int64_t offset = 0;
    for (const size_t other_index : placed) {
      const PlannedBuffer& other = buffers[other_index];
      if (rules.guard_bytes == 0 && !Meet(buffer, other)) continue;
      if (offset + extent(buffer) <= other.offset) break;
      offset = std::max(offset, other.offset + extent(other));
    }
    buffer.offset = offset;
    peak = std::max(peak, offset + extent(buffer));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return buffers[a].offset < buffers[b].offset; }),
                  index);
  }
  return peak;
}

}  // namespace plimsoll
