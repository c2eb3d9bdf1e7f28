#include "base/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/bytes.h"

namespace plimsoll {
namespace {

// The number behind `key` in a file of "Key:   123 kB" lines, in bytes; 0 when absent. Stack memory only.
int64_t KilobyteField(const char* path, const char* key) {
  char text[8192];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* line = std::strstr(text, key);
  return line == nullptr ? 0 : std::strtoll(line + std::strlen(key), nullptr, 10) * 1024;
}

int64_t ReadNumber(const std::string& path) {  // 0: absent, "max" or beyond any machine
  std::ifstream file(path);
  std::string word;
  if (!(file >> word) || word == "max") return 0;
  const int64_t value = std::strtoll(word.c_str(), nullptr, 10);
  return value >= (int64_t{1} << 60) ? 0 : value;
}

void Lower(MemoryFacts& facts, int64_t limit, const std::string& source) {
  if (limit > 0 && (facts.limit_bytes == 0 || limit < facts.limit_bytes)) {
    facts.limit_bytes = limit;
    facts.limit_source = source;
  }
}

// The limits of a memory group and of all its parents.
void ReadGroupLimits(MemoryFacts& facts, const std::string& root, std::string group, const char* file, const char* name) {
  while (true) {
    Lower(facts, ReadNumber(root + group + "/" + file), name);
    const size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return;
    group.resize(slash);
  }
}

}  // namespace

InstructionSet BestInstructions() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) return InstructionSet::Basic;
  const bool wide = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                    __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  return wide ? InstructionSet::Avx512 : InstructionSet::Avx2;
}

CpuFacts ReadCpuFacts() {
  CpuFacts facts;
  facts.best = BestInstructions();
  const std::pair<const char*, bool> features[] = {
      {"sse4.2", __builtin_cpu_supports("sse4.2") != 0},
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
  };
  for (const auto& [name, present] : features) {
    if (present) facts.features.emplace_back(name);
  }
  cpu_set_t set;
  facts.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 <= line.size()) facts.model = line.substr(colon + 2);
      break;
    }
  }
  return facts;
}

MemoryFacts ReadMemoryFacts(const std::string& mounts, const std::string& own) {
  MemoryFacts facts;
  facts.total_bytes = KilobyteField("/proc/meminfo", "MemTotal:");
  facts.available_bytes = KilobyteField("/proc/meminfo", "MemAvailable:");
  const MemoryGroups groups = ReadMemoryGroups(mounts, own);
  if (!groups.v2_root.empty()) {
    ReadGroupLimits(facts, groups.v2_root, groups.v2, "memory.max", "cgroup v2 memory.max");
  }
  if (!groups.v1_root.empty()) {
    ReadGroupLimits(facts, groups.v1_root, groups.v1, "memory.limit_in_bytes", "cgroup v1 memory.limit_in_bytes");
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    Lower(facts, static_cast<int64_t>(limit.rlim_cur), "RLIMIT_DATA");
  }
  return facts;
}

int64_t ResidentBytes() { return KilobyteField("/proc/self/status", "VmRSS:"); }
int64_t ExactResidentBytes() {
  const int64_t exact = KilobyteField("/proc/self/smaps_rollup", "Rss:");
  return exact > 0 ? exact : ResidentBytes();
}
int64_t PeakResidentBytes() { return KilobyteField("/proc/self/status", "VmHWM:"); }

bool ResetPeakResident() {
  const int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = write(fd, "5", 1) == 1;
  close(fd);
  return done;
}

void PopulateProgram(int64_t stack_bytes) {
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14; older headers lack the name
  constexpr int64_t kStackStep = 64 * kKiB;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    unsigned long inode = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &begin, &end, rights, &inode) != 4) continue;
    if (begin <= here && here < end) {  // the same in all, whether the caller is some pages deeper or not
      const auto above = static_cast<int64_t>(end - here);
      stack_bytes = RoundUp(above + stack_bytes, kStackStep) - above;
    }
    if (inode == 0 || rights[0] != 'r') continue;
    auto* address = reinterpret_cast<char*>(begin);  // NOLINT(performance-no-int-to-ptr)
    if (madvise(address, end - begin, kPopulateRead) == 0) continue;
    for (volatile const char* page = address; page < address + (end - begin); page += 4096) static_cast<void>(*page);
  }
  volatile char* stack = static_cast<volatile char*>(alloca(static_cast<size_t>(stack_bytes)));
  for (int64_t at = 0; at < stack_bytes; at += 4096) stack[at] = 0;
}

}  // namespace plimsoll
