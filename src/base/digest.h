// digest: 64 bits over a whole file, put together piece by piece: XXH64 (Yann Collet's xxHash), which is as fast as memory is
//   read. It finds damage, not malice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plimsoll/status.h"

namespace plimsoll {

class File;

class Digest {
 public:
  explicit Digest(uint64_t seed = 0);
  // How the bytes are cut into pieces does not matter.
  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text) { Add(std::as_bytes(std::span(text))); }
  Status Add(const File& file);  // all of its bytes
  uint64_t value() const;

 private:
  void Stripe(const std::byte* at);
  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, 32> waiting_{};  // less than a stripe
  uint64_t seed_;
  uint64_t total_ = 0;
};

}  // namespace plimsoll
