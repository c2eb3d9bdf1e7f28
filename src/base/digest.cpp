#include "base/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/file.h"

namespace plimsoll {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                   kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;

template <typename Word>
Word Load(const std::byte* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t Round(uint64_t lane, uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

}  // namespace

Digest::Digest(uint64_t seed) : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1}, seed_(seed) {}

void Digest::Stripe(const std::byte* at) {
  for (size_t i = 0; i < 4; ++i) lanes_[i] = Round(lanes_[i], Load<uint64_t>(at + 8 * i));
}

void Digest::Add(std::span<const std::byte> bytes) {
  const size_t held = total_ % 32;
  total_ += bytes.size();
  if (held > 0) {
    const size_t taken = std::min(bytes.size(), 32 - held);
    std::copy_n(bytes.data(), taken, waiting_.data() + held);
    bytes = bytes.subspan(taken);
    if (held + taken < 32) return;
    Stripe(waiting_.data());
  }
  for (; bytes.size() >= 32; bytes = bytes.subspan(32)) Stripe(bytes.data());
  std::copy(bytes.begin(), bytes.end(), waiting_.begin());
}

Status Digest::Add(const File& file) {
  constexpr int64_t kPieceBytes = 64 * 1024;
  std::vector<std::byte> piece(kPieceBytes);
  for (int64_t at = 0; at < file.size(); at += kPieceBytes) {
    const int64_t now = std::min(kPieceBytes, file.size() - at);
    PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(at, now, piece.data()));
    Add(std::span(piece).first(static_cast<size_t>(now)));
  }
  return Status::Ok();
}

uint64_t Digest::value() const {
  uint64_t value = seed_ + kPrime5;
  if (total_ >= 32) {
    value = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) value = (value ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  value += total_;
  const std::byte* at = waiting_.data();
  size_t left = total_ % 32;
  for (; left >= 8; left -= 8, at += 8) value = std::rotl(value ^ Round(0, Load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  for (; left >= 4; left -= 4, at += 4) value = std::rotl(value ^ Load<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; left > 0; --left, ++at) value = std::rotl(value ^ static_cast<uint64_t>(*at) * kPrime5, 11) * kPrime1;
  value = (value ^ value >> 33) * kPrime2;
  value = (value ^ value >> 29) * kPrime3;
  return value ^ value >> 32;
}

}  // namespace plimsoll
