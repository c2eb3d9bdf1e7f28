#include "data/batch.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"

namespace plimsoll {
namespace {

// Reads the rows of a sequence, of `bytes` each, by way of a buffer and deals them out to their row-steps; reversed: from its
// end.
template <typename ReadRows>
Status DealRow(const RowGroup& group, int64_t row, int64_t bytes, bool reversed, Batch::Way way, void* out,
               const ReadRows& read) {
  const int64_t at_once = way.bytes / bytes;
  PLIMSOLL_CHECK(at_once > 0, "one step's values fit the row buffer; the job reader bounds the width");
  const int64_t length = group.lengths[row];
  int64_t place = row;  // row-step of (row, t): those before t, then the row
  int64_t active = group.rows;
  for (int64_t first = 0; first < length; first += at_once) {
    const int64_t steps = std::min(at_once, length - first);
    PLIMSOLL_RETURN_IF_ERROR(read(reversed ? length - first - steps : first, steps, way.buffer));
    for (int64_t t = 0; t < steps; ++t) {
      const char* from = way.buffer + (reversed ? steps - 1 - t : t) * bytes;
      std::memcpy(static_cast<char*>(out) + place * bytes, from, static_cast<size_t>(bytes));
      while (active > 0 && group.lengths[active - 1] <= first + t) --active;
      place += active;
    }
  }
  return Status::Ok();
}

// The rows of a group that belong to a part, such that all parts have about as many row-steps.
Share RowsOf(const RowGroup& group, int part, int parts) {
  int64_t all = 0, before = 0, row = 0;
  for (int64_t i = 0; i < group.rows; ++i) all += group.lengths[i];
  const auto skip_to = [&](int end) {
    for (; row < group.rows && before * parts < all * end; ++row) before += group.lengths[row];
    return row;
  };
  const int64_t begin = skip_to(part);
  return {begin, skip_to(part + 1)};
}

}  // namespace

void Batch::Start(const int64_t* numbers, int64_t count, int64_t step) {
  count_ = count;
  const bool goes_on = step > 1 && (step == step_ || step == step_ + 1);  // the same once more, or the next
  step_ = step;
  if (buffers_.carried != nullptr && !goes_on) {
    const int64_t table = buffers_.carried_rows * buffers_.carried_width;
    std::fill_n(buffers_.carried + (step - 1) % 2 * table, table, 0.0f);
  }
  row_steps_ = 0;
  std::copy(numbers, numbers + count, buffers_.samples);
  std::sort(buffers_.samples, buffers_.samples + count, [this](int64_t a, int64_t b) {
    const int64_t length_a = samples_->length(a), length_b = samples_->length(b);
    return length_a != length_b ? length_a > length_b : a < b;
  });
  if (buffers_.abreast > 1) DealOut();
  for (int64_t i = 0; i < count; ++i) {
    buffers_.lengths[i] = static_cast<int32_t>(samples_->length(buffers_.samples[i]));
    row_steps_ += buffers_.lengths[i];
  }
}

// Row by row in turn, stretch by stretch: then the rows of each group lie one behind the other, longest first.
void Batch::DealOut() {
  std::array<int64_t, kGroupRows> sorted;
  PLIMSOLL_CHECK(stretch_rows() <= kGroupRows, "groups side by side share the rows of one");
  for (int64_t first = 0; first < count_; first += stretch_rows()) {
    const int64_t rows = std::min(stretch_rows(), count_ - first);
    int64_t* own = buffers_.samples + first;
    std::copy_n(own, rows, sorted.begin());
    for (int64_t group = 0; group < buffers_.abreast; ++group) {
      for (int64_t row = group; row < rows; row += buffers_.abreast) *own++ = sorted[static_cast<size_t>(row)];
    }
  }
}

int64_t Batch::groups() const {
  return count_ / stretch_rows() * buffers_.abreast + std::min<int64_t>(buffers_.abreast, count_ % stretch_rows());
}

void Batch::ForgetState() {
  if (buffers_.carried == nullptr) return;
  const int64_t table = buffers_.carried_rows * buffers_.carried_width;
  std::fill_n(buffers_.carried + step_ % 2 * table, table, 0.0f);
}

Result<RowGroup> Batch::Read(int64_t group) {
  RowGroup read;
  PLIMSOLL_RETURN_IF_ERROR(Read(group, {&read, 1}));
  return read;
}

Status Batch::Read(int64_t first, std::span<RowGroup> groups) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const Result<RowGroup> rows = ReadAllButInputs(first + static_cast<int64_t>(i));
    if (!rows.ok()) return rows.status();
    groups[i] = rows.value();
  }
  // Lines that the one core writes and the other reads are slow to write again.
  constexpr int64_t kTeamsBytes = kRowBufferBytes / kTeams;
  if (groups.size() == kTeams && samples_->many_readers() && samples_->shape().width * 4 <= kTeamsBytes) {
    std::array<Status, kTeams> done;
    pool_->RunTeams([&](int team, ThreadPool& threads) {
      const auto number = static_cast<size_t>(team);
      const Way way{buffers_.row + team * kTeamsBytes, kTeamsBytes};
      done[number] = ReadInputs(groups[number], BuffersOf(first + team), way, threads);
    });
    for (const Status& status : done) PLIMSOLL_RETURN_IF_ERROR(status);
    return Status::Ok();
  }
  for (const RowGroup& group : groups) {
    PLIMSOLL_RETURN_IF_ERROR(ReadInputs(group, BuffersOf(first++), {buffers_.row, kRowBufferBytes}, *pool_));
  }
  return Status::Ok();
}

Result<RowGroup> Batch::ReadAllButInputs(int64_t number) {
  const SampleShape& shape = samples_->shape();
  RowGroup rows;
  const int64_t stretch = number / buffers_.abreast * stretch_rows(), place = number % buffers_.abreast;
  const auto rows_of = [&](int64_t of, int64_t count) {  // every `abreast`-th
    return (std::min(stretch_rows(), count - stretch) - of + buffers_.abreast - 1) / buffers_.abreast;
  };
  const auto first_in = [&](int64_t count) {  // of a batch of so many rows
    int64_t row = stretch;
    for (int64_t before = 0; before < place; ++before) row += rows_of(before, count);
    return row;
  };
  const int64_t first = first_in(count_);
  const GroupBuffers& to = BuffersOf(number);
  rows.rows = rows_of(place, count_);
  rows.samples = buffers_.samples + first;
  rows.lengths = buffers_.lengths + first;
  rows.steps = rows.lengths[0];
  rows.ids = shape.ids ? static_cast<const int32_t*>(to.inputs) : nullptr;
  rows.features = shape.ids ? nullptr : static_cast<const float*>(to.inputs);
  rows.target_lengths = shape.longest_target > 0 ? to.target_lengths : nullptr;
  rows.longest_target = shape.longest_target;
  for (size_t output = 0; output < shape.outputs(); ++output) {
    const bool classes = shape.Target(output).are_classes;
    const void* buffer = to.targets[output];
    rows.targets[output] = {.classes = classes ? static_cast<const int32_t*>(buffer) : nullptr,
                            .values = classes ? nullptr : static_cast<const float*>(buffer)};
    PLIMSOLL_RETURN_IF_ERROR(ReadTargets(output, rows, to));
  }
  for (int64_t row = 0; row < rows.rows && shape.weighted; ++row) {
    PLIMSOLL_RETURN_IF_ERROR(samples_->ReadWeight(rows.samples[row], to.weights + row));
  }
  if (shape.weighted) rows.weights = to.weights;
  for (int64_t row = 0; row < rows.rows && shape.state_width > 0; ++row) {
    PLIMSOLL_RETURN_IF_ERROR(samples_->ReadState(rows.samples[row], to.start + row * shape.state_width));
  }
  if (shape.state_width > 0) rows.start = to.start;
  if (buffers_.carried == nullptr) return rows;
  // What a batch begins with stays until all of its groups have run, and run again: the tables change roles. A row of a smaller
  // batch goes on where that of a whole one has ended.
  const int64_t table = buffers_.carried_rows * buffers_.carried_width;
  const int64_t own = first_in(buffers_.carried_rows) * buffers_.carried_width;
  rows.start = buffers_.carried + (step_ - 1) % 2 * table + own;
  rows.end = buffers_.carried + step_ % 2 * table + own;
  return rows;
}

Status Batch::ReadInputs(const RowGroup& group, const GroupBuffers& to, Way way, ThreadPool& threads) {
  const int64_t bytes = samples_->shape().width * 4;
  const int parts = samples_->many_readers() ? static_cast<int>(std::clamp<int64_t>(way.bytes / bytes, 1, threads.size())) : 1;
  const int64_t own = way.bytes / parts / bytes * bytes;  // of the row buffer: whole steps, so that values are aligned
  std::atomic<bool> failed = false;
  threads.Run([&](int part) {
    if (part >= parts) return;
    if (!ReadInputRows(group, to, RowsOf(group, part, parts), {way.buffer + part * own, own}).ok()) failed = true;
  });
  // The sample that is named does not depend on the number of threads.
  return failed ? ReadInputRows(group, to, {0, group.rows}, way) : Status::Ok();
}

Status Batch::ReadInputRows(const RowGroup& group, const GroupBuffers& to, Share rows, Way way) {
  const int64_t bytes = samples_->shape().width * 4;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    PLIMSOLL_RETURN_IF_ERROR(DealRow(
        group, row, bytes, reversed_, way, to.inputs,
        [&](int64_t first, int64_t steps, void* out) { return samples_->ReadInputs(group.samples[row], first, steps, out); }));
  }
  return Status::Ok();
}

Status Batch::ReadTargets(size_t output, const RowGroup& group, const GroupBuffers& to) {
  const TargetShape target = samples_->shape().Target(output);
  char* buffer = static_cast<char*>(to.targets[output]);
  const int64_t bytes = target.width * 4;
  for (int64_t row = 0; row < group.rows; ++row) {
    if (const int64_t longest = samples_->shape().longest_target; longest > 0) {
      const int64_t labels = samples_->target_length(group.samples[row]);
      to.target_lengths[row] = static_cast<int32_t>(labels);
      PLIMSOLL_RETURN_IF_ERROR(samples_->ReadTargets(group.samples[row], 0, labels, buffer + row * longest * bytes));
    } else if (target.per_step) {
      PLIMSOLL_RETURN_IF_ERROR(DealRow(group, row, bytes, /*reversed=*/false, {buffers_.row, kRowBufferBytes}, buffer,
                                       [&](int64_t first, int64_t steps, void* out) {
                                         return samples_->ReadTargetsOf(output, group.samples[row], first, steps, out);
                                       }));
    } else {
      PLIMSOLL_RETURN_IF_ERROR(samples_->ReadTargetsOf(output, group.samples[row], 0, 1, buffer + row * bytes));
    }
  }
  return Status::Ok();
}

}  // namespace plimsoll
