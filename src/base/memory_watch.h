// memory_watch: what the system asks of a process while it runs, where a cgroup v2 says so.
//   in:    memory.high and memory.pressure of the process's own group
//   out:   the bound to stay below, and whether memory has been short
//   never: allocates when asked
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/memory_groups.h"

namespace plimsoll {

class MemoryWatch {
 public:
  // `groups` is where groups are mounted, `own` the file that names the process's own.
  explicit MemoryWatch(const std::string& groups = kGroupMounts, const std::string& own = kOwnGroups);

  int64_t High() const;  // memory.high now; 0: none
  bool UnderPressure();  // since the last call, tasks of the group waited for memory for a tenth of a second in one
  bool watches() const { return high_.is_open() || pressure_.is_open(); }

 private:
  Descriptor high_;
  Descriptor pressure_;
};

}  // namespace plimsoll
