#include "base/memory_groups.h"

#include <fstream>

#include "base/file.h"

namespace plimsoll {

MemoryGroups ReadMemoryGroups(const std::string& mounts, const std::string& own) {
  MemoryGroups groups;
  std::ifstream file(own);
  for (std::string line; std::getline(file, line);) {  // "5:memory,cpu:/jobs/one", or "0::/jobs/one" for version 2
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty()) {
      const std::string beside_v1 = mounts + "/unified";
      groups.v2_root = FolderExists(beside_v1) ? beside_v1 : mounts;
      groups.v2 = group;
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      groups.v1_root = mounts + "/memory";
      groups.v1 = group;
    }
  }
  return groups;
}

}  // namespace plimsoll
