// merge: rows side by side, or element by element, as plain loops.
#pragma once

#include <cstddef>
#include <vector>

#include "plimsoll/options.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
void MergeForward(Rows<T>& out, const std::vector<const Rows<T>*>& ins, MergeMode mode) {
  for (int64_t r = 0; r < out.count; ++r) {
    T* y = out.row(r);
    int64_t column = 0;
    for (size_t i = 0; i < ins.size(); ++i) {
      const T* x = ins[i]->row(r);
      for (int64_t u = 0; u < ins[i]->width; ++u) {
        T& to = y[column + u];
        to = i == 0 || mode == MergeMode::Concatenate ? x[u] : mode == MergeMode::Add ? to + x[u] : to * x[u];
      }
      if (mode == MergeMode::Concatenate) column += ins[i]->width;
    }
  }
}

// d_ins are added to; null where nobody wants them.
template <typename T>
void MergeBackward(const std::vector<Rows<T>*>& d_ins, const Rows<T>& d_out, const std::vector<const Rows<T>*>& ins,
                   MergeMode mode) {
  for (int64_t r = 0; r < d_out.count; ++r) {
    int64_t column = 0;
    for (size_t i = 0; i < ins.size(); ++i) {
      for (int64_t u = 0; u < ins[i]->width && d_ins[i] != nullptr; ++u) {
        T slope = 1;
        for (size_t other = 0; other < ins.size() && mode == MergeMode::Multiply; ++other) {
          if (other != i) slope *= ins[other]->row(r)[u];
        }
        d_ins[i]->row(r)[u] += d_out.row(r)[column + u] * slope;
      }
      if (mode == MergeMode::Concatenate) column += ins[i]->width;
    }
  }
}

}  // namespace plimsoll::reference
