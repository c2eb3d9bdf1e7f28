// lengths: how long the samples of a job are, and what the job would take if they were cut.
//   in:    a planned job
//   out:   a histogram in doubling bins, and plans for some cuts
#include <algorithm>
#include <bit>

#include "plimsoll/data.h"
#include "train/setup.h"

namespace plimsoll {
namespace {

// The length that a share of the samples does not exceed, by the counts of all lengths up to `longest`.
int64_t LengthAt(const Samples& samples, double share, int64_t longest) {
  int64_t low = 1, high = longest;  // by halves: a table of counts could be as long as the longest sample
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    int64_t within = 0;
    for (int64_t sample = 0; sample < samples.count(); ++sample) within += samples.length(sample) <= middle;
    if (static_cast<double>(within) >= share * static_cast<double>(samples.count())) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

Result<LengthReport> MeasureLengths(const Job& job, Observer* observer) {
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.must_fit = false, .observer = observer});
  if (!setup.ok()) return setup.status();
  const Samples& samples = *(*setup)->samples;
  LengthReport report{.samples = samples.count(), .shortest = samples.length(0)};
  for (int64_t sample = 0; sample < samples.count(); ++sample) {
    const int64_t length = samples.length(sample);
    report.row_steps += length;
    report.shortest = std::min(report.shortest, length);
    report.longest = std::max(report.longest, length);
    const auto bin = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length)) - 1);
    while (report.bins.size() <= bin) {
      const int64_t first = int64_t{1} << report.bins.size();
      report.bins.push_back({.first = first, .last = 2 * first - 1});
    }
    ++report.bins[bin].samples;
    report.bins[bin].row_steps += length;
  }
  while (!report.bins.empty() && report.bins.front().samples == 0) report.bins.erase(report.bins.begin());
  report.median = LengthAt(samples, 0.5, report.longest);
  for (const double share : {0.5, 0.9, 0.95, 0.99, 1.0}) {
    const int64_t steps = LengthAt(samples, share, report.longest);
    if (!report.cuts.empty() && report.cuts.back().steps == steps) continue;
    int64_t within = 0;
    for (int64_t sample = 0; sample < samples.count(); ++sample) within += samples.length(sample) <= steps;
    PlanInput input = (*setup)->input;
    for (int64_t& length : input.worst_lengths) length = std::min(length, steps);
    const Plan plan = FitToBudget(input);
    report.cuts.push_back({.steps = steps,
                           .samples_within = static_cast<double>(within) / static_cast<double>(samples.count()),
                           .min_bytes = plan.min_bytes,
                           .full_speed_bytes = plan.full_speed_bytes});
  }
  return report;
}

}  // namespace plimsoll
