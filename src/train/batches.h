// batches: which samples the updates of an epoch cover, in the order that the job's seed gives.
//   out:   one batch after the other; each sample once an epoch
//   never: allocates; depends on anything but the job and the lengths of its samples
// Batches are cut from the shuffled order: batch_size samples each, or as many as have batch_tokens steps together. With
// length_window the order is taken in windows of so many samples: inside each the samples are sorted by length and cut into
// batches, which come in an order of their own.
#pragma once

#include <cstdint>

#include "data/order.h"
#include "train/setup.h"

namespace plimsoll {

class EpochBatches {
 public:
  EpochBatches(const Setup& setup, const Engine& engine, int64_t epoch);  // from 1

  bool Next();                                // to the first batch, then to the next one. False: the epoch is over
  void SkipTo(int64_t number);                // to that batch, as if those before it had been taken
  int64_t number() const { return number_; }  // of the batch, from 1; 0: before the first
  int64_t count() const { return count_; }
  // The batch's samples.
  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const;
  // Writes the batch's sample numbers and returns how many they are.
  int64_t Fill(int64_t* numbers) const;

 private:
  int64_t sample(int64_t place) const { return split_->train(order_[place]); }
  int64_t* window() const;  // sample numbers of the window at hand, by their length
  void FillWindow(int64_t first);
  // Samples of the batch that begins with number `first` of `count`; `length` gives that of each.
  template <typename Length>
  int64_t BatchFrom(int64_t first, int64_t count, const Length& length) const;
  int64_t BatchesOfWindow() const;
  int64_t CountAll();

  const Setup* setup_;
  const Engine* engine_;
  const Split* split_;
  int64_t samples_;
  int64_t batch_size_;
  int64_t batch_tokens_;
  int64_t epoch_;
  EpochOrder order_;
  int64_t number_ = 0;
  int64_t count_ = 0;
  int64_t first_ = 0;  // place where the batch begins: in the epoch, or in the window
  int64_t size_ = 0;   // of the batch
  // With length_window.
  int64_t window_first_ = 0;  // place
  int64_t window_size_ = 0;
  int64_t window_batches_ = 0;
  int64_t window_batch_ = 0;  // of those, done
};

// Updates of a whole run: those of the first epoch for each, up to max_steps.
int64_t TotalUpdates(const Setup& setup, const Engine& engine);

}  // namespace plimsoll
