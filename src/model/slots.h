// slots: copies of State at block borders, to run on from. They lie in memory, or in a file with a window of two in memory:
//   one on its way out while the next is made, or the next one on its way in while the last one is used.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/spill_file.h"
#include "model/network.h"
#include "plan/schedule.h"

namespace plimsoll {

class Slots {
 public:
  explicit Slots(const NetworkMemory& memory) : memory_(memory) {}

  // Slots lie in `file` from now on, which gets room for so many; null: in memory.
  Status Use(SpillFile* file, int64_t slots);

  // State of the first `rows` rows to a slot, and back.
  Status Keep(int64_t slot, int64_t rows);
  Status Restore(int64_t slot, int64_t rows);

 private:
  static_assert(kSpillWindow == SpillFile::kLanes, "a lane for each slot of the window");
  void CopyToSlot(int64_t slot, int64_t rows) const;
  void CopyToState(int64_t slot, int64_t rows) const;
  void Start(int lane, SpillFile::Direction direction, int64_t slot, int64_t rows);

  const NetworkMemory& memory_;
  SpillFile* file_ = nullptr;
  int64_t record_bytes_ = 0;                  // of a slot in the file
  std::array<int64_t, kSpillWindow> held_{};  // which slot each place of the window holds; kNone: none
  std::array<std::vector<SpillFile::Piece>, kSpillWindow> pieces_;
};

}  // namespace plimsoll
