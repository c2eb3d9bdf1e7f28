#include "infer/input_window.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace plimsoll {

void FillNoTargets(const SampleShape& shape, int32_t target, int64_t steps, void* out) {
  if (shape.target_classes) {
    std::fill_n(static_cast<int32_t*>(out), steps, target);
  } else {
    std::fill_n(static_cast<float*>(out), steps * shape.target_width, 0.0f);
  }
}

InputWindow::InputWindow(const SampleShape& shape, const Limits& limits, int32_t target)
    : shape_(shape), limits_(limits), target_(target) {
  lengths_.reserve(static_cast<size_t>(limits.rows));
  first_.reserve(static_cast<size_t>(limits.rows));
  entries_.reserve(static_cast<size_t>(2 * limits.rows));
  names_.reserve(kNameBytes + static_cast<size_t>(limits.rows));
  if (shape.ids) {
    ids_.resize(static_cast<size_t>(limits.steps));
  } else {
    features_.resize(static_cast<size_t>(limits.steps * shape.width));
  }
}

bool InputWindow::HasRoom(int64_t steps) const {
  return rows() < limits_.rows && steps <= limits_.steps - steps_ && HasRoomForBad() && names_.size() < kNameBytes;
}

void InputWindow::AddRow(int64_t steps, std::string_view name) {
  PLIMSOLL_CHECK(HasRoom(steps), "whoever adds a row has asked for room");
  planned_ = true;
  entries_.push_back({.row = rows(), .note = static_cast<int64_t>(names_.size())});
  names_.append(name.substr(0, kNameBytes - names_.size())).push_back('\0');
  lengths_.push_back(static_cast<int32_t>(steps));
  first_.push_back(steps_);
  steps_ += steps;
}

void InputWindow::AddIds(std::span<const int32_t> ids, std::string_view name) {
  const int64_t first = steps_;
  AddRow(static_cast<int64_t>(ids.size()), name);
  std::copy(ids.begin(), ids.end(), ids_.begin() + first);
}

float* InputWindow::AddFeatures(int64_t steps, std::string_view name) {
  float* place = features_.data() + steps_ * shape_.width;
  AddRow(steps, name);
  return place;
}

void InputWindow::Clear() {
  lengths_.clear();
  first_.clear();
  entries_.clear();
  names_.clear();
  steps_ = 0;
}

std::string_view InputWindow::name(const Entry& entry) const { return names_.c_str() + entry.note; }

int64_t InputWindow::length(int64_t sample) const {
  if (!planned_) return std::max<int64_t>(1, limits_.steps / (sample + 1));
  return lengths_[static_cast<size_t>(sample)];
}

Status InputWindow::ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) {
  const int64_t step = first_[static_cast<size_t>(sample)] + first;
  const void* from = shape_.ids ? static_cast<const void*>(ids_.data() + step) : features_.data() + step * shape_.width;
  std::memcpy(out, from, static_cast<size_t>(steps * (shape_.ids ? 1 : shape_.width)) * 4);
  return Status::Ok();
}

Status InputWindow::ReadTargets(int64_t /*sample*/, int64_t /*first*/, int64_t steps, void* out) {
  FillNoTargets(shape_, target_, steps, out);
  return Status::Ok();
}

}  // namespace plimsoll
