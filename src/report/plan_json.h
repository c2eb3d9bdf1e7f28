// plan_json: what the JSON of a plan and of a curve of plans share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plimsoll/plan.h"

namespace plimsoll {

inline nlohmann::ordered_json StagesJson(const Plan& plan) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const PlannedStage& stage : plan.stages) {
    stages.push_back({{"layers", stage.layers},
                      {"segment_blocks", stage.segment_blocks},
                      {"slots", stage.slots},
                      {"spilled", stage.spilled},
                      {"repeats", stage.repeats}});
  }
  return stages;
}

// Names come from the user; bytes that are no UTF-8 must not end the program.
inline std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
inline std::string JsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace plimsoll
