// words: the arguments of a companion program. `plimsoll` has checked them and passes them on: a target, then flags with
// values.
#pragma once

#include <string>
#include <string_view>

inline std::string ValueOf(int argc, char** argv, std::string_view flag) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (argv[i] == flag) return argv[i + 1];
  }
  return "";
}

inline bool HasFlag(int argc, char** argv, std::string_view flag) {
  for (int i = 2; i < argc; ++i) {
    if (argv[i] == flag) return true;
  }
  return false;
}
