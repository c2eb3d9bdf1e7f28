#include "plan/schedule.h"

namespace plimsoll {

std::vector<Action> FullStorageSchedule(int64_t blocks) {
  return {{.kind = Action::Kind::Record, .first_block = 0, .blocks = blocks},
          {.kind = Action::Kind::Reverse, .first_block = 0, .blocks = blocks}};
}

}  // namespace plimsoll
