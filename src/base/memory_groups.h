// memory_groups: the kernel's memory groups (cgroups) that this process is in.
#pragma once

#include <string>

namespace plimsoll {

inline constexpr const char* kGroupMounts = "/sys/fs/cgroup";
inline constexpr const char* kOwnGroups = "/proc/self/cgroup";

// Where groups of each version are mounted and which of them is the process's own: "" or "/jobs/one". A root is empty where
// the process is in no group of that version.
struct MemoryGroups {
  std::string v2_root, v2;
  std::string v1_root, v1;
};
MemoryGroups ReadMemoryGroups(const std::string& mounts, const std::string& own);

}  // namespace plimsoll
