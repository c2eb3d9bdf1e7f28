// problem: a training step as a line of text, `CELL tSTEPS bROWS dINPUTS hUNITS [lLAYERS] [vWORDS] [pSIZE] [ragged] [mBUDGET]`.
//   in:    the text
//   out:   its sizes, the lengths of its rows, the useful operations of its step, and the job that runs it
//   never: measures anything. `plimsoll bench`, bench/compare, bench/budget and bench/guard all read problems here.
// The step is cell (l of them, one on the other), last state, Dense(10), cross-entropy and Adam. With v words: Embedding(v, d),
// cell, Dense(v) at every position. p: an LSTM's projection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

struct Problem {
  std::string text;
  std::string cell;  // lstm, gru or rnn
  int64_t steps = 0, rows = 0, inputs = 0, units = 0, layers = 1, words = 0, projected = 0;
  bool ragged = false;
  std::string budget = "auto";

  int64_t classes() const;
  int64_t output_width() const { return projected > 0 ? projected : units; }
  // Without ragged all rows have `steps`. Else lengths are log-normal, the longest is `steps` and the mean a quarter of it, as
  // far as so few rows can have that mean.
  std::vector<int64_t> Lengths() const;
  int64_t RowSteps() const;
  // Multiplications and additions that any trainer has to do: gates, and Dense(v) with words. A first layer on features needs
  // no gradient of its inputs.
  double OperationsPerRowStep() const;
  double Operations() const { return OperationsPerRowStep() * static_cast<double>(RowSteps()); }
};

Result<Problem> ParseProblem(const std::string& text);

Job JobOf(const Problem& problem, int threads);

}  // namespace plimsoll
