// ctc: connectionist temporal classification as plain loops in the logarithm, forward and backward. The blank is class 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/rows.h"

namespace plimsoll::reference {

// The classes of all places: a blank before, between and behind the labels.
inline std::vector<int32_t> CtcPlaces(const std::vector<int32_t>& labels) {
  std::vector<int32_t> places = {0};
  for (const int32_t label : labels) {
    places.push_back(label);
    places.push_back(0);
  }
  return places;
}

// Steps that a row needs to spell the labels.
inline int64_t CtcStepsOf(const std::vector<int32_t>& labels) {
  auto steps = static_cast<int64_t>(labels.size());
  for (size_t i = 1; i < labels.size(); ++i) steps += labels[i] == labels[i - 1] ? 1 : 0;
  return steps;
}

// A way may go from place `from` to place `to` in one step.
inline bool CtcLeads(const std::vector<int32_t>& places, int64_t from, int64_t to) {
  if (to == from || to == from + 1) return true;
  const auto end = static_cast<size_t>(to);
  return to == from + 2 && places[end] != 0 && places[end] != places[end - 2];
}

template <typename T>
T CtcLogSum(const std::vector<T>& values) {
  const T largest = *std::max_element(values.begin(), values.end());
  if (largest == -std::numeric_limits<T>::infinity()) return largest;
  T sum = 0;
  for (const T value : values) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

template <typename T>
Rows<T> CtcLogSoftmax(const Rows<T>& in) {
  Rows<T> out(in.count, in.width);
  for (int64_t t = 0; t < in.count; ++t) {
    const T sum = CtcLogSum(std::vector<T>(in.row(t), in.row(t) + in.width));
    for (int64_t k = 0; k < in.width; ++k) out.row(t)[k] = in.row(t)[k] - sum;
  }
  return out;
}

// log P(steps up to t, place s at step t).
template <typename T>
Rows<T> CtcAlphas(const Rows<T>& log_p, const std::vector<int32_t>& places) {
  const auto count = static_cast<int64_t>(places.size());
  Rows<T> alpha(log_p.count, count);
  for (int64_t t = 0; t < log_p.count; ++t) {
    for (int64_t s = 0; s < count; ++s) {
      std::vector<T> ways = {t == 0 && s < 2 ? T{0} : -std::numeric_limits<T>::infinity()};
      for (int64_t r = std::max<int64_t>(0, s - 2); r <= s && t > 0; ++r) {
        if (CtcLeads(places, r, s)) ways.push_back(alpha.row(t - 1)[r]);
      }
      alpha.row(t)[s] = CtcLogSum(ways) + log_p.row(t)[places[static_cast<size_t>(s)]];
    }
  }
  return alpha;
}

// log P(labels) from the alphas.
template <typename T>
T CtcLogP(const Rows<T>& alpha) {
  const T* last = alpha.row(alpha.count - 1);
  return CtcLogSum(std::vector<T>{last[alpha.width - 1], last[alpha.width - 2]});
}

template <typename T>
T CtcLoss(const Rows<T>& in, const std::vector<int32_t>& labels) {
  return -CtcLogP(CtcAlphas(CtcLogSoftmax(in), CtcPlaces(labels)));
}

// Adds to d_in, times `weight`.
template <typename T>
void CtcBackward(Rows<T>& d_in, const Rows<T>& in, const std::vector<int32_t>& labels, T weight) {
  const std::vector<int32_t> places = CtcPlaces(labels);
  const auto count = static_cast<int64_t>(places.size());
  const int64_t steps = in.count;
  const Rows<T> log_p = CtcLogSoftmax(in), alpha = CtcAlphas(log_p, places);
  const T log_all = CtcLogP(alpha);
  Rows<T> beta(steps, count);  // log P(steps behind t | place s at step t)
  for (int64_t t = steps - 1; t >= 0; --t) {
    for (int64_t s = 0; s < count; ++s) {
      std::vector<T> ways = {t + 1 == steps && s + 2 >= count ? T{0} : -std::numeric_limits<T>::infinity()};
      for (int64_t r = s; r < std::min(count, s + 3) && t + 1 < steps; ++r) {
        if (CtcLeads(places, s, r)) ways.push_back(log_p.row(t + 1)[places[static_cast<size_t>(r)]] + beta.row(t + 1)[r]);
      }
      beta.row(t)[s] = CtcLogSum(ways);
    }
  }
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t k = 0; k < in.width; ++k) d_in.row(t)[k] += weight * std::exp(log_p.row(t)[k]);
    for (int64_t s = 0; s < count; ++s) {
      d_in.row(t)[places[static_cast<size_t>(s)]] -= weight * std::exp(alpha.row(t)[s] + beta.row(t)[s] - log_all);
    }
  }
}

}  // namespace plimsoll::reference
