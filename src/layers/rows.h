// rows: a loop over rows that the threads of the pool share; for layers that treat each row alone.
#pragma once

#include "base/threads.h"

namespace plimsoll {

// Runs function(first row, rows) on every part's share of the rows.
template <typename Function>
void ForRows(ThreadPool& pool, int64_t rows, const Function& function) {
  pool.Run([&](int part) {
    const Share share = ShareOf(rows, part, pool.size());
    if (share.end > share.begin) function(share.begin, share.end - share.begin);
  });
}

}  // namespace plimsoll
