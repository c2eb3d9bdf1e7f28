// suggest: the "did you mean" part of a message about a name that does not exist.
//   in:    what was given, and the names that exist
//   out:   "; did you mean 'x'?", or nothing when no name is near
//   never: decides anything; a near name is offered, not taken
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

// The nearest known name: at most two letters added, lost, changed or swapped (capitals do not count, and the distance
// stays below the length of the shorter name), else one that begins with what was given. Of equals, the first listed.
std::string DidYouMean(std::string_view given, std::span<const std::string_view> known);

}  // namespace plimsoll
