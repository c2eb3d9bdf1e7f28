// series_samples: windows over series that lie in a Store. A sample is `window` rows; its target the `horizon` rows behind
// them.
//   in:    rows of raw values, where targets are known, the scale of each column
//   out:   Samples; a window is read when it is asked for
//   never: writes a window down; lets one reach over the end of a series, or into missing targets
// Features of a step: the inputs, scaled, 0 where a value is missing; behind them a 1 or 0 for each input that misses some:
// known or not; then what categories and dates give (side_columns.h). The target: `horizon` times the scaled target columns.
#pragma once

#include <memory>
#include <string>

#include "data/side_columns.h"
#include "data/store.h"

namespace plimsoll {

// Rows [first, end) of the series [series_first, series_end) whose targets are all known, as runs.bin has them.
struct KnownRun {
  int64_t first = 0, end = 0, series_first = 0, series_end = 0;
};

// First row of a series, of `rows`, that is kept for validation.
int64_t SeriesBorder(int64_t rows, double valid_share);

Result<std::unique_ptr<Samples>> OpenSeries(const std::string& folder, const StoreFacts& facts, const StoreView& view,
                                            SideColumns sides);

}  // namespace plimsoll
