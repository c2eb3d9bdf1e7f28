#include "train/batches.h"

#include <algorithm>

#include "base/random.h"

namespace plimsoll {

EpochBatches::EpochBatches(const Setup& setup, const Engine& engine, int64_t epoch)
    : setup_(&setup),
      engine_(&engine),
      split_(setup.split.get()),
      samples_(setup.split->train_count()),
      batch_size_(std::min(setup.job.train.batch_size, setup.samples->count())),
      batch_tokens_(setup.job.train.batch_tokens),
      epoch_(epoch),
      order_(samples_, SeedFor(setup.job.train.seed, RandomUse::Order), epoch, setup.job.train.shuffle) {
  count_ = CountAll();
}

int64_t* EpochBatches::window() const {
  const OwnerMemory& batch = engine_->memory.owner(NetworkOwner::Batch);
  return batch.Has(WindowNumbers) ? batch.I64(WindowNumbers) : nullptr;
}

template <typename Length>
int64_t EpochBatches::BatchFrom(int64_t first, int64_t count, const Length& length) const {
  if (batch_tokens_ == 0) return std::min(batch_size_, count - first);
  int64_t steps = length(first), size = 1;
  while (first + size < count && size < batch_size_ && steps + length(first + size) <= batch_tokens_) {
    steps += length(first + size);
    ++size;
  }
  return size;
}

void EpochBatches::FillWindow(int64_t first) {
  window_first_ = first;
  window_size_ = std::min(setup_->job.train.length_window, samples_ - first);
  window_batch_ = 0;
  int64_t* numbers = window();
  for (int64_t i = 0; i < window_size_; ++i) numbers[i] = sample(first + i);
  std::sort(numbers, numbers + window_size_, [this](int64_t a, int64_t b) {
    const int64_t length_a = setup_->samples->length(a), length_b = setup_->samples->length(b);
    return length_a != length_b ? length_a < length_b : a < b;
  });
  window_batches_ = BatchesOfWindow();
}

int64_t EpochBatches::BatchesOfWindow() const {
  const int64_t* numbers = window();
  int64_t batches = 0;
  for (int64_t first = 0; first < window_size_; ++batches) {
    first += BatchFrom(first, window_size_, [&](int64_t i) { return setup_->samples->length(numbers[i]); });
  }
  return batches;
}

int64_t EpochBatches::CountAll() {
  if (batch_tokens_ == 0 && window() == nullptr) return (samples_ + batch_size_ - 1) / batch_size_;
  int64_t batches = 0;
  if (window() == nullptr) {
    for (int64_t first = 0; first < samples_; ++batches) {
      first += BatchFrom(first, samples_, [this](int64_t place) { return setup_->samples->length(sample(place)); });
    }
    return batches;
  }
  for (int64_t first = 0; first < samples_; first += window_size_) {
    FillWindow(first);
    batches += window_batches_;
  }
  window_size_ = window_batches_ = 0;  // before the first one
  window_first_ = 0;
  return batches;
}

bool EpochBatches::Next() {
  if (number_ == count_) return false;
  ++number_;
  if (window() == nullptr) {
    first_ += size_;
    size_ = BatchFrom(first_, samples_, [this](int64_t place) { return setup_->samples->length(sample(place)); });
    return true;
  }
  if (window_batch_ == window_batches_) FillWindow(window_first_ + window_size_);
  // The batches of a window in an order of their own, lest every window go from short to long.
  const TrainOptions& train = setup_->job.train;
  const EpochOrder order(window_batches_, SeedFor(train.seed, RandomUse::Order) + static_cast<uint64_t>(window_first_) + 1,
                         epoch_, train.shuffle);
  const int64_t wanted = order[window_batch_++], *numbers = window();
  const auto length = [&](int64_t i) { return setup_->samples->length(numbers[i]); };
  first_ = 0;
  for (int64_t batch = 0; batch < wanted; ++batch) first_ += BatchFrom(first_, window_size_, length);
  size_ = BatchFrom(first_, window_size_, length);
  return true;
}

void EpochBatches::SkipTo(int64_t number) {
  while (number_ < number && Next()) continue;
}

int64_t EpochBatches::operator[](int64_t i) const {
  const int64_t* sorted = window();
  return sorted == nullptr ? sample(first_ + i) : sorted[first_ + i];
}

int64_t EpochBatches::Fill(int64_t* numbers) const {
  for (int64_t i = 0; i < size_; ++i) numbers[i] = (*this)[i];
  return size_;
}

int64_t TotalUpdates(const Setup& setup, const Engine& engine) {
  const TrainOptions& train = setup.job.train;
  const int64_t total = train.epochs * EpochBatches(setup, engine, 1).count();
  return train.max_steps > 0 ? std::min(total, train.max_steps) : total;
}

}  // namespace plimsoll
