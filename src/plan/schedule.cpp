#include "plan/schedule.h"

namespace plimsoll {

std::array<Action, 2> FullStorageSchedule(int64_t blocks) {
  return {Action{.kind = Action::Kind::Record, .first_block = 0, .blocks = blocks},
          Action{.kind = Action::Kind::Reverse, .first_block = 0, .blocks = blocks}};
}

}  // namespace plimsoll
