// text: how Plimsoll writes amounts and offers names, so that the programs around it speak the same way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

// "188.4 MB", "9.2 kB", "256 MB": decimal units, one digit behind the point, none where it would be zero.
std::string PrettyBytes(int64_t bytes);

// "; did you mean 'x'?" for a name that does not exist, or nothing when no known name is near.
std::string DidYouMean(std::string_view given, std::span<const std::string_view> known);

}  // namespace plimsoll
