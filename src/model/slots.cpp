#include "model/slots.h"

#include <cstring>

namespace plimsoll {
namespace {
constexpr int64_t kNone = -1;
}

Status Slots::Use(SpillFile* file, int64_t slots) {
  file_ = file;
  held_.fill(kNone);
  if (file == nullptr) return Status::Ok();
  record_bytes_ = 0;
  for (const NetworkMemory::StateBuffer& buffer : memory_.states()) record_bytes_ += buffer.row_bytes * memory_.group_rows();
  for (auto& pieces : pieces_) pieces.resize(memory_.states().size());
  return file->Reserve(record_bytes_ * slots);
}

Status Slots::Keep(int64_t slot, int64_t rows) {
  if (file_ == nullptr) {
    CopyToSlot(slot, rows);
    return Status::Ok();
  }
  const int lane = static_cast<int>(slot % kSpillWindow);
  for (int other = 0; other < kSpillWindow; ++other) {  // what the group before left under this number
    if (other == lane || held_[static_cast<size_t>(other)] != slot) continue;
    PLIMSOLL_RETURN_IF_ERROR(file_->Wait(other));
    held_[static_cast<size_t>(other)] = kNone;
  }
  PLIMSOLL_RETURN_IF_ERROR(file_->Wait(lane));
  CopyToSlot(lane, rows);
  held_[static_cast<size_t>(lane)] = slot;
  Start(lane, SpillFile::Direction::Out, slot, rows);
  return Status::Ok();
}

Status Slots::Restore(int64_t slot, int64_t rows) {
  if (file_ == nullptr) {
    CopyToState(slot, rows);
    return Status::Ok();
  }
  int lane = 0;
  while (lane < kSpillWindow && held_[static_cast<size_t>(lane)] != slot) ++lane;
  if (lane == kSpillWindow) {
    lane = 0;
    PLIMSOLL_RETURN_IF_ERROR(file_->Wait(lane));
    held_[static_cast<size_t>(lane)] = slot;
    Start(lane, SpillFile::Direction::In, slot, memory_.group_rows());
  }
  PLIMSOLL_RETURN_IF_ERROR(file_->Wait(lane));
  CopyToState(lane, rows);
  // Backward goes on to the slots before: the next that is not here comes in its place.
  int64_t next = slot - 1;
  for (const int64_t held : held_) next -= held == next ? 1 : 0;
  if (next < 0) return Status::Ok();
  held_[static_cast<size_t>(lane)] = next;
  Start(lane, SpillFile::Direction::In, next, memory_.group_rows());
  return Status::Ok();
}

void Slots::CopyToSlot(int64_t slot, int64_t rows) const {
  for (const NetworkMemory::StateBuffer& buffer : memory_.states()) {
    std::memcpy(buffer.Slot(slot, memory_.group_rows()), buffer.state, static_cast<size_t>(rows * buffer.row_bytes));
  }
}

void Slots::CopyToState(int64_t slot, int64_t rows) const {
  for (const NetworkMemory::StateBuffer& buffer : memory_.states()) {
    std::memcpy(buffer.state, buffer.Slot(slot, memory_.group_rows()), static_cast<size_t>(rows * buffer.row_bytes));
  }
}

// The file holds slot after slot, and in a slot State buffer after State buffer, each with room for all rows.
void Slots::Start(int lane, SpillFile::Direction direction, int64_t slot, int64_t rows) {
  std::vector<SpillFile::Piece>& pieces = pieces_[static_cast<size_t>(lane)];
  const int64_t all_rows = memory_.group_rows();
  int64_t offset = slot * record_bytes_;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const NetworkMemory::StateBuffer& buffer = memory_.states()[i];
    pieces[i] = {.data = buffer.Slot(lane, all_rows), .bytes = rows * buffer.row_bytes, .offset = offset};
    offset += buffer.row_bytes * all_rows;
  }
  file_->Start(lane, direction, pieces);
}

}  // namespace plimsoll
