#include "base/random.h"

#include <cmath>

namespace plimsoll {

RandomWords Philox(uint64_t key, const RandomWords& counter) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  RandomWords x = counter;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * x[0];
    const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * x[2];
    x = {static_cast<uint32_t>(product1 >> 32) ^ x[1] ^ key0, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ x[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

uint64_t SeedFor(uint64_t seed, RandomUse use) {
  const RandomWords words = Philox(seed, {static_cast<uint32_t>(use), 0x706C696Du, 0, 0});
  return static_cast<uint64_t>(words[1]) << 32 | words[0];
}

uint32_t RandomSequence::Word() {
  const auto place = static_cast<uint32_t>(drawn_ % 4);
  if (place == 0) {
    const uint64_t call = drawn_ / 4;
    words_ = Philox(key_, {static_cast<uint32_t>(call), static_cast<uint32_t>(call >> 32), static_cast<uint32_t>(object_),
                           static_cast<uint32_t>(object_ >> 32)});
  }
  ++drawn_;
  return words_[place];
}

uint64_t RandomSequence::Below(uint64_t bound) {
  if (bound <= uint64_t{1} << 32) return static_cast<uint64_t>(Word()) * bound >> 32;
  const uint64_t high = Word();
  return (high << 32 | Word()) % bound;
}

float RandomSequence::Normal() {
  const double u = (static_cast<double>(Word()) + 1.0) * 0x1.0p-32;  // (0, 1]
  const double v = static_cast<double>(Word()) * 0x1.0p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

RandomWords DropoutWords(uint64_t seed, uint64_t update, uint32_t layer, uint64_t sample, uint64_t step, uint32_t unit_quad) {
  // The key takes what does not fit the counter; neighbouring updates differ in the counter's first word.
  const uint64_t key = seed ^ (sample >> 32) ^ (static_cast<uint64_t>(layer) << 40);
  return Philox(key, {static_cast<uint32_t>(update), unit_quad, static_cast<uint32_t>(sample), static_cast<uint32_t>(step)});
}

}  // namespace plimsoll
