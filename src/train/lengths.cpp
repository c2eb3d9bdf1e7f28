#include "train/lengths.h"

#include <algorithm>
#include <bit>

#include "plimsoll/data.h"
#include "train/setup.h"

namespace plimsoll {
namespace {

int64_t SamplesWithin(const Samples& samples, int64_t steps) {
  int64_t within = 0;
  for (int64_t sample = 0; sample < samples.count(); ++sample) within += samples.length(sample) <= steps;
  return within;
}

// The length that a share of the samples does not exceed.
int64_t LengthAt(const Samples& samples, double share, int64_t longest) {
  int64_t low = 1, high = longest;  // by halves: a table of counts could be as long as the longest sample
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (static_cast<double>(SamplesWithin(samples, middle)) >= share * static_cast<double>(samples.count())) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

LengthCounts CountLengths(const Samples& samples) {
  LengthCounts counts{.shortest = samples.length(0), .longest = samples.length(0)};
  double sum = 0.0;
  for (int64_t sample = 0; sample < samples.count(); ++sample) {
    const int64_t length = samples.length(sample);
    counts.shortest = std::min(counts.shortest, length);
    counts.longest = std::max(counts.longest, length);
    sum += static_cast<double>(length);
  }
  counts.mean = sum / static_cast<double>(samples.count());
  const int64_t range = counts.longest - counts.shortest + 1, bins = static_cast<int64_t>(kLengthBins);
  counts.bin_steps = (range + bins - 1) / bins;
  counts.bins = static_cast<size_t>((range + counts.bin_steps - 1) / counts.bin_steps);
  for (int64_t sample = 0; sample < samples.count(); ++sample) {
    ++counts.counts[static_cast<size_t>((samples.length(sample) - counts.shortest) / counts.bin_steps)];
  }
  return counts;
}

// A histogram in doubling bins, and plans for some cuts.
Result<LengthReport> MeasureLengths(const Job& job, Observer* observer) {
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.must_fit = false, .observer = observer});
  if (!setup.ok()) return setup.status();
  const Samples& samples = *(*setup)->samples;
  const LengthCounts counts = CountLengths(samples);
  LengthReport report{.samples = samples.count(), .shortest = counts.shortest, .longest = counts.longest};
  for (int64_t sample = 0; sample < samples.count(); ++sample) {
    const int64_t length = samples.length(sample);
    report.row_steps += length;
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
    PlanInput input = (*setup)->input;
    for (std::vector<int64_t>* lengths : {&input.worst_lengths, &input.worst_lengths_beside}) {
      for (int64_t& length : *lengths) length = std::min(length, steps);
    }
    const Plan plan = FitToBudget(input);
    report.cuts.push_back(
        {.steps = steps,
         .samples_within = static_cast<double>(SamplesWithin(samples, steps)) / static_cast<double>(samples.count()),
         .min_bytes = plan.min_bytes,
         .full_speed_bytes = plan.full_speed_bytes});
  }
  return report;
}

}  // namespace plimsoll
