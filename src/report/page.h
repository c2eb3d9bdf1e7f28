// page: one run, or two side by side, as a page that needs no other file.
//   in:    RunRecords and what is advised for the first
//   out:   HTML; inside of <main> what a live page draws again and again
#pragma once

#include <string>
#include <vector>

#include "report/run_record.h"

namespace plimsoll {

std::string PageBody(const std::vector<RunRecord>& runs, const std::vector<std::string>& advice);
std::string WholePage(const std::string& title, const std::string& body);

}  // namespace plimsoll
