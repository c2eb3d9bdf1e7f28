#include "model/job_difference.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/job_schema.h"

namespace plimsoll {
namespace {

template <typename Owner>
std::string ValueOf(const Field<Owner>& field, const Owner& owner) {
  const std::optional<JobValue> value = field.get(owner);
  return value ? TomlValue(*value) : "unset";
}

template <typename Owner>
void Compare(const std::vector<Field<Owner>>& fields, const std::string& prefix, const Owner& was, const Owner& is,
             std::vector<JobDifference>& out) {
  for (const Field<Owner>& field : fields) {
    std::string before = ValueOf(field, was), now = ValueOf(field, is);
    if (before != now) out.push_back({prefix + field.key, std::move(before), std::move(now)});
  }
}

const LayerType& TypeOf(const LayerOptions& layer) {
  return *std::find_if(LayerTypes().begin(), LayerTypes().end(),
                       [&](const LayerType& type) { return type.start.index() == layer.kind.index(); });
}

std::string TypesOf(const std::vector<LayerOptions>& layers) {
  std::vector<std::string_view> names;
  for (const LayerOptions& layer : layers) names.push_back(TypeOf(layer).name);
  return fmt::format("[{}]", fmt::join(names, ", "));
}

}  // namespace

std::vector<JobDifference> DifferencesOf(const Job& was, const Job& is) {
  std::vector<JobDifference> differences;
  Compare(JobFields(), "", was, is, differences);
  if (TypesOf(was.layers) != TypesOf(is.layers)) {
    differences.push_back({"model.layers", TypesOf(was.layers), TypesOf(is.layers)});
  } else {
    for (size_t i = 0; i < is.layers.size(); ++i) {
      Compare(TypeOf(is.layers[i]).fields, fmt::format("model.layers[{}].", i), was.layers[i], is.layers[i], differences);
    }
  }
  if (was.outputs.size() != is.outputs.size()) {
    differences.push_back({"outputs", fmt::format("{} of them", was.outputs.size()), fmt::format("{}", is.outputs.size())});
  } else {
    for (size_t i = 0; i < is.outputs.size(); ++i) {
      Compare(OutputFields(), fmt::format("outputs[{}].", i), was.outputs[i], is.outputs[i], differences);
    }
  }
  return differences;
}

}  // namespace plimsoll
