// examples: what the model gives for a few samples of a score, beside what is wanted. For people: a report shows them.
//   in:    the outputs of a score, slice by slice
//   out:   records in planned memory
//   never: allocates; looks at more than the samples that were picked
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/row_group.h"
#include "model/spec.h"
#include "plimsoll/observer.h"

namespace plimsoll {

ExampleKind ExampleKindOf(const Spec& spec);

class ExamplePicker {
 public:
  // An empty room picks nothing. `scored`: samples of the score.
  ExamplePicker(std::span<Example> room, const Spec& spec, int64_t scored);

  bool wanted() const { return !room_.empty(); }
  void Offer(int64_t place, int64_t sample);  // the sample that is scored at this place of `scored`
  // As of OutputSink, for the first output.
  void Rows(const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride);
  void Decoded(const RowGroup& group, int64_t row, int64_t step, int64_t tag);

 private:
  static constexpr int kMostPicked = 64;

  int PickOf(int64_t sample) const;  // negative: it was not picked
  Example* Add(int pick, int64_t step);
  void AddInputs(const RowGroup& group, int64_t row, int pick);
  void AddSample(const RowGroup& group, int64_t row, int pick, const float* y);
  void AddLabels(const float* targets, int pick, const float* y);
  void Spell(const RowGroup& group, int64_t row, int64_t step, int pick, const float* y);
  void FillLikely(Example& example, const float* y) const;

  std::span<Example> room_;
  const Spec& spec_;
  ExampleKind kind_;
  int64_t scored_;
  int64_t picks_ = 0;   // samples to pick
  int64_t steps_ = 0;   // that are kept of each
  bool spread_ = true;  // over all that is scored; else the first ones, which follow each other
  int taken_ = 0;
  size_t used_ = 0;
  std::array<int64_t, kMostPicked> samples_ = {};
  struct Spelling {
    int64_t last = 0;  // class of the step before
    int32_t labels = 0;
  };
  std::array<Spelling, kMostPicked> spelt_ = {};
};

}  // namespace plimsoll
