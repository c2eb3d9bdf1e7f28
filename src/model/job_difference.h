// job_difference: how two jobs differ, key by key.
//   in:    two complete jobs
//   out:   the keys whose values differ, with both values as a job file has them
//   never: judges whether a difference matters
#pragma once

#include <string>
#include <vector>

#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct JobDifference {
  std::string key;  // "train.epochs", "model.layers[1].units"
  std::string was;
  std::string is;
};
std::vector<JobDifference> DifferencesOf(const Job& was, const Job& is);

// The job of a text that JobAsToml has made; `shown_as` names it in messages.
Result<Job> JobFromText(const std::string& text, const std::string& shown_as);

}  // namespace plimsoll
