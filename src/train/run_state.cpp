#include "train/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/pointwise.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMostText = 1 << 20;
constexpr uint64_t kMostTensors = 1 << 16;
constexpr uint64_t kMostName = 4096;
constexpr int64_t kFloatsAtOnce = 4096;

// The metrics of the score before training as the file has them.
struct FileMetric {
  int64_t metric = -1;  // of enum Metric; -1: none
  double value = 0.0;
};
using FileMetrics = std::array<FileMetric, kMetrics>;

FileMetrics ToFile(const MetricValues& metrics) {
  FileMetrics file;
  size_t count = 0;
  for (const MetricValue& metric : metrics) file[count++] = {static_cast<int64_t>(metric.metric), metric.value};
  return file;
}

// False: there is no such metric.
bool FromFile(const FileMetrics& file, MetricValues& metrics) {
  metrics = {};
  for (const FileMetric& one : file) {
    if (one.metric < -1 || one.metric >= static_cast<int64_t>(kMetrics)) return false;
    if (one.metric >= 0) metrics.Add(static_cast<Metric>(one.metric), one.value);
  }
  return true;
}

// Every number of a state, in the order of the file.
template <typename State, typename Metrics, typename Visit>
void VisitNumbers(State& state, Metrics& first_metrics, const Visit& visit) {
  visit(state.updates);
  visit(state.epoch);
  visit(state.step);
  visit(state.group_rows);
  visit(state.data);
  visit(state.best_generation);
  visit(state.first.loss);
  visit(state.first.accuracy);
  visit(state.first.items);
  visit(state.first.metric);
  visit(state.first.label_error_rate);
  for (auto& output : state.first.outputs) {
    visit(output.loss);
    visit(output.accuracy);
  }
  for (auto& metric : first_metrics) {
    visit(metric.metric);
    visit(metric.value);
  }
  for (auto& output : state.sums.outputs) {
    visit(output.loss);
    visit(output.hits);
    visit(output.items);
    visit(output.labels);
    visit(output.label_errors);
  }
  visit(state.sums.penalties);
  visit(state.plateau.rate);
  visit(state.plateau.best);
  visit(state.plateau.waited);
  visit(state.best.best);
  visit(state.best.epoch);
  visit(state.best.waited);
  visit(state.skipped.total);
  visit(state.skipped.in_a_row);
  for (auto& word : state.skipped.last) visit(word);
}

uint64_t CountNumbers() {
  uint64_t count = 0;
  RunState state;
  FileMetrics metrics;
  VisitNumbers(state, metrics, [&](auto&) { ++count; });
  return count;
}

template <typename Value>
std::span<const std::byte> BytesOf(const Value& value) {
  static_assert(sizeof(Value) == 8);
  return std::as_bytes(std::span(&value, 1));
}

void WriteText(SnapshotWriter& writer, const std::string& text) {
  writer.Write(BytesOf(uint64_t{text.size()}));
  writer.Write(std::as_bytes(std::span(text)));
}

bool ReadNumber(SnapshotReader& reader, uint64_t& number) { return reader.Read(std::as_writable_bytes(std::span(&number, 1))); }

bool ReadText(SnapshotReader& reader, uint64_t most, std::string& text, std::string& problem) {
  uint64_t bytes = 0;
  if (!ReadNumber(reader, bytes)) return false;
  if (bytes > most || static_cast<int64_t>(bytes) > reader.left()) {
    problem = fmt::format("a text in it claims {} bytes", bytes);
    return false;
  }
  text.resize(bytes);
  return reader.Read(std::as_writable_bytes(std::span(text)));
}

// What a state of this program can be; a file of anybody's may claim more.
bool IsPossible(const RunState& state) {
  constexpr int64_t kMost = 1'000'000'000'000'000;
  bool possible = state.updates >= 0 && state.updates <= kMost && state.epoch >= 1 && state.epoch <= kMost && state.step >= 0 &&
                  state.best_generation <= kMostGeneration && state.group_rows >= 1 && state.group_rows <= kGroupRows &&
                  state.plateau.waited >= 0 && state.best.waited >= 0 && state.skipped.total >= 0 &&
                  state.skipped.in_a_row >= 0 && std::isfinite(state.plateau.rate) && !std::isnan(state.plateau.best) &&
                  !std::isnan(state.best.best);
  for (const OutputSums& output : state.sums.outputs) possible = possible && output.items >= 0;
  return possible;
}

}  // namespace

bool ReadFront(SnapshotReader& reader, SnapshotFront& front, std::string& problem) {
  uint64_t numbers = 0, tensors = 0;
  if (!ReadNumber(reader, numbers)) return false;
  if (numbers != CountNumbers()) {
    problem = fmt::format("it holds {} numbers; wanted {}", numbers, CountNumbers());
    return false;
  }
  bool read = true;
  FileMetrics metrics;
  VisitNumbers(front.state, metrics,
               [&](auto& value) { read = read && reader.Read(std::as_writable_bytes(std::span(&value, 1))); });
  if (!read) return false;
  if (!FromFile(metrics, front.state.first.metrics) || !IsPossible(front.state)) {
    problem = "its numbers are out of range";
    return false;
  }
  if (!ReadText(reader, kMostText, front.kernels, problem) || !ReadText(reader, kMostText, front.job, problem)) return false;
  if (!ReadNumber(reader, tensors)) return false;
  if (tensors > kMostTensors) {
    problem = fmt::format("it claims {} tensors", tensors);
    return false;
  }
  front.tensors.clear();
  for (uint64_t i = 0; i < tensors; ++i) {
    SnapshotFront::Tensor tensor;
    uint64_t bytes = 0;
    if (!ReadText(reader, kMostName, tensor.name, problem) || !ReadNumber(reader, bytes)) return false;
    tensor.bytes = static_cast<int64_t>(bytes);
    front.tensors.push_back(std::move(tensor));
  }
  return true;
}

RunContent::RunContent(const Setup& setup, const Engine& engine, const RunState& state)
    : engine_(engine), state_(state), kernels_(setup.products->Describe()), job_(JobAsToml(setup.job)) {
  const Network& network = *setup.network;
  const auto optimizer = static_cast<int>(NetworkOwner::Optimizer);
  for (int layer = 0; layer < network.layers(); ++layer) {
    const std::string& name = network.name(layer);
    Add(name + ".weights", true, layer, kWeights);
    Add(name + ".moment_1", false, optimizer, MomentKey(layer, 0));
    Add(name + ".moment_2", false, optimizer, MomentKey(layer, 1));
    Add(name + ".average", false, optimizer, MomentKey(layer, kAverage));
  }
  Add("carried_state", false, static_cast<int>(NetworkOwner::Batch), CarriedState);
  bytes_ = 8 + 8 * static_cast<int64_t>(CountNumbers()) + 16 + static_cast<int64_t>(kernels_.size() + job_.size()) + 8;
  for (const Place& place : places_) bytes_ += 16 + static_cast<int64_t>(place.name.size()) + place.bytes;
}

void RunContent::Add(std::string name, bool of_layer, int owner, int key) {
  const OwnerMemory& memory = of_layer ? engine_.memory.layer(owner) : engine_.memory.owner(static_cast<NetworkOwner>(owner));
  if (memory.Has(key)) places_.push_back({std::move(name), of_layer, owner, key, memory.bytes(key)});
}

// Asked each time: a new budget may have moved the arena.
char* RunContent::At(const Place& place) const {
  return place.of_layer ? engine_.memory.layer(place.owner).Bytes(place.key)
                        : engine_.memory.owner(static_cast<NetworkOwner>(place.owner)).Bytes(place.key);
}

Status RunContent::WriteTo(SnapshotWriter& writer) {
  writer.Write(BytesOf(CountNumbers()));
  const FileMetrics metrics = ToFile(state_.first.metrics);
  VisitNumbers(state_, metrics, [&](const auto& value) { writer.Write(BytesOf(value)); });
  WriteText(writer, kernels_);
  WriteText(writer, job_);
  writer.Write(BytesOf(uint64_t{places_.size()}));
  for (const Place& place : places_) {
    WriteText(writer, place.name);
    writer.Write(BytesOf(place.bytes));
  }
  for (const Place& place : places_) {
    const auto* values = reinterpret_cast<const float*>(At(place));
    const int64_t floats = place.bytes / static_cast<int64_t>(sizeof(float));
    for (int64_t first = 0; first < floats; first += kFloatsAtOnce) {
      const int64_t count = std::min(kFloatsAtOnce, floats - first);
      if (!all_finite(values + first, count))
        return Status::Diverged(fmt::format("{} holds a value that is not finite after update {}", place.name, state_.updates),
                                "lower train.learning_rate or set train.clip_norm (1.0 is usual)");
      if (writer.Write(std::as_bytes(std::span(values + first, static_cast<size_t>(count)))) != 0) return Status::Ok();
    }
  }
  return Status::Ok();
}

bool RunContent::ReadFrom(SnapshotReader& reader, const SnapshotFront& front, std::string& problem) const {
  const bool same =
      std::equal(places_.begin(), places_.end(), front.tensors.begin(), front.tensors.end(),
                 [](const Place& own, const auto& its) { return own.name == its.name && own.bytes == its.bytes; });
  if (!same) {
    problem = "its tensors are those of another model";
    return false;
  }
  for (const Place& place : places_) {
    if (!reader.Read({reinterpret_cast<std::byte*>(At(place)), static_cast<size_t>(place.bytes)})) return false;
    if (!all_finite(reinterpret_cast<const float*>(At(place)), place.bytes / static_cast<int64_t>(sizeof(float)))) {
      problem = place.name + " holds a value that is not finite";
      return false;
    }
  }
  return reader.left() == 0 && reader.Finish();
}

}  // namespace plimsoll
