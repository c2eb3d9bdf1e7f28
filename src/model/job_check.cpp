#include "model/job_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/job_schema.h"
#include "plimsoll/observer.h"

namespace plimsoll {
namespace {

// Reads every value of `owner` as if it stood in a file; what is read is not kept.
template <typename Owner>
Status CheckFields(const std::vector<Field<Owner>>& fields, const Owner& owner, const std::string& prefix) {
  Owner read = owner;
  for (const Field<Owner>& field : fields) {
    const std::optional<JobValue> value = field.get(owner);
    if (!value) continue;
    KeyPlace at;
    at.key = prefix + field.key;
    PLIMSOLL_RETURN_IF_ERROR(field.set(read, *value, at));
  }
  return Status::Ok();
}

}  // namespace

Status CheckJob(const Job& job) {
  PLIMSOLL_RETURN_IF_ERROR(CheckFields(JobFields(), job, ""));
  for (size_t number = 0; number < job.layers.size(); ++number) {
    const LayerOptions& layer = job.layers[number];
    const auto type = std::find_if(LayerTypes().begin(), LayerTypes().end(),
                                   [&](const LayerType& known) { return known.start.index() == layer.kind.index(); });
    PLIMSOLL_RETURN_IF_ERROR(CheckFields(type->fields, layer, fmt::format("model.layers[{}].", number)));
  }
  if (job.outputs.size() > kMostOutputs)
    return Status::Usage(fmt::format("outputs: {} of them, wanted at most {}", job.outputs.size(), kMostOutputs));
  for (size_t number = 0; number < job.outputs.size(); ++number) {
    PLIMSOLL_RETURN_IF_ERROR(CheckFields(OutputFields(), job.outputs[number], fmt::format("outputs[{}].", number)));
  }
  return Status::Ok();
}

}  // namespace plimsoll
