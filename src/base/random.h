// random: numbers that are a function of (seed, counters) and of nothing else.
//   Running a stretch of a step again, on another thread or after a resume, gives the same numbers,
//   because no generator has a position. The function is Philox 4x32 with ten rounds (Salmon et al. 2011).
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

using RandomWords = std::array<uint32_t, 4>;
RandomWords Philox(uint64_t key, const RandomWords& counter);

// A seed for one purpose, so that two uses of one seed do not share numbers.
enum class RandomUse : uint64_t { Weights = 1, Order = 2, Dropout = 3, Data = 4, Split = 5, Test = 6, Generate = 7 };
uint64_t SeedFor(uint64_t seed, RandomUse use);

// Uniform in [0, 1), 24 bits.
inline float UnitFloat(uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24f; }

// A short sequence for one object (a sample, a tensor): numbers in order from (seed, object).
class RandomSequence {
 public:
  RandomSequence(uint64_t seed, uint64_t object) : key_(seed), object_(object) {}
  uint32_t Word();
  float Unit() { return UnitFloat(Word()); }  // [0, 1)
  uint64_t Below(uint64_t bound);             // [0, bound); the bias is below bound / 2^32
  float Normal();                             // mean 0, variance 1 (Box-Muller)

 private:
  uint64_t key_;
  uint64_t object_;
  uint64_t drawn_ = 0;  // words handed out
  RandomWords words_{};
};

// The random word that decides one element of a dropout mask. `seed` comes from SeedFor(seed, RandomUse::Dropout).
// Four neighbouring units share one Philox call: words are word[unit % 4] of DropoutWords(..., unit / 4).
RandomWords DropoutWords(uint64_t seed, uint64_t update, uint32_t layer, uint64_t sample, uint64_t step, uint32_t unit_quad);
// Elements with a word below this are dropped.
inline uint32_t DropoutThreshold(double rate) { return static_cast<uint32_t>(rate * 4294967296.0); }

}  // namespace plimsoll
