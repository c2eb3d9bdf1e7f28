// companion: the programs beside this one: what reads what a run has left behind, and what measures speed. They are programs of
//   their own so that the pages of what draws, serves and times never count against the budget of what trains.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"

// Becomes that program; returns, with an exit code, only where it cannot be started.
int BecomeCompanion(const char* name, const std::vector<std::string>& words, bool json);

// The last thing that a run does: this process becomes the one that writes report.html, and ends with `code`. Nothing is
// allocated beside what trains, because nothing of it is left. Returns `code` where there is no run folder to report on.
int EndWithReport(const std::string& run_folder, int code, const Arguments& arguments);
