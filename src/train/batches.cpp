#include "train/batches.h"

#include <algorithm>

#include "base/random.h"

namespace plimsoll {

EpochBatches::EpochBatches(const Setup& setup, int64_t epoch)
    : split_(setup.split.get()),
      samples_(setup.split->train_count()),
      batch_size_(std::min(setup.job.train.batch_size, setup.samples->count())),
      order_(samples_, SeedFor(setup.job.train.seed, RandomUse::Order), epoch, setup.job.train.shuffle) {}

bool EpochBatches::Next() {
  if (number_ == count()) return false;
  ++number_;
  return true;
}

int64_t EpochBatches::Fill(int64_t* numbers) const {
  const int64_t first = (number_ - 1) * batch_size_, size = std::min(batch_size_, samples_ - first);
  for (int64_t i = 0; i < size; ++i) numbers[i] = split_->train(order_[first + i]);
  return size;
}

}  // namespace plimsoll
