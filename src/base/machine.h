// machine: what this computer has and what this process holds, as the kernel tells it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/memory_groups.h"

namespace plimsoll {

// What products and cells are laid out for. Avx512 is that of servers: F, VL, DQ and BW; Basic is whatever else there is.
enum class InstructionSet { Basic, Avx2, Avx512 };

struct CpuFacts {
  std::string model;
  std::vector<std::string> features;  // of those that matter here
  int64_t cores = 1;                  // that this process may use
  InstructionSet best = InstructionSet::Basic;
};
CpuFacts ReadCpuFacts();
InstructionSet BestInstructions();  // CpuFacts::best without the rest
// Floats of a vector: 8, also where two of four do its work; 16.
constexpr int32_t VectorLanes(InstructionSet set) { return set == InstructionSet::Avx512 ? 16 : 8; }

struct MemoryFacts {
  int64_t total_bytes = 0;
  int64_t available_bytes = 0;
  int64_t limit_bytes = 0;   // smallest of the memory groups this process is in and RLIMIT_DATA; 0: none
  std::string limit_source;  // "cgroup v2 memory.max" and the like
};
MemoryFacts ReadMemoryFacts(const std::string& mounts = kGroupMounts, const std::string& own = kOwnGroups);

// Resident memory of this process now, and at its highest (VmRSS and VmHWM). No allocation.
int64_t ResidentBytes();
int64_t PeakResidentBytes();
bool ResetPeakResident();  // the peak counts anew from what is resident now; false: the system does not allow it

// Resident memory now, by walking all pages (slow): the counters behind VmRSS run behind by up to 128 kB.
int64_t ExactResidentBytes();

// Brings every page of the program and its libraries, and at least `stack_bytes` below the caller's stack, into memory. From
// then on running code for the first time does not raise resident memory, so the process base that the plan states is final.
void PopulateProgram(int64_t stack_bytes);

}  // namespace plimsoll
