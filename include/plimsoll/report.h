// report: a run that is over, or still going on, from what it has left in its folder: who owned the memory, where the time
// went,
//   what would make it faster or smaller. It reads files alone; nothing of a training process is needed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

struct ReportRequest {
  std::string run;      // its folder
  std::string against;  // another one, to be shown beside it; empty: none
};

struct RunReport {
  std::string page;  // HTML that needs no other file and no network
  std::string body;  // what is inside of the page's <main>, for one that shows a run that goes on
  int64_t peak_bytes = 0;
  int64_t planned_bytes = 0;
  int64_t budget_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> owners;  // of the planned bytes, largest first
  std::vector<std::string> advice;                      // what would make it faster or smaller; each a sentence
  std::string text;                                     // the same for a terminal
};
Result<RunReport> MakeReport(const ReportRequest& request);

// To `path`, or to report.html in the run folder. Returns where it was written.
Result<std::string> WriteReport(const RunReport& report, const ReportRequest& request, const std::string& path);

}  // namespace plimsoll
