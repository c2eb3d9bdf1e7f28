// pooling: all steps of a sample become one row.  in: [T, W], out: [1, W].
//   last, and h of a State: row T - 1.  mean: the sum over the sample's own T steps, divided by T.
//   max: the largest of each column; among equals the first step wins, and the gradient goes to it alone.
#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/options.h"
#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
int64_t FirstLargestStep(const Rows<T>& in, int64_t column) {
  int64_t best = 0;
  for (int64_t t = 1; t < in.count; ++t)
    if (in.row(t)[column] > in.row(best)[column]) best = t;
  return best;
}

template <typename T>
void PoolingForward(Rows<T>& out, const Rows<T>& in, PoolingMode mode) {
  for (int64_t w = 0; w < in.width; ++w) {
    switch (mode) {
      case PoolingMode::Last:
      case PoolingMode::State:
        out.row(0)[w] = in.row(in.count - 1)[w];
        break;
      case PoolingMode::Max:
        out.row(0)[w] = in.row(FirstLargestStep(in, w))[w];
        break;
      case PoolingMode::Mean: {
        T sum = 0;
        for (int64_t t = 0; t < in.count; ++t) sum += in.row(t)[w];
        out.row(0)[w] = sum / static_cast<T>(in.count);
        break;
      }
    }
  }
}

// Adds to d_in.
template <typename T>
void PoolingBackward(Rows<T>& d_in, const Rows<T>& d_out, const Rows<T>& in, PoolingMode mode) {
  for (int64_t w = 0; w < in.width; ++w) {
    const T d = d_out.row(0)[w];
    switch (mode) {
      case PoolingMode::Last:
      case PoolingMode::State:
        d_in.row(in.count - 1)[w] += d;
        break;
      case PoolingMode::Max:
        d_in.row(FirstLargestStep(in, w))[w] += d;
        break;
      case PoolingMode::Mean:
        for (int64_t t = 0; t < in.count; ++t) d_in.row(t)[w] += d / static_cast<T>(in.count);
        break;
    }
  }
}

}  // namespace plimsoll::reference
