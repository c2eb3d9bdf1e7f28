// input_window: samples without targets that are read and predicted together.
//   in:    samples as a SampleReader gives them, in the order of the data
//   out:   Samples; a note of the bad lines between them
//   never: holds more than its limits say; allocates once it was made, but for the notes
// Before its first sample it has the longest samples that any window can have, so that a plan made then holds for all: of
// lengths that sum up to `steps`, the i-th longest is at most steps / i.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/samples.h"

namespace plimsoll {

// Targets of samples that have none: zeros, or the class `target`, a number that has a meaning in the shape.
void FillNoTargets(const SampleShape& shape, int32_t target, int64_t steps, void* out);

class InputWindow final : public Samples {
 public:
  struct Limits {
    int64_t rows = 0;
    int64_t steps = 0;  // of all rows together, and so of the longest
  };
  InputWindow(const SampleShape& shape, const Limits& limits, int32_t target);

  // In the order of the data: a row, or a line that none could be made of.
  struct Entry {
    int64_t row = 0;   // -1: a bad line
    int64_t note = 0;  // of a row: its place in names(); of a bad line: its number among them
  };
  bool HasRoom(int64_t steps) const;
  void AddIds(std::span<const int32_t> ids, std::string_view name);
  float* AddFeatures(int64_t steps, std::string_view name);  // where they are to be written
  void AddBad(int64_t number) { entries_.push_back({.row = -1, .note = number}); }
  bool HasRoomForBad() const { return entries_.size() < entries_.capacity(); }
  void Clear();

  int64_t rows() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t most_steps() const { return limits_.steps; }
  std::span<const Entry> entries() const { return entries_; }
  std::string_view name(const Entry& entry) const;
  static constexpr size_t kNameBytes = 32 * 1024;  // of all names

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return limits_.rows; }
  int64_t length(int64_t sample) const override;
  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override;
  Status ReadTargets(int64_t sample, int64_t first, int64_t steps, void* out) override;

 private:
  void AddRow(int64_t steps, std::string_view name);

  SampleShape shape_;
  Limits limits_;
  int32_t target_;
  bool planned_ = false;  // a sample has come
  std::vector<int32_t> lengths_;
  std::vector<int64_t> first_;  // step of each row
  std::vector<Entry> entries_;
  std::string names_;
  std::vector<int32_t> ids_;
  std::vector<float> features_;
  int64_t steps_ = 0;
};

}  // namespace plimsoll
