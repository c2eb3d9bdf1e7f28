// rows: what is done with rows in several places: a loop over them that the threads of the pool share, and copies.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/threads.h"
#include "layers/layer.h"

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

// The first rows of a buffer that has some for each row; nothing where it is not there.
inline void ZeroRows(const OwnerMemory& memory, int key, int64_t rows) {
  if (memory.Has(key)) std::memset(memory.Bytes(key), 0, static_cast<size_t>(rows * memory.bytes(key)));
}

// State from and to rows `stride` apart, h and then c.
inline void LoadState(const StateParts& parts, const OwnerMemory& memory, const float* from, int64_t stride, int64_t rows) {
  for (const StatePart& part : {parts.h, parts.c}) {
    if (part.width == 0) continue;
    for (int64_t row = 0; row < rows; ++row) {
      CopyRows(memory.F32(part.state) + row * part.stride, from + row * stride, 1, part.width);
    }
    from += part.width;
  }
}
inline void SaveState(const StateParts& parts, const OwnerMemory& memory, float* to, int64_t stride, int64_t rows) {
  for (const StatePart& part : {parts.h, parts.c}) {
    if (part.width == 0) continue;
    for (int64_t row = 0; row < rows; ++row) {
      CopyRows(to + row * stride, memory.F32(part.state) + row * part.stride, 1, part.width);
    }
    to += part.width;
  }
}

}  // namespace plimsoll
