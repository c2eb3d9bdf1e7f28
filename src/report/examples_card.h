// examples_card: what the model gave for some samples of the last score, beside what was wanted.
//   in:    the examples of a run's last line, which may hold anything, and the names of its numbers
//   out:   HTML: a table, steps side by side, or charts, as the kind of target asks for; empty where there are none
#pragma once

#include <cstdint>
#include <string>

#include "report/run_record.h"

namespace plimsoll {

struct ExamplesView {
  std::string html;
  bool wide = true;  // else it is one chart
};
ExamplesView ExamplesOf(const RunRecord& run);

// Names of the run's classes: of tokens where it learns text, else of labels.
const Names& RunNames(const RunRecord& run);
// A number's name, or the number.
std::string NameIn(const Names& names, int64_t number);

}  // namespace plimsoll
