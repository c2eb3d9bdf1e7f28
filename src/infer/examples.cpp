#include "infer/examples.h"

#include <algorithm>
#include <cmath>

#include "infer/place_walk.h"

namespace plimsoll {
namespace {

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace

ExampleKind ExampleKindOf(const Spec& spec) {
  const ModelOutput& output = spec.output();
  if (output.loss == Loss::Ctc) return ExampleKind::Spelt;
  if (output.class_targets()) return output.per_step ? ExampleKind::Steps : ExampleKind::Classes;
  if (output.loss == Loss::BinaryCrossentropy && output.width > 1 && !output.per_step) return ExampleKind::Labels;
  return ExampleKind::Values;
}

ExamplePicker::ExamplePicker(std::span<Example> room, const Spec& spec, int64_t scored)
    : room_(room), spec_(spec), kind_(ExampleKindOf(spec)), scored_(scored) {
  std::fill(room_.begin(), room_.end(), Example{});
  switch (kind_) {
    case ExampleKind::Classes:
      picks_ = 12;
      break;
    case ExampleKind::Spelt:
    case ExampleKind::Labels:
      picks_ = 8;
      break;
    case ExampleKind::Steps:
      picks_ = 4;
      break;
    case ExampleKind::Values:
      // One value a sample: a picture of many. More: each is a curve.
      spread_ = spec.output().per_step || spec.output().width > 1;
      picks_ = spread_ ? 4 : kMostPicked;
      break;
  }
  picks_ = std::min(picks_, scored);
  steps_ = static_cast<int64_t>(room_.size()) / std::max<int64_t>(1, picks_);
}

void ExamplePicker::Offer(int64_t place, int64_t sample) {
  if (taken_ == picks_ || !wanted()) return;
  if (place == (spread_ ? taken_ * scored_ / picks_ : taken_)) samples_[static_cast<size_t>(taken_++)] = sample;
}

int ExamplePicker::PickOf(int64_t sample) const {
  const auto* end = samples_.begin() + taken_;
  const auto* found = std::find(samples_.begin(), end, sample);
  return found == end ? -1 : static_cast<int>(found - samples_.begin());
}

Example* ExamplePicker::Add(int pick, int64_t step) {
  if (used_ == room_.size()) return nullptr;
  Example& example = room_[used_++];
  example.sample = pick;
  example.step = static_cast<int32_t>(step);
  return &example;
}

void ExamplePicker::Rows(const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) {
  const ModelOutput& output = spec_.output();
  std::array<int, kGroupRows> picks;
  bool any = false;
  for (int64_t row = 0; row < group.rows; ++row) {
    const int pick = PickOf(group.samples[row]);
    picks[static_cast<size_t>(row)] = pick;
    any = any || pick >= 0;
  }
  if (!any || output.loss == Loss::Crf) return;
  if (!output.per_step_outputs()) {
    for (int64_t row = first; row < first + count; ++row) {
      if (const int pick = picks[static_cast<size_t>(row)]; pick >= 0)
        AddSample(group, row, pick, outputs + (row - first) * stride);
    }
    return;
  }
  PlaceWalk walk;
  walk.Go(group, first);
  for (int64_t i = 0; i < count; ++i, walk.Next(group)) {
    const RowGroup::Place& place = walk.place();
    const int pick = picks[static_cast<size_t>(place.row)];
    const float* y = outputs + i * stride;
    if (pick >= 0 && kind_ == ExampleKind::Spelt) {
      Spell(group, place.row, place.step, pick, y);
    } else if (pick >= 0 && place.step < steps_) {
      if (Example* example = Add(pick, place.step); example != nullptr) {
        const int64_t item = first + i;
        if (spec_.id_input) example->input = group.ids[item];
        if (kind_ == ExampleKind::Steps) {
          example->target = group.targets[0].classes[item];
          FillLikely(*example, y);
        } else {  // of several values a step the first
          example->wanted = group.targets[0].values[item * output.width];
          example->given = output.loss == Loss::BinaryCrossentropy ? Sigmoid(y[0]) : y[0];
        }
      }
    }
  }
}

void ExamplePicker::Decoded(const RowGroup& group, int64_t row, int64_t step, int64_t tag) {
  const int pick = PickOf(group.samples[row]);
  if (pick < 0 || step >= steps_) return;
  Example* example = Add(pick, step);
  if (example == nullptr) return;
  const int64_t item = group.Before(step) + row;
  if (spec_.id_input) example->input = group.ids[item];
  example->target = group.targets[0].classes[item];
  example->likely[0] = static_cast<int32_t>(tag);
}

// Ids that a sample begins with, so that people know it.
void ExamplePicker::AddInputs(const RowGroup& group, int64_t row, int pick) {
  if (!spec_.id_input) return;
  const int64_t steps = std::min<int64_t>(group.lengths[row], kind_ == ExampleKind::Labels ? steps_ / 2 : steps_ - 1);
  int64_t before = 0;
  for (int64_t step = 0; step < steps; ++step) {
    if (Example* example = Add(pick, step); example != nullptr) example->input = group.ids[before + row];
    before += group.Active(step);
  }
}

void ExamplePicker::AddSample(const RowGroup& group, int64_t row, int pick, const float* y) {
  const ModelOutput& output = spec_.output();
  if (kind_ == ExampleKind::Values) {
    const bool binary = output.loss == Loss::BinaryCrossentropy;
    for (int64_t i = 0; i < std::min(output.width, steps_); ++i) {
      Example* example = Add(pick, i);
      if (example == nullptr) return;
      example->wanted = group.targets[0].values[row * output.width + i];
      example->given = binary ? Sigmoid(y[i]) : y[i];
    }
    return;
  }
  AddInputs(group, row, pick);
  if (kind_ == ExampleKind::Labels) return AddLabels(group.targets[0].values + row * output.width, pick, y);
  if (Example* example = Add(pick, 0); example != nullptr) {
    example->target = group.targets[0].classes[row];
    FillLikely(*example, y);
  }
}

void ExamplePicker::AddLabels(const float* targets, int pick, const float* y) {
  int64_t left = steps_ / 2;
  for (int64_t label = 0; label < spec_.output().width && left > 0; ++label) {
    const float given = Sigmoid(y[label]);
    if (targets[label] < 0.5f && given < 0.5f) continue;
    Example* example = Add(pick, label);
    if (example == nullptr) return;
    example->wanted = targets[label];
    example->given = given;
    --left;
  }
}

// The labels that are wanted, when the sample begins; then what the largest outputs spell: repeats and blanks left out.
void ExamplePicker::Spell(const RowGroup& group, int64_t row, int64_t step, int pick, const float* y) {
  const auto most = static_cast<int32_t>(steps_ / 2);
  if (step == 0) {
    const int32_t labels = std::min(group.target_lengths[row], most);
    for (int32_t i = 0; i < labels; ++i) {
      if (Example* example = Add(pick, i); example != nullptr)
        example->target = group.targets[0].classes[row * group.longest_target + i];
    }
  }
  Spelling& spelt = spelt_[static_cast<size_t>(pick)];
  const int64_t largest = std::max_element(y, y + spec_.output().width) - y;
  if (largest != 0 && largest != spelt.last && spelt.labels < most) {
    if (Example* example = Add(pick, spelt.labels++); example != nullptr) example->likely[0] = static_cast<int32_t>(largest);
  }
  spelt.last = largest;
}

// The likeliest classes of a row of logits.
void ExamplePicker::FillLikely(Example& example, const float* y) const {
  const int64_t width = spec_.output().width;
  const float top = *std::max_element(y, y + width);
  float sum = 0.0f;
  for (int64_t i = 0; i < width; ++i) sum += std::exp(y[i] - top);
  size_t kept = 0;
  for (; kept < example.likely.size() && static_cast<int64_t>(kept) < width; ++kept) {
    int64_t best = -1;
    for (int64_t i = 0; i < width; ++i) {
      const bool there = std::find(example.likely.begin(), example.likely.begin() + kept, i) != example.likely.begin() + kept;
      if (!there && (best < 0 || y[i] > y[best])) best = i;
    }
    example.likely[kept] = static_cast<int32_t>(best);
    example.probability[kept] = std::exp(y[best] - top) / sum;
  }
}

}  // namespace plimsoll
