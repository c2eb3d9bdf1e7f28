// job_writer: the complete job as TOML, for --print-config and for the run folder.
//   in:    a Job
//   out:   text that ReadJob turns into the same Job; paths are absolute in it, so that it can be put anywhere
//   never: knows a key by itself: the keys and their descriptions are in job_schema
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/job_schema.h"
#include "model/job_tree.h"
#include "plimsoll/options.h"

namespace plimsoll {
namespace {

std::string TomlText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 127) {
      fmt::format_to(std::back_inserter(quoted), "\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string TomlValue(const JobValue& value) {
  switch (value.kind) {
    case JobValue::Kind::Flag:
      return value.flag ? "true" : "false";
    case JobValue::Kind::Whole:
      return fmt::format("{}", value.whole);
    case JobValue::Kind::Number:
      return NumberText(value.number);
    case JobValue::Kind::List: {
      std::vector<std::string> items;
      for (const JobValue& item : value.list) items.push_back(TomlValue(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    default:
      return TomlText(value.text);
  }
}

namespace {

template <typename Owner>
void AppendField(std::string& out, std::string_view key, const Field<Owner>& field, const Owner& owner) {
  const std::optional<JobValue> value = field.get(owner);
  if (!value) return;
  const std::string line = fmt::format("{} = {}", key, TomlValue(*value));
  fmt::format_to(std::back_inserter(out), "{:<34} # {}\n", line, field.about);
}

void AppendLayer(std::string& out, const LayerOptions& layer) {
  const auto type = std::find_if(LayerTypes().begin(), LayerTypes().end(),
                                 [&](const LayerType& known) { return known.start.index() == layer.kind.index(); });
  fmt::format_to(std::back_inserter(out), "\n[[model.layers]]\ntype = {}\n", TomlText(type->name));
  for (const Field<LayerOptions>& field : type->fields) {
    if (field.key == "name" && layer.name.empty()) continue;
    AppendField(out, field.key, field, layer);
  }
}

}  // namespace

std::string JobAsToml(const Job& job) {
  std::string out;
  std::string section;  // of the keys that stand last in `out`; top-level keys come first in the schema
  for (const Field<Job>& field : JobFields()) {
    const size_t dot = field.key.find('.');
    if (dot != std::string::npos && field.key.substr(0, dot) != section) {
      section = field.key.substr(0, dot);
      fmt::format_to(std::back_inserter(out), "\n[{}]\n", section);
    }
    AppendField(out, std::string_view(field.key).substr(dot == std::string::npos ? 0 : dot + 1), field, job);
  }
  if (job.layers.empty()) out += "\n[model]\nlayers = []\n";
  for (const LayerOptions& layer : job.layers) AppendLayer(out, layer);
  for (const OutputOptions& output : job.outputs) {
    out += "\n[[outputs]]\n";
    for (const Field<OutputOptions>& field : OutputFields()) AppendField(out, field.key, field, output);
  }
  return out;
}

}  // namespace plimsoll
