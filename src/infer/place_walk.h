// place_walk: row and step of packed row-steps that come one after the other, without looking for each.
#pragma once

#include <cstdint>

#include "data/row_group.h"

namespace plimsoll {

class PlaceWalk {
 public:
  // To the row-step behind the last one, or to any other by a search.
  void Go(const RowGroup& group, int64_t row_step) {
    if (row_step == next_ && row_step > 0) return;
    next_ = row_step;
    place_ = group.PlaceOf(row_step);
    active_ = group.Active(place_.step);
  }
  const RowGroup::Place& place() const { return place_; }
  void Next(const RowGroup& group) {
    ++next_;
    if (++place_.row < active_) return;
    place_ = {0, place_.step + 1};
    active_ = group.Active(place_.step);
  }

 private:
  int64_t next_ = 0;
  RowGroup::Place place_ = {0, 0};
  int64_t active_ = 0;
};

}  // namespace plimsoll
