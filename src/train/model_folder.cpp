#include "train/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "formats/safetensors.h"
#include "model/weights.h"

namespace plimsoll {
namespace {

constexpr const char* kWeightsFile = "/model.safetensors";
constexpr const char* kJobFile = "/job.toml";

std::string ShapeText(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

Result<std::string> FindModelFolder(const std::string& path) {
  for (const std::string& folder : {path, path + "/model"}) {
    std::error_code ignored;  // a name that cannot be looked up holds no model
    if (std::filesystem::exists(folder + kWeightsFile, ignored)) return folder;
  }
  return Status::Data(fmt::format("{}: no model here; wanted {} or model{}", path, kWeightsFile + 1, kWeightsFile),
                      "name a run folder that finished, or a model folder");
}

Result<Job> ReadModelJob(const std::string& folder) { return ReadJob(folder + kJobFile, {}); }

Status WriteModel(const std::string& folder, const Setup& setup, const Engine& engine) {
  if (!FolderExists(folder)) PLIMSOLL_RETURN_IF_ERROR(MakeFolder(folder));
  if (setup.text != nullptr) PLIMSOLL_RETURN_IF_ERROR(CopyDictionary(*setup.text, folder));
  const std::vector<WeightPlace> places = WeightPlaces(*setup.network);
  std::vector<SafetensorsTensor> tensors;
  for (const WeightPlace& place : places) tensors.push_back({place.name, place.shape()});
  char* buffer = engine.memory.owner(NetworkOwner::Files).Bytes(WriteBuffer);
  PLIMSOLL_RETURN_IF_ERROR(
      WriteSafetensors(folder + kWeightsFile, tensors,
                       {{"format", "plimsoll"}, {"lstm_gates", "i,f,g,o"}, {"gru_gates", "z,r,n"}, {"gate_blocks", "rows"}},
                       {reinterpret_cast<std::byte*>(buffer), static_cast<size_t>(kWriteBufferBytes)},
                       [&](size_t tensor, int64_t first, int64_t count, float* out) {
                         const WeightPlace& place = places[tensor];
                         GatherWeights(out, engine.memory.layer(place.layer).F32(kWeights), place.tensor, first, count);
                       }));
  return WriteTextFile(folder + kJobFile, JobAsToml(setup.job));
}

Status ReadWeights(const std::string& folder, const Setup& setup, const Engine& engine) {
  Result<SafetensorsFile> opened = SafetensorsFile::Open(folder + kWeightsFile);
  if (!opened.ok()) return opened.status();
  const SafetensorsFile& file = opened.value();
  const std::vector<WeightPlace> places = WeightPlaces(*setup.network);
  for (const SafetensorsEntry& entry : file.entries()) {
    if (std::none_of(places.begin(), places.end(), [&](const auto& place) { return place.name == entry.name; })) {
      return Status::Data(fmt::format("{}: tensor '{}' has no place in this model", file.file().path(), entry.name),
                          "the layers of the job must be those of the model");
    }
  }
  for (const WeightPlace& place : places) {
    const SafetensorsEntry* entry = file.Find(place.name);
    if (entry == nullptr || entry->shape != place.shape()) {
      return Status::Data(fmt::format("{}: tensor '{}': wanted shape {}, got {}", file.file().path(), place.name,
                                      ShapeText(place.shape()), entry == nullptr ? "nothing" : ShapeText(entry->shape)),
                          "the layers of the job must be those of the model");
    }
    float* packed = engine.memory.layer(place.layer).F32(kWeights);
    char* buffer = engine.memory.owner(NetworkOwner::Files).Bytes(WriteBuffer);
    auto* values = reinterpret_cast<float*>(buffer);
    const int64_t room = kWriteBufferBytes / static_cast<int64_t>(sizeof(float));
    for (int64_t first = 0; first < place.elements(); first += room) {
      const int64_t count = std::min(room, place.elements() - first);
      PLIMSOLL_RETURN_IF_ERROR(file.Read(*entry, first, count, values));
      for (int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(values[i])) {
          return Status::Data(fmt::format("{}: tensor '{}' holds a value that is not finite, at element {}", file.file().path(),
                                          place.name, first + i));
        }
      }
      ScatterWeights(packed, values, place.tensor, first, count);
    }
  }
  return Status::Ok();
}

}  // namespace plimsoll
