// embedding: row `id` of the table for every step.  out: [T, E], table: [ids, E].
#pragma once

#include <cstdint>
#include <vector>

#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
void EmbeddingForward(Rows<T>& out, const std::vector<int32_t>& ids, const std::vector<T>& table) {
  for (int64_t t = 0; t < out.count; ++t)
    for (int64_t e = 0; e < out.width; ++e) out.row(t)[e] = table[ids[t] * out.width + e];
}

// Adds to d_table; ids have no gradient.
template <typename T>
void EmbeddingBackward(std::vector<T>& d_table, const Rows<T>& d_out, const std::vector<int32_t>& ids) {
  for (int64_t t = 0; t < d_out.count; ++t)
    for (int64_t e = 0; e < d_out.width; ++e) d_table[ids[t] * d_out.width + e] += d_out.row(t)[e];
}

}  // namespace plimsoll::reference
