// token_sampler: draws the next token from what a model gives for it.
//   in:    outputs before softmax, a row; how to draw; a place for candidates
//   out:   an id
//   never: allocates; gives a token that it was told to leave out
// Temperature comes first, then top_k, then top_p. Of equals the smaller id counts as the more probable.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/random.h"

namespace plimsoll {

struct Candidate {
  float output = 0.0f;
  int32_t id = 0;
};

class TokenSampler {
 public:
  struct Options {
    double temperature = 1.0;  // 0: the most probable
    int64_t top_k = 0;         // 0: all
    double top_p = 1.0;
    std::array<int64_t, 2> never = {-1, -1};  // ids; below 0: none
  };
  // candidates: as many as a row has outputs; the caller's.
  TokenSampler(const Options& options, std::span<Candidate> candidates) : options_(options), candidates_(candidates) {}

  // Draws as many numbers from `random` whatever the outputs are: two words, and none at temperature 0. kNone: an output is not
  // finite.
  static constexpr int32_t kNone = -1;
  int32_t Draw(const float* outputs, RandomSequence& random);

 private:
  double WeightOf(const Candidate& candidate, float largest) const;
  // The most probable candidates that top_p leaves; they come first, in order.
  std::span<Candidate> MostProbable(std::span<Candidate> candidates, float largest) const;

  Options options_;
  std::span<Candidate> candidates_;
};

}  // namespace plimsoll
