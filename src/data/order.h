// order: which sample comes when, and which ones are kept for validation.
//   in:    number of samples, seed, epoch, share
//   out:   a permutation for each epoch; the i-th training or validation sample
//   never: keeps a list of samples; depends on anything but its arguments
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

// A keyed permutation of [0, count) in constant memory: place -> sample. Each sample comes exactly once; another epoch
// or seed gives another order; the same ones give the same order, so a resumed run only needs its place.
// Any two places can be asked in any order, from any thread.
class EpochOrder {
 public:
  EpochOrder(int64_t count, uint64_t seed, int64_t epoch, bool shuffle);
  int64_t operator[](int64_t place) const;

 private:
  int64_t count_;
  uint64_t key_;
  uint64_t epoch_;
  int high_bits_ = 0;  // places are (high, low) halves of a Feistel network; both 0: no shuffling
  int low_bits_ = 0;
};

// Whether a sample is kept for validation: a hash of (sample, seed), so it does not depend on how many samples there
// are, and a data set that grows keeps its split. `share` lies in [0, 1).
bool InValidation(int64_t sample, double share, uint64_t seed);

// The two sides of a split, each numbered from 0 in the order of the data set. One side may be empty when samples are
// few; that is the caller's to refuse. Memory: none for share 0, else 1 bit a sample and 8 bytes for each 512.
class Split {
 public:
  Split(int64_t count, double share, uint64_t seed);
  int64_t train_count() const { return count_ - valid_count_; }
  int64_t valid_count() const { return valid_count_; }
  int64_t train(int64_t i) const;  // sample number of the i-th training sample
  int64_t valid(int64_t i) const;

 private:
  template <bool kValid>
  int64_t Select(int64_t i) const;
  int64_t count_;
  int64_t valid_count_ = 0;
  std::vector<uint64_t> bits_;         // 1: validation
  std::vector<int64_t> valid_before_;  // validation samples before samples 0, 512, 1024, ...
};

}  // namespace plimsoll
