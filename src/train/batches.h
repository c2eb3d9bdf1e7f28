// batches: which samples the updates of an epoch cover, in the order that the job's seed gives.
//   out:   one batch after the other; the last one of an epoch may be smaller
//   never: allocates
#pragma once

#include <cstdint>

#include "data/order.h"
#include "train/setup.h"

namespace plimsoll {

class EpochBatches {
 public:
  EpochBatches(const Setup& setup, int64_t epoch);  // from 1

  bool Next();                                       // to the first batch, then to the next one. False: the epoch is over
  void SkipTo(int64_t number) { number_ = number; }  // as if the batches up to this one had been taken
  int64_t number() const { return number_; }         // of the batch, from 1; 0: before the first
  int64_t count() const { return (samples_ + batch_size_ - 1) / batch_size_; }
  // Writes the batch's sample numbers and returns how many they are.
  int64_t Fill(int64_t* numbers) const;

 private:
  const Split* split_;
  int64_t samples_;
  int64_t batch_size_;
  EpochOrder order_;
  int64_t number_ = 0;
};

}  // namespace plimsoll
