// job_reader: a job file and the overrides of the command line become a Job.
//   in:    a path (TOML or JSON) and key = value overrides
//   out:   the Job, or the first thing that is wrong with it: file, line, key, what was got, what was wanted
//   never: opens data, decides a width, or knows a key by itself: the keys are in job_schema
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/bytes.h"
#include "base/suggest.h"
#include "model/job_difference.h"
#include "model/job_schema.h"
#include "model/job_tree.h"
#include "model/layer_kinds.h"
#include "plimsoll/options.h"

namespace plimsoll {
namespace {

using Kind = JobValue::Kind;
constexpr size_t kLargestFile = kMiB;  // a job is a page of text; anything larger is the wrong file
constexpr std::string_view kLayers = "model.layers";
constexpr std::string_view kOutputs = "outputs";

Result<std::string> ReadText(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::Usage(fmt::format("cannot read the job file {}: {}", path, ::strerror(errno)));
  std::string text;
  std::vector<char> chunk(16 * kKiB);
  ssize_t got = 0;
  while (text.size() <= kLargestFile && ((got = ::read(fd, chunk.data(), chunk.size())) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) text.append(chunk.data(), static_cast<size_t>(got));
  }
  const int error = got < 0 ? errno : 0;
  ::close(fd);
  if (error != 0) return Status::Usage(fmt::format("cannot read the job file {}: {}", path, ::strerror(error)));
  if (text.size() > kLargestFile)
    return Status::Usage(fmt::format("{} is larger than 1 MiB, and no job file is", path),
                         "is it a data file? pass it with --data");
  return text;
}

template <typename Owner>
const Field<Owner>* FindField(const std::vector<Field<Owner>>& fields, std::string_view key) {
  const size_t dot = key.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? "" : key.substr(0, dot + 1);
  const std::string_view leaf = key.substr(section.size());
  for (const Field<Owner>& field : fields) {
    if (field.key == key) return &field;
    const bool same_section = field.key.starts_with(section) && field.key.find('.', section.size()) == std::string::npos;
    if (same_section && std::count(field.aliases.begin(), field.aliases.end(), leaf) > 0) return &field;
  }
  return nullptr;
}

template <typename Owner>
std::vector<std::string_view> KeysOf(const std::vector<Field<Owner>>& fields, std::string_view section = "") {
  std::vector<std::string_view> keys;
  for (const Field<Owner>& field : fields) {
    if (field.key.starts_with(section)) keys.push_back(std::string_view(field.key).substr(section.size()));
  }
  return keys;
}

bool IsSection(std::string_view key) {
  if (key == "model") return true;
  return std::any_of(JobFields().begin(), JobFields().end(), [&](const Field<Job>& field) {
    return field.key.size() > key.size() && field.key.starts_with(key) && field.key[key.size()] == '.';
  });
}

// The key in the section where it would be known, for a key that only stands in the wrong one: epochs -> train.epochs.
std::string SameKeyElsewhere(std::string_view leaf) {
  for (const Field<Job>& field : JobFields()) {
    const size_t dot = field.key.rfind('.');
    const std::string_view own = std::string_view(field.key).substr(dot == std::string::npos ? 0 : dot + 1);
    if (own == leaf || std::count(field.aliases.begin(), field.aliases.end(), leaf) > 0) return field.key;
  }
  return "";
}

Status UnknownKey(const KeyPlace& at) {
  const std::string_view key = at.key;
  const size_t dot = key.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? "" : key.substr(0, dot + 1);
  const std::string_view leaf = key.substr(section.size());
  std::string hint(HintForForeignName(section.substr(0, section.empty() ? 0 : section.size() - 1), leaf));
  std::string offer;
  if (hint.empty()) {
    std::vector<std::string_view> near = KeysOf(JobFields(), section);
    for (const std::string_view name : {"data", "train", "memory", "model", "outputs"}) {
      if (section.empty()) near.push_back(name);
    }
    if (section == "model.") near = {"layers"};
    offer = DidYouMean(leaf, near);
    if (const std::string elsewhere = SameKeyElsewhere(leaf); offer.empty() && !elsewhere.empty())
      offer = fmt::format("; did you mean '{}'?", elsewhere);
    if (offer.empty()) {
      // A near miss in another section, or a misspelt section: compare whole names.
      const std::vector<std::string_view> all = KeysOf(JobFields());
      offer = DidYouMean(key, all);
    }
    if (offer.empty() && !near.empty() && !section.empty())
      hint = fmt::format("keys of {}: {}", section.substr(0, section.size() - 1), fmt::join(near, ", "));
  }
  return Status::Usage(fmt::format("{}unknown key {}{}", at.Prefix(), Quoted(key), offer), std::move(hint));
}

// Refuses a key that is given twice under two of its names.
class GivenOnce {
 public:
  Status Note(const std::string& key, const KeyPlace& at) {
    if (given_.insert(key).second) return Status::Ok();
    return Status::Usage(
        fmt::format("{}{}: {} is already given, and both names mean one key", at.Prefix(), at.key, Quoted(key)));
  }

 private:
  std::set<std::string, std::less<>> given_;
};

const LayerType* FindLayerType(std::string_view name) {
  for (const LayerType& type : LayerTypes()) {
    if (SameName(type.name, name)) return &type;
    for (const std::string_view alias : type.aliases) {
      if (SameName(alias, name)) return &type;
    }
  }
  return nullptr;
}

Status UnknownLayerType(const KeyPlace& at, const JobValue& type) {
  std::vector<std::string_view> names;
  for (const LayerType& known : LayerTypes()) {
    if (CanBeListed(known.start)) names.push_back(known.name);
  }
  std::string hint(HintForForeignName(kLayers, type.text));
  const std::string offer = hint.empty() ? DidYouMean(type.text, names) : "";
  if (hint.empty()) hint = fmt::format("one of {}", fmt::join(names, ", "));
  return Status::Usage(fmt::format("{}{}.type: unknown layer type {}{}", at.Prefix(), at.key, Quoted(type.text), offer),
                       std::move(hint));
}

Status SetLayerField(LayerOptions& layer, const LayerType& type, const JobEntry& entry, const KeyPlace& at, GivenOnce& given) {
  const Field<LayerOptions>* field = FindField(type.fields, entry.key);
  if (field == nullptr) {
    const std::vector<std::string_view> names = KeysOf(type.fields);
    std::string hint(HintForForeignName(type.name, entry.key));
    const std::string offer = hint.empty() ? DidYouMean(entry.key, names) : "";
    if (hint.empty() && offer.empty()) hint = fmt::format("keys of {}: {}", type.name, fmt::join(names, ", "));
    return Status::Usage(fmt::format("{}unknown key {} of {} ({}){}", at.Prefix(), Quoted(entry.key), type.name, at.key, offer),
                         hint);
  }
  PLIMSOLL_RETURN_IF_ERROR(given.Note(field->key, at));
  return field->set(layer, entry.value, at);
}

Result<LayerOptions> ReadLayer(const JobValue& value, const KeyPlace& at) {
  if (value.kind != Kind::Table)
    return Status::Usage(fmt::format("{}{}: wanted a table with a type, got {}", at.Prefix(), at.key, Describe(value)));
  const auto type_entry =
      std::find_if(value.table.begin(), value.table.end(), [](const JobEntry& entry) { return entry.key == "type"; });
  if (type_entry == value.table.end())
    return Status::Usage(fmt::format("{}{}: the layer has no type", at.Prefix(), at.key), "type = \"LSTM\"");
  KeyPlace place = at;
  place.line = type_entry->line;
  if (type_entry->value.kind != Kind::Text)
    return Status::Usage(fmt::format("{}{}.type: wanted text, got {}", place.Prefix(), at.key, Describe(type_entry->value)));
  const LayerType* type = FindLayerType(type_entry->value.text);
  if (type == nullptr) return UnknownLayerType(place, type_entry->value);

  LayerOptions layer = {.name = "", .kind = type->start};
  GivenOnce given;
  for (const JobEntry& entry : value.table) {
    if (entry.key == "type") continue;
    place.line = entry.line;
    place.key = fmt::format("{}.{}", at.key, entry.key);
    PLIMSOLL_RETURN_IF_ERROR(SetLayerField(layer, *type, entry, place, given));
  }
  return layer;
}

// All entries of a list, each by `read`; the list is what it was where one of them is refused.
template <typename Entry>
Status ReadList(std::vector<Entry>& entries, std::string_view list, const JobValue& value, const KeyPlace& at,
                Result<Entry> (*read)(const JobValue&, const KeyPlace&)) {
  const std::string_view noun = list.substr(list.rfind('.') + 1);  // without a dot: all of it
  if (value.kind != Kind::List)
    return Status::Usage(fmt::format("{}{}: wanted a list of {}, got {}", at.Prefix(), at.key, noun, Describe(value)),
                         fmt::format("write each {} as an entry of [[{}]]", noun.substr(0, noun.size() - 1), list));
  std::vector<Entry> found;
  for (size_t i = 0; i < value.list.size(); ++i) {
    KeyPlace place = at;
    place.line = value.list[i].line;
    place.key = fmt::format("{}[{}]", list, i);
    Result<Entry> entry = read(value.list[i], place);
    if (!entry.ok()) return entry.status();
    found.push_back(std::move(entry).value());
  }
  entries = std::move(found);
  return Status::Ok();
}

Status ReadLayers(Job& job, const JobValue& value, const KeyPlace& at) {
  return ReadList(job.layers, kLayers, value, at, ReadLayer);
}

Status SetOutputField(OutputOptions& output, const JobEntry& entry, const KeyPlace& at, GivenOnce& given) {
  const Field<OutputOptions>* field = FindField(OutputFields(), entry.key);
  if (field == nullptr) {
    const std::vector<std::string_view> names = KeysOf(OutputFields());
    const std::string_view whole = std::string_view(at.key).substr(0, at.key.size() - entry.key.size() - 1);
    return Status::Usage(
        fmt::format("{}unknown key {} of {}{}", at.Prefix(), Quoted(entry.key), whole, DidYouMean(entry.key, names)),
        fmt::format("keys of an output: {}", fmt::join(names, ", ")));
  }
  PLIMSOLL_RETURN_IF_ERROR(given.Note(field->key, at));
  return field->set(output, entry.value, at);
}

Status CheckHasLayer(const OutputOptions& output, const KeyPlace& at) {
  if (!output.layer.empty()) return Status::Ok();
  return Status::Usage(fmt::format("{}{}: the output has no layer", at.Prefix(), at.key), "layer = \"dense\"");
}

Result<OutputOptions> ReadOutput(const JobValue& value, const KeyPlace& at) {
  if (value.kind != Kind::Table)
    return Status::Usage(fmt::format("{}{}: wanted a table with a layer, got {}", at.Prefix(), at.key, Describe(value)));
  OutputOptions output;
  GivenOnce given;
  for (const JobEntry& entry : value.table) {
    KeyPlace place = at;
    place.line = entry.line;
    place.key = fmt::format("{}.{}", at.key, entry.key);
    PLIMSOLL_RETURN_IF_ERROR(SetOutputField(output, entry, place, given));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckHasLayer(output, at));
  return output;
}

Status ReadOutputs(Job& job, const JobValue& value, const KeyPlace& at) {
  return ReadList(job.outputs, kOutputs, value, at, ReadOutput);
}

Status ReadTable(Job& job, const JobValue& table, const KeyPlace& around, GivenOnce& given) {
  for (const JobEntry& entry : table.table) {
    KeyPlace at = around;
    at.line = entry.line;
    at.key = around.key.empty() ? entry.key : fmt::format("{}.{}", around.key, entry.key);
    // A quoted key such as "train.epochs" is one name with a dot in it, not the key of a section.
    const bool plain = entry.key.find('.') == std::string::npos;
    if (plain && at.key == kLayers) {
      PLIMSOLL_RETURN_IF_ERROR(ReadLayers(job, entry.value, at));
    } else if (plain && at.key == kOutputs) {
      PLIMSOLL_RETURN_IF_ERROR(ReadOutputs(job, entry.value, at));
    } else if (const Field<Job>* field = plain ? FindField(JobFields(), at.key) : nullptr; field != nullptr) {
      PLIMSOLL_RETURN_IF_ERROR(given.Note(field->key, at));
      PLIMSOLL_RETURN_IF_ERROR(field->set(job, entry.value, at));
    } else if (plain && IsSection(at.key)) {
      if (entry.value.kind != Kind::Table)
        return Status::Usage(fmt::format("{}{}: wanted a table, got {}", at.Prefix(), at.key, Describe(entry.value)));
      PLIMSOLL_RETURN_IF_ERROR(ReadTable(job, entry.value, at, given));
    } else {
      return UnknownKey(at);
    }
  }
  return Status::Ok();
}

// "model.layers.1.units", "outputs.0.loss": one key of an entry that the list has; `set` puts the value into that entry.
template <typename Entry, typename Set>
Status OverrideEntry(std::vector<Entry>& entries, std::string_view list, const JobOverride& change, Set set) {
  const std::string_view rest = std::string_view(change.key).substr(list.size() + 1);
  const std::string_view noun = list.substr(list.rfind('.') + 1);  // without a dot: all of it
  const size_t dot = rest.find('.');
  const std::string_view number = rest.substr(0, dot);
  size_t index = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (dot == std::string_view::npos || error != std::errc() || stop != number.data() + number.size())
    return Status::Usage(fmt::format("unknown key {}", Quoted(change.key)), fmt::format("{}.NUMBER.KEY, the first is 0", list));
  if (index >= entries.size())
    return Status::Usage(fmt::format("{}: the job has {} {}, and the first is 0", Quoted(change.key), entries.size(), noun));
  return set(entries[index], JobEntry{std::string(rest.substr(dot + 1)), 0, ParseOverrideValue(change.value)},
             KeyPlace{.file = "", .line = 0, .key = change.key, .folder = ""});
}

Status OverrideLayer(LayerOptions& layer, const JobEntry& entry, const KeyPlace& at) {
  const auto type = std::find_if(LayerTypes().begin(), LayerTypes().end(),
                                 [&](const LayerType& known) { return known.start.index() == layer.kind.index(); });
  GivenOnce given;
  return SetLayerField(layer, *type, entry, at, given);
}

Status OverrideOutput(OutputOptions& output, const JobEntry& entry, const KeyPlace& at) {
  GivenOnce given;
  PLIMSOLL_RETURN_IF_ERROR(SetOutputField(output, entry, at, given));
  return CheckHasLayer(output, at);
}

bool IsInList(std::string_view key, std::string_view list) {
  return key.size() > list.size() && key.starts_with(list) && key[list.size()] == '.';
}

Status Override(Job& job, const JobOverride& change) {
  const KeyPlace at = {.file = "", .line = 0, .key = change.key, .folder = ""};
  if (change.key == kLayers) return ReadLayers(job, ParseOverrideValue(change.value), at);
  if (change.key == kOutputs) return ReadOutputs(job, ParseOverrideValue(change.value), at);
  if (IsInList(change.key, kLayers)) return OverrideEntry(job.layers, kLayers, change, OverrideLayer);
  if (IsInList(change.key, kOutputs)) return OverrideEntry(job.outputs, kOutputs, change, OverrideOutput);
  const Field<Job>* field = FindField(JobFields(), change.key);
  if (field == nullptr && IsSection(change.key))
    return Status::Usage(fmt::format("{} is a section, not a key", Quoted(change.key)), fmt::format("{}.KEY", change.key));
  if (field == nullptr) return UnknownKey(at);
  return field->set(job, ParseOverrideValue(change.value), at);
}

}  // namespace

Result<Job> JobFromText(const std::string& text, const std::string& shown_as) {
  Result<JobValue> tree = ParseJobText(text, shown_as);
  if (!tree.ok()) return tree.status();
  Job job;
  GivenOnce given;
  PLIMSOLL_RETURN_IF_ERROR(ReadTable(job, *tree, {.file = shown_as, .line = 1, .key = "", .folder = ""}, given));
  return job;
}

Result<Job> ReadJob(const std::string& path, const std::vector<JobOverride>& overrides) {
  Job job;
  if (!path.empty()) {
    Result<std::string> text = ReadText(path);
    if (!text.ok()) return text.status();
    Result<JobValue> tree = ParseJobText(*text, path);
    if (!tree.ok()) return tree.status();
    GivenOnce given;
    const KeyPlace root = {.file = path, .line = 1, .key = "", .folder = std::filesystem::path(path).parent_path().string()};
    PLIMSOLL_RETURN_IF_ERROR(ReadTable(job, *tree, root, given));
  }
  for (const JobOverride& change : overrides) PLIMSOLL_RETURN_IF_ERROR(Override(job, change));
  return job;
}

Status CheckMemoryText(const std::string& text) {
  const Result<MemoryAmount> amount = ParseMemory(text);
  return amount.ok() ? Status::Ok() : amount.status();
}

}  // namespace plimsoll
