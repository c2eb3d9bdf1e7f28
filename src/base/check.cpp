#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace plimsoll {

void CheckFailed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "plimsoll: internal error at %s:%d: %s\n  failed: %s\n", file, line, message, condition);
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace plimsoll
