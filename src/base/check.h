// check: stops the program on a mistake of ours. Never for what a user, a file or the machine can cause: that is a Status.
#pragma once

namespace plimsoll {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* message);
}  // namespace plimsoll

#define PLIMSOLL_CHECK(condition, message)                              \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::plimsoll::CheckFailed(__FILE__, __LINE__, #condition, message); \
  } while (false)
