// owner_memory: one owner's view of the arena (a layer, the optimizer, the batch): planned addresses by the owner's own keys.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "plan/needs.h"

namespace plimsoll {

// Where the current block stands in the kept Tape. While nothing is kept every block uses the beginning.
struct TapePosition {
  int64_t row_steps = 0;
  int64_t border_rows = 0;
};

class OwnerMemory {
 public:
  explicit OwnerMemory(const TapePosition* position) : position_(position) {}
  void Bind(const Need& need, char* base) {
    if (places_.size() <= static_cast<size_t>(need.key)) places_.resize(static_cast<size_t>(need.key) + 1);
    places_[static_cast<size_t>(need.key)] = {base, need.life, need.unit, need.bytes};
  }
  // What another owner holds, under a key of one's own; nothing where it has no such buffer.
  void Share(int key, const OwnerMemory& other, int other_key) {
    if (!other.Has(other_key)) return;
    if (places_.size() <= static_cast<size_t>(key)) places_.resize(static_cast<size_t>(key) + 1);
    places_[static_cast<size_t>(key)] = other.places_[static_cast<size_t>(other_key)];
  }
  // Of one unit: the whole buffer where the need is counted once.
  int64_t bytes(int key) const {
    PLIMSOLL_CHECK(Has(key), "a buffer that was not declared was asked for");
    return places_[static_cast<size_t>(key)].bytes;
  }

  float* F32(int key) const { return reinterpret_cast<float*>(At(key)); }
  double* F64(int key) const { return reinterpret_cast<double*>(At(key)); }
  char* Bytes(int key) const { return At(key); }
  int64_t* I64(int key) const { return reinterpret_cast<int64_t*>(At(key)); }
  int32_t* I32(int key) const { return reinterpret_cast<int32_t*>(At(key)); }
  uint64_t* U64(int key) const { return reinterpret_cast<uint64_t*>(At(key)); }
  bool Has(int key) const { return static_cast<size_t>(key) < places_.size() && places_[static_cast<size_t>(key)].base; }

 private:
  struct Place {
    char* base = nullptr;
    Life life = Life::Scratch;
    NeedUnit unit = NeedUnit::Whole;
    int64_t bytes = 0;
  };
  char* At(int key) const {
    PLIMSOLL_CHECK(Has(key), "a buffer that was not declared was asked for");
    const Place& place = places_[static_cast<size_t>(key)];
    if (place.life != Life::Tape) return place.base;
    return place.base + place.bytes * (place.unit == NeedUnit::BorderRow ? position_->border_rows : position_->row_steps);
  }
  std::vector<Place> places_;
  const TapePosition* position_;
};

}  // namespace plimsoll
