#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxHeaderBytes = 1 << 20;
constexpr size_t kMaxRank = 8;
constexpr int64_t kMaxDimension = int64_t{1} << 40;

Status Damaged(const std::string& path, const std::string& what) {
  return Status::Data(fmt::format("{}: not a usable safetensors file: {}", path, what),
                      "the file may be cut off or not a model; write it again");
}

// The entries of a parsed header; `data` is where tensor bytes start, `size` the file's size.
Result<std::vector<SafetensorsEntry>> ReadEntries(const std::string& path, const Json& header, int64_t data, int64_t size) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    const auto refuse = [&, &tensor = name](const std::string& what) {
      return Damaged(path, fmt::format("tensor '{}': {}", tensor, what));
    };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets")) {
      return refuse("wanted dtype, shape and data_offsets");
    }
    if (value["dtype"] != "F32") return refuse(fmt::format("wanted dtype F32, got {}", value["dtype"].dump()));
    const Json &shape = value["shape"], &offsets = value["data_offsets"];
    if (!shape.is_array() || shape.size() > kMaxRank) return refuse("wanted a shape of at most 8 dimensions");
    SafetensorsEntry entry{.name = name, .shape = {}, .offset = 0, .bytes = 4};
    for (const Json& dimension : shape) {
      if (!dimension.is_number_unsigned() || dimension.get<uint64_t>() > static_cast<uint64_t>(kMaxDimension)) {
        return refuse("a dimension is out of range");
      }
      entry.shape.push_back(dimension.get<int64_t>());
      if (__builtin_mul_overflow(entry.bytes, entry.shape.back(), &entry.bytes)) return refuse("the shape is too large");
    }
    const bool numbers =
        offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned();
    if (!numbers) return refuse("wanted two data_offsets");
    const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
    const auto room = static_cast<uint64_t>(size - data);
    if (begin > end || end > room) return refuse(fmt::format("its bytes {} to {} lie outside the file", begin, end));
    if (static_cast<uint64_t>(entry.bytes) != end - begin) return refuse("shape and data_offsets disagree");
    entry.offset = data + static_cast<int64_t>(begin);
    entries.push_back(std::move(entry));
  }
  std::vector<const SafetensorsEntry*> by_offset;
  for (const SafetensorsEntry& entry : entries) by_offset.push_back(&entry);
  std::sort(by_offset.begin(), by_offset.end(),
            [](auto* a, auto* b) { return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes; });
  int64_t at = data;
  for (const SafetensorsEntry* entry : by_offset) {
    if (entry->offset != at) return Damaged(path, fmt::format("tensor '{}' overlaps another or leaves a hole", entry->name));
    at += entry->bytes;
  }
  if (at != size) return Damaged(path, fmt::format("{} bytes behind the last tensor", size - at));
  return entries;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  Result<File> opened = File::OpenRead(path);
  if (!opened.ok()) return opened.status();
  File file = std::move(opened).value();
  uint64_t header_bytes = 0;
  if (file.size() < 8) return Damaged(path, fmt::format("it has {} bytes", file.size()));
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(0, 8, &header_bytes));
  if (header_bytes > static_cast<uint64_t>(file.size() - 8) || header_bytes > static_cast<uint64_t>(kMaxHeaderBytes)) {
    return Damaged(path, fmt::format("its header claims {} bytes", header_bytes));
  }
  std::string text(static_cast<size_t>(header_bytes), '\0');
  PLIMSOLL_RETURN_IF_ERROR(file.ReadAt(8, static_cast<int64_t>(header_bytes), text.data()));
  // Duplicate keys and deep nesting are refused while parsing, before a tree of them exists.
  bool duplicate = false;
  std::vector<std::vector<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto& name = parsed.get_ref<const std::string&>();
      auto& seen = keys.back();
      const auto place = std::lower_bound(seen.begin(), seen.end(), name);
      if (place != seen.end() && *place == name) duplicate = true;
      seen.insert(place, name);
    }
    return depth <= 3;
  };
  const Json header = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) return Damaged(path, "its header is not a JSON object");
  if (duplicate) return Damaged(path, "a tensor name comes twice");
  auto entries = ReadEntries(path, header, 8 + static_cast<int64_t>(header_bytes), file.size());
  if (!entries.ok()) return entries.status();
  return SafetensorsFile(std::move(file), std::move(entries).value());
}

const SafetensorsEntry* SafetensorsFile::Find(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

Status SafetensorsFile::Read(const SafetensorsEntry& entry, int64_t first, int64_t count, float* out) const {
  return file_.ReadAt(entry.offset + first * 4, count * 4, out);
}

Status WriteSafetensors(const std::string& path, const std::vector<SafetensorsTensor>& tensors,
                        const std::vector<std::pair<std::string, std::string>>& metadata, std::span<std::byte> buffer,
                        const TensorFill& fill) {
  Json header;
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  int64_t at = 0;
  std::vector<int64_t> elements;
  for (const SafetensorsTensor& tensor : tensors) {
    elements.push_back(1);
    for (const int64_t dimension : tensor.shape) elements.back() *= dimension;
    const int64_t end = at + elements.back() * 4;
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensor bytes start at a multiple of eight
  const uint64_t header_bytes = text.size();

  const std::span<std::byte> values = buffer.first(buffer.size() / 2), gathered = buffer.subspan(buffer.size() / 2);
  Result<FileWriter> writer = FileWriter::Create(path, gathered);
  if (!writer.ok()) return writer.status();
  PLIMSOLL_RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span(&header_bytes, 1))));
  PLIMSOLL_RETURN_IF_ERROR(writer->Write(text));
  const auto room = static_cast<int64_t>(values.size() / sizeof(float));
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (int64_t first = 0; first < elements[i]; first += room) {
      const int64_t count = std::min(room, elements[i] - first);
      fill(i, first, count, reinterpret_cast<float*>(values.data()));
      PLIMSOLL_RETURN_IF_ERROR(writer->Write(values.first(static_cast<size_t>(count) * sizeof(float))));
    }
  }
  return writer->Commit();
}

}  // namespace plimsoll
