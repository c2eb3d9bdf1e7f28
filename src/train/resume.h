// resume: where a run goes on, and whether the job is still the one that got there.
//   in:    what was asked ("last", "best", a path), the run folder
//   out:   a generation that verifies, and why newer ones were passed over; or a refusal (Data; Usage for a changed job)
//   never: follows the links of a folder: generations are looked at one by one, newest first
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plimsoll/options.h"
#include "plimsoll/status.h"
#include "train/run_state.h"

namespace plimsoll {

struct ResumePoint {
  std::string file;
  uint64_t generation = 0;
  uint64_t newest = 0;  // largest number in its folder, damaged ones included
  SnapshotFront front;
  std::vector<std::string> passed_over;  // "000007.plimsoll: block 3: its checksum is wrong"
  std::string folder() const;            // that the file lies in
};
// which: "last" or "best" of the run folder `out`; else a run folder, its snapshots or one file.
Result<ResumePoint> FindResumePoint(const std::string& which, const std::string& out);

// What the job of `setup` has changed, of what matters.
struct ChangedJob {
  std::vector<std::string> harmless;  // "train.epochs was 5, is 7": goes on with the new value
  bool rate = false;                  // of the learning rate; a plateau begins anew
};
// Refuses what cannot go on, and what is harmless too unless it is allowed.
Result<ChangedJob> CheckSameJob(const ResumePoint& point, const Setup& setup, bool allow_changes);

// Weights, moments, averages and State of a snapshot.
Status LoadTensors(const std::string& file, const RunContent& content, std::span<std::byte> buffer);

}  // namespace plimsoll
