#include "data/batch.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace plimsoll {
namespace {

// Reads the rows of a sequence, of `bytes` each, through the row buffer and deals them out to their row-steps; reversed: from
// its end.
template <typename ReadRows>
Status DealRow(const RowGroup& group, int64_t row, int64_t bytes, bool reversed, char* buffer, void* out,
               const ReadRows& read) {
  const int64_t at_once = std::max<int64_t>(1, kRowBufferBytes / bytes);
  PLIMSOLL_CHECK(bytes <= kRowBufferBytes, "one step's values fit the row buffer; the job reader bounds the width");
  const int64_t length = group.lengths[row];
  int64_t place = row;  // row-step of (row, t): those before t, then the row
  int64_t active = group.rows;
  for (int64_t first = 0; first < length; first += at_once) {
    const int64_t steps = std::min(at_once, length - first);
    PLIMSOLL_RETURN_IF_ERROR(read(reversed ? length - first - steps : first, steps, buffer));
    for (int64_t t = 0; t < steps; ++t) {
      const char* from = buffer + (reversed ? steps - 1 - t : t) * bytes;
      std::memcpy(static_cast<char*>(out) + place * bytes, from, static_cast<size_t>(bytes));
      while (active > 0 && group.lengths[active - 1] <= first + t) --active;
      place += active;
    }
  }
  return Status::Ok();
}

}  // namespace

void Batch::Start(const int64_t* numbers, int64_t count) {
  count_ = count;
  row_steps_ = 0;
  std::copy(numbers, numbers + count, buffers_.samples);
  std::sort(buffers_.samples, buffers_.samples + count, [this](int64_t a, int64_t b) {
    const int64_t length_a = samples_->length(a), length_b = samples_->length(b);
    return length_a != length_b ? length_a > length_b : a < b;
  });
  for (int64_t i = 0; i < count; ++i) {
    buffers_.lengths[i] = static_cast<int32_t>(samples_->length(buffers_.samples[i]));
    row_steps_ += buffers_.lengths[i];
  }
  items_ = samples_->shape().target_per_step ? row_steps_ : count;
}

Result<RowGroup> Batch::Read(int64_t group) {
  const SampleShape& shape = samples_->shape();
  RowGroup rows;
  const int64_t first = group * group_rows_;
  rows.rows = std::min(group_rows_, count_ - first);
  rows.samples = buffers_.samples + first;
  rows.lengths = buffers_.lengths + first;
  rows.steps = rows.lengths[0];
  rows.ids = shape.ids ? static_cast<const int32_t*>(buffers_.inputs) : nullptr;
  rows.features = shape.ids ? nullptr : static_cast<const float*>(buffers_.inputs);
  rows.classes = shape.target_classes ? static_cast<const int32_t*>(buffers_.targets) : nullptr;
  rows.values = shape.target_classes ? nullptr : static_cast<const float*>(buffers_.targets);
  PLIMSOLL_RETURN_IF_ERROR(ReadInputs(rows));
  PLIMSOLL_RETURN_IF_ERROR(ReadTargets(rows));
  if (!shape.weighted) return rows;
  for (int64_t row = 0; row < rows.rows; ++row) {
    PLIMSOLL_RETURN_IF_ERROR(samples_->ReadWeight(rows.samples[row], buffers_.weights + row));
  }
  rows.weights = buffers_.weights;
  return rows;
}

Status Batch::ReadInputs(const RowGroup& group) {
  const int64_t bytes = samples_->shape().width * 4;
  for (int64_t row = 0; row < group.rows; ++row) {
    PLIMSOLL_RETURN_IF_ERROR(DealRow(
        group, row, bytes, reversed_, buffers_.row, buffers_.inputs,
        [&](int64_t first, int64_t steps, void* out) { return samples_->ReadInputs(group.samples[row], first, steps, out); }));
  }
  return Status::Ok();
}

Status Batch::ReadTargets(const RowGroup& group) {
  const SampleShape& shape = samples_->shape();
  const int64_t bytes = shape.target_width * 4;
  for (int64_t row = 0; row < group.rows; ++row) {
    if (shape.target_per_step) {
      PLIMSOLL_RETURN_IF_ERROR(DealRow(group, row, bytes, /*reversed=*/false, buffers_.row, buffers_.targets,
                                       [&](int64_t first, int64_t steps, void* out) {
                                         return samples_->ReadTargets(group.samples[row], first, steps, out);
                                       }));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(
          samples_->ReadTargets(group.samples[row], 0, 1, static_cast<char*>(buffers_.targets) + row * bytes));
    }
  }
  return Status::Ok();
}

}  // namespace plimsoll
