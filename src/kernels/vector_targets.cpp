// vector_targets: which of Highway's targets this machine runs, in place of Highway's own library. That library is shared
// alone,
//   and brings the shared C++ runtime along: a megabyte of the user's budget for these two functions.
#include <hwy/targets.h>

namespace hwy {

int64_t SupportedTargets() {
  __builtin_cpu_init();
  int64_t targets = HWY_SCALAR | HWY_EMU128;
  if (__builtin_cpu_supports("ssse3") != 0 && __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
      __builtin_cpu_supports("aes") != 0) {
    targets |= HWY_SSSE3 | HWY_SSE4;
  }
  // Highway's target has F16C, too, which clang cannot ask for; every processor with AVX2 has it.
  if ((targets & HWY_SSE4) != 0 && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
      __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0) {
    targets |= HWY_AVX2;
  }
  if ((targets & HWY_AVX2) != 0 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0) {
    targets |= HWY_AVX3;
  }
  return targets;
}

// Undecided until the first call of a kernel asks for the targets above.
ChosenTarget& GetChosenTarget() {
  static constinit ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
