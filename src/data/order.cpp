// order: a Feistel network with Philox as its round function, and a bitmap with ranks.
//   in:    a place
//   out:   a sample number
//   never: changes when the machine, the threads or the order of questions do
#include "data/order.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/random.h"

namespace plimsoll {
namespace {

constexpr int kRounds = 8;
constexpr int64_t kBlockWords = 8;  // 512 samples
constexpr int64_t kBlockSamples = kBlockWords * 64;

}  // namespace

EpochOrder::EpochOrder(int64_t count, uint64_t seed, int64_t epoch, bool shuffle)
    : count_(count), key_(SeedFor(seed, RandomUse::Order)), epoch_(static_cast<uint64_t>(epoch)) {
  PLIMSOLL_CHECK(count >= 1 && epoch >= 0, "an order needs samples and an epoch");
  if (!shuffle) return;
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1)));
  high_bits_ = bits / 2;
  low_bits_ = bits - high_bits_;
}

int64_t EpochOrder::operator[](int64_t place) const {
  PLIMSOLL_CHECK(place >= 0 && place < count_, "a place lies in [0, count)");
  if (low_bits_ == 0) return place;
  const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1, low_mask = (uint64_t{1} << low_bits_) - 1;
  auto sample = static_cast<uint64_t>(place);
  // The network permutes [0, 2^bits), less than twice `count`. Walking on from a number outside leads back inside, to
  // each number inside from exactly one other, so it stays a permutation.
  do {
    uint64_t high = sample >> low_bits_, low = sample & low_mask;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint64_t from = round % 2 == 0 ? low : high;
      const RandomWords words = Philox(key_ ^ (epoch_ >> 32), {static_cast<uint32_t>(from), static_cast<uint32_t>(from >> 32),
                                                               static_cast<uint32_t>(epoch_), round});
      const uint64_t mix = static_cast<uint64_t>(words[1]) << 32 | words[0];
      (round % 2 == 0 ? high : low) ^= mix & (round % 2 == 0 ? high_mask : low_mask);
    }
    sample = high << low_bits_ | low;
  } while (sample >= static_cast<uint64_t>(count_));
  return static_cast<int64_t>(sample);
}

bool InValidation(int64_t sample, double share, uint64_t seed) {
  const auto number = static_cast<uint64_t>(sample);
  const RandomWords words =
      Philox(SeedFor(seed, RandomUse::Split), {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0, 0});
  const uint64_t wide = static_cast<uint64_t>(words[1]) << 32 | words[0];
  return static_cast<double>(wide >> 11) * 0x1.0p-53 < share;
}

Split::Split(int64_t count, double share, uint64_t seed) : count_(count) {
  PLIMSOLL_CHECK(count >= 1 && share >= 0.0 && share < 1.0, "a split needs samples and a share in [0, 1)");
  if (share == 0.0) return;
  bits_.resize(static_cast<size_t>((count + 63) / 64));
  valid_before_.reserve(static_cast<size_t>((count + kBlockSamples - 1) / kBlockSamples));
  for (int64_t sample = 0; sample < count; ++sample) {
    if (sample % kBlockSamples == 0) valid_before_.push_back(valid_count_);
    if (!InValidation(sample, share, seed)) continue;
    bits_[static_cast<size_t>(sample / 64)] |= uint64_t{1} << (sample % 64);
    ++valid_count_;
  }
}

// Finds the i-th sample of one side: the block by bisection, then the word, then the bit.
template <bool kValid>
int64_t Split::Select(int64_t i) const {
  const auto before_block = [&](int64_t block) {
    const int64_t valid = valid_before_[static_cast<size_t>(block)];
    return kValid ? valid : block * kBlockSamples - valid;
  };
  int64_t block = 0, beyond = static_cast<int64_t>(valid_before_.size());
  while (beyond - block > 1) {
    const int64_t middle = block + (beyond - block) / 2;
    (before_block(middle) <= i ? block : beyond) = middle;
  }
  int64_t left = i - before_block(block);
  for (int64_t number = block * kBlockWords;; ++number) {
    uint64_t word = kValid ? bits_[static_cast<size_t>(number)] : ~bits_[static_cast<size_t>(number)];
    const int64_t here = std::popcount(word);
    if (left >= here) {
      left -= here;
      continue;
    }
    for (; left > 0; --left) word &= word - 1;  // forget the lowest one
    return number * 64 + std::countr_zero(word);
  }
}

int64_t Split::train(int64_t i) const {
  PLIMSOLL_CHECK(i >= 0 && i < train_count(), "a training sample has a number below train_count");
  return bits_.empty() ? i : Select<false>(i);
}

int64_t Split::valid(int64_t i) const {
  PLIMSOLL_CHECK(i >= 0 && i < valid_count(), "a validation sample has a number below valid_count");
  return Select<true>(i);
}

}  // namespace plimsoll
