// text: how Plimsoll writes amounts and offers names, so that the programs around it speak the same way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plimsoll/status.h"

namespace plimsoll {

// "188.4 MB", "9.2 kB", "256 MB": decimal units, one digit behind the point, none where it would be zero.
std::string PrettyBytes(int64_t bytes);

// Seconds of "90s", "10m", "2h", "1d" or "1.5h"; a number alone is seconds.
Result<double> ReadDuration(std::string_view text);

// "; did you mean 'x'?" for a name that does not exist, or nothing when no known name is near.
std::string DidYouMean(std::string_view given, std::span<const std::string_view> known);

}  // namespace plimsoll
