// rows: what several layers do with rows: a loop over them that the threads of the pool share, and whole rows copied.
#pragma once

#include <cstdint>
#include <cstring>

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

// Rows that lie `stride` floats apart, with all that is between them.
inline void CopyRows(float* to, const float* from, int64_t rows, int64_t stride) {
  std::memcpy(to, from, static_cast<size_t>(rows * stride) * sizeof(float));
}

}  // namespace plimsoll
