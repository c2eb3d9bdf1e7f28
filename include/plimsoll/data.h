// data: looking at data before a job is trained on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// A complete job for a file of text, made from what is given: at least the task and data.train. What is given stays; the rest
// is chosen by a look at the first records.
struct ChosenJob {
  Job job;
  std::vector<std::string> reasons;  // what was chosen and why, a line each
};
Result<ChosenJob> ChooseJob(const std::vector<JobOverride>& given);

// How long the samples of a job are, and what that means for memory.
struct LengthReport {
  int64_t samples = 0;  // of the training data
  int64_t row_steps = 0;
  int64_t shortest = 0;
  int64_t median = 0;
  int64_t longest = 0;
  struct Bin {
    int64_t first = 0, last = 0;  // lengths
    int64_t samples = 0;
    int64_t row_steps = 0;
  };
  std::vector<Bin> bins;
  // What the job would take if samples were cut to so many steps; the last one cuts none.
  struct Cut {
    int64_t steps = 0;
    double samples_within = 0.0;  // share that stays whole
    int64_t min_bytes = 0;        // the smallest budget
    int64_t full_speed_bytes = 0;
  };
  std::vector<Cut> cuts;
};
Result<LengthReport> MeasureLengths(const Job& job, Observer* observer);
std::string LengthsText(const LengthReport& report, int columns);
std::string LengthsJson(const LengthReport& report);

}  // namespace plimsoll
