// crf: a linear-chain conditional random field as plain loops in the logarithm, forward and backward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "reference/rows.h"

namespace plimsoll::reference {

template <typename T>
struct CrfScores {
  const std::vector<T>& transitions;  // [from][to]
  const std::vector<T>& start;
  const std::vector<T>& end;
  T Between(int64_t from, int64_t to) const {
    return transitions[static_cast<size_t>(from) * start.size() + static_cast<size_t>(to)];
  }
};

template <typename T>
T LogSumExp(const std::vector<T>& values) {
  const T largest = *std::max_element(values.begin(), values.end());
  T sum = 0;
  for (const T value : values) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

// The alphas of every step, and with `normal` each step's as a distribution (as the layer gives them).
template <typename T>
Rows<T> CrfAlphas(const Rows<T>& in, const CrfScores<T>& scores, bool normal) {
  const int64_t tags = in.width;
  Rows<T> alpha(in.count, tags);
  for (int64_t t = 0; t < in.count; ++t) {
    std::vector<T> own(static_cast<size_t>(tags));
    for (int64_t k = 0; k < tags; ++k) {
      std::vector<T> ways;
      for (int64_t j = 0; j < tags && t > 0; ++j) ways.push_back(alpha.row(t - 1)[j] + scores.Between(j, k));
      own[static_cast<size_t>(k)] = in.row(t)[k] + (t == 0 ? scores.start[static_cast<size_t>(k)] : LogSumExp(ways));
    }
    const T constant = normal ? LogSumExp(own) : 0;
    for (int64_t k = 0; k < tags; ++k) alpha.row(t)[k] = own[static_cast<size_t>(k)] - constant;
  }
  return alpha;
}

template <typename T>
T CrfLogZ(const Rows<T>& alpha, const CrfScores<T>& scores) {
  std::vector<T> last;
  for (int64_t k = 0; k < alpha.width; ++k) last.push_back(alpha.row(alpha.count - 1)[k] + scores.end[static_cast<size_t>(k)]);
  return LogSumExp(last);
}

template <typename T>
T CrfScore(const Rows<T>& in, const CrfScores<T>& scores, const std::vector<int32_t>& tags) {
  T score = scores.start[static_cast<size_t>(tags.front())] + scores.end[static_cast<size_t>(tags.back())];
  for (size_t t = 0; t < tags.size(); ++t) {
    score += in.row(static_cast<int64_t>(t))[tags[t]];
    if (t > 0) score += scores.Between(tags[t - 1], tags[t]);
  }
  return score;
}

// The negative log-likelihood of the tags.
template <typename T>
T CrfLoss(const Rows<T>& in, const CrfScores<T>& scores, const std::vector<int32_t>& tags) {
  return CrfLogZ(CrfAlphas(in, scores, false), scores) - CrfScore(in, scores, tags);
}

// Everything is added to.
template <typename T>
void CrfBackward(Rows<T>& d_in, std::vector<T>& d_transitions, std::vector<T>& d_start, std::vector<T>& d_end,
                 const Rows<T>& in, const CrfScores<T>& scores, const std::vector<int32_t>& tags) {
  const int64_t count = in.width, steps = in.count;
  const Rows<T> alpha = CrfAlphas(in, scores, false);
  const T log_z = CrfLogZ(alpha, scores);
  Rows<T> beta(steps, count);
  for (int64_t t = steps - 1; t >= 0; --t) {
    for (int64_t j = 0; j < count; ++j) {
      std::vector<T> ways;
      for (int64_t k = 0; k < count && t + 1 < steps; ++k) {
        ways.push_back(scores.Between(j, k) + in.row(t + 1)[k] + beta.row(t + 1)[k]);
      }
      beta.row(t)[j] = ways.empty() ? scores.end[static_cast<size_t>(j)] : LogSumExp(ways);
    }
  }
  for (int64_t t = 0; t < steps; ++t) {
    const int32_t tag = tags[static_cast<size_t>(t)];
    for (int64_t k = 0; k < count; ++k) {
      const T difference = std::exp(alpha.row(t)[k] + beta.row(t)[k] - log_z) - (tag == k ? T{1} : T{0});
      d_in.row(t)[k] += difference;
      if (t == 0) d_start[static_cast<size_t>(k)] += difference;
      if (t + 1 == steps) d_end[static_cast<size_t>(k)] += difference;
      for (int64_t j = 0; j < count && t > 0; ++j) {
        const bool taken = tags[static_cast<size_t>(t - 1)] == j && tag == k;
        const T pair = std::exp(alpha.row(t - 1)[j] + scores.Between(j, k) + in.row(t)[k] + beta.row(t)[k] - log_z);
        d_transitions[static_cast<size_t>(j * count + k)] += pair - (taken ? T{1} : T{0});
      }
    }
  }
}

}  // namespace plimsoll::reference
