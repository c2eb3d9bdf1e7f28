// arena_map: where every planned buffer lies, over the moments of a step.
//   in:    plan.json
//   out:   an <svg>: moments from left to right, offsets from top to bottom, a rectangle for each buffer
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll {

std::string ArenaMapSvg(const nlohmann::json& plan);
// Classes of fill by life, and the life's name, for a legend.
std::string ArenaList(const nlohmann::json& plan);  // the largest buffers in words, folded up: a map has no room for all names
std::string ArenaLegend(const nlohmann::json& plan);

}  // namespace plimsoll
