#include "plan/needs.h"

#include "base/check.h"

namespace plimsoll {

void NeedList::Add(int key, std::string name, Life life, NeedUnit unit, int64_t bytes) {
  StepMoment first = StepMoment::Read, last = StepMoment::Save;
  switch (life) {
    case Life::Param:
    case Life::Moment:
      break;
    case Life::Grad:
      last = StepMoment::Update;
      break;
    case Life::Data:
      last = StepMoment::Backward;
      break;
    case Life::State:
    case Life::Tape:
      first = StepMoment::Forward;
      last = StepMoment::Backward;
      break;
    case Life::Scratch:
      PLIMSOLL_CHECK(false, "scratch states its own moments");
  }
  needs_.push_back({key, std::move(name), life, unit, bytes, first, last, false});
}

int64_t NeedBytes(const Need& need, const Extent& extent) {
  switch (need.unit) {
    case NeedUnit::Whole:
      return need.bytes;
    case NeedUnit::Row:
      return need.bytes * extent.rows;
    case NeedUnit::RowStep:
      if (need.life == Life::Tape) return need.bytes * extent.kept_row_steps;
      if (need.life == Life::Data) return need.bytes * extent.group_row_steps;
      return need.bytes * extent.block_row_steps;
    case NeedUnit::BlockAndRow:
      return need.bytes * (extent.block_row_steps + extent.rows);
    case NeedUnit::BorderRow:
      return need.bytes * extent.kept_border_rows;
    case NeedUnit::SlotRow:
      return need.bytes * extent.rows * extent.slots;
    case NeedUnit::SliceRow:
      return need.bytes * extent.slice_rows;
  }
  PLIMSOLL_CHECK(false, "unknown unit");
}

}  // namespace plimsoll
