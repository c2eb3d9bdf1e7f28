// version: of the library and the command-line program, which are released together.
#pragma once

namespace plimsoll {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace plimsoll
