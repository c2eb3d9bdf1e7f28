#include "data/series_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "data/scale.h"

namespace plimsoll {
namespace {

constexpr int64_t kPieceBytes = 64 * 1024;

// Consecutive samples: the first one's number, and the row where it begins.
struct Run {
  int64_t sample = 0;
  int64_t row = 0;
};

class SeriesSamples final : public Samples {
 public:
  SeriesSamples(const StoreFacts& facts, const StoreView& view, std::vector<ColumnScale> scale, SideColumns sides,
                std::vector<Run> runs, int64_t count, File rows)
      : view_(view),
        inputs_(facts.width),
        targets_(facts.target_width),
        scale_(std::move(scale)),
        sides_(std::move(sides)),
        runs_(std::move(runs)),
        count_(count),
        rows_(std::move(rows)),
        piece_(static_cast<size_t>(std::max<int64_t>(kPieceBytes / 8, columns()))) {
    shape_.width = inputs_ + std::count_if(scale_.begin(), scale_.begin() + inputs_, [](const auto& c) { return c.missing; }) +
                   sides_.width();
    shape_.target_width = targets_ * view_.horizon;
  }

  const SampleShape& shape() const override { return shape_; }
  int64_t count() const override { return count_; }
  int64_t length(int64_t /*sample*/) const override { return view_.window; }
  bool many_readers() const override { return false; }  // rows go through piece_

  TargetUnit target_unit(int64_t column) const override {
    const ColumnScale& scale = scale_[static_cast<size_t>(inputs_ + column % targets_)];
    return {.mean = scale.mean, .deviation = scale.deviation};
  }

  Status ReadInputs(int64_t sample, int64_t first, int64_t steps, void* out) override {
    auto* values = static_cast<float*>(out);
    return EachRow(RowOf(sample) + first, steps, [&](const double* row) {
      for (int64_t i = 0; i < inputs_; ++i) *values++ = ScaledAt(row, i);
      for (int64_t i = 0; i < inputs_; ++i) {
        if (scale_[static_cast<size_t>(i)].missing) *values++ = std::isnan(row[i]) ? 0.0f : 1.0f;
      }
      sides_.Expand(row + inputs_, values);
      values += sides_.width();
    });
  }
  Status ReadTargets(int64_t sample, int64_t /*first*/, int64_t /*steps*/, void* out) override {
    auto* values = static_cast<float*>(out);
    return EachRow(RowOf(sample) + view_.window, view_.horizon, [&](const double* row) {
      for (int64_t i = 0; i < targets_; ++i) *values++ = ScaledAt(row + sides_.stored(), inputs_ + i);
    });
  }
  int64_t Expect(int64_t sample, int64_t most) override {
    const int64_t row_bytes = columns() * 8, asked = std::min((view_.window + view_.horizon) * row_bytes, most);
    rows_.Expect(RowOf(sample) * row_bytes, asked);
    return asked;
  }

 private:
  int64_t columns() const { return inputs_ + sides_.stored() + targets_; }
  float ScaledAt(const double* row, int64_t column) const { return Scaled(scale_[static_cast<size_t>(column)], row[column]); }
  int64_t RowOf(int64_t sample) const {
    const auto behind =
        std::upper_bound(runs_.begin(), runs_.end(), sample, [](int64_t s, const Run& run) { return s < run.sample; });
    const Run& run = *(behind - 1);
    return run.row + (sample - run.sample) * view_.stride;
  }
  template <typename Use>
  Status EachRow(int64_t row, int64_t count, const Use& use) {
    const int64_t at_once = std::max<int64_t>(1, static_cast<int64_t>(piece_.size()) / columns());
    for (int64_t done = 0; done < count; done += at_once) {
      const int64_t now = std::min(at_once, count - done);
      PLIMSOLL_RETURN_IF_ERROR(rows_.ReadAt((row + done) * columns() * 8, now * columns() * 8, piece_.data()));
      for (int64_t i = 0; i < now; ++i) use(piece_.data() + i * columns());
    }
    return Status::Ok();
  }

  StoreView view_;
  int64_t inputs_;
  int64_t targets_;
  std::vector<ColumnScale> scale_;
  SideColumns sides_;
  std::vector<Run> runs_;
  int64_t count_;
  File rows_;
  std::vector<double> piece_;
  SampleShape shape_;
};

}  // namespace

int64_t SeriesBorder(int64_t rows, double valid_share) {
  return rows - static_cast<int64_t>(std::llround(static_cast<double>(rows) * valid_share));
}

Result<std::unique_ptr<Samples>> OpenSeries(const std::string& folder, const StoreFacts& facts, const StoreView& view,
                                            SideColumns sides) {
  Result<std::vector<ColumnScale>> scale = ReadScale(view.scale_folder.empty() ? folder : view.scale_folder);
  if (!scale.ok()) return scale.status();
  if (static_cast<int64_t>(scale->size()) != facts.width + facts.target_width)
    return Status::Data(fmt::format("{}{}: has {} columns, the data have {}", view.scale_folder, kScaleFile, scale->size(),
                                    facts.width + facts.target_width),
                        "data.inputs and data.label must be those of the model");
  Result<File> rows = File::OpenRead(folder + "/inputs.bin");
  if (!rows.ok()) return rows.status();
  Result<File> known = File::OpenRead(folder + "/runs.bin");
  if (!known.ok()) return known.status();
  const auto run_bytes = static_cast<int64_t>(sizeof(KnownRun));
  if (rows->size() != facts.row_steps * (facts.width + facts.side + facts.target_width) * 8 ||
      known->size() != facts.runs * run_bytes)
    return Status::Data(fmt::format("{}: this Store is damaged", folder), "remove the folder; it is made again");
  std::vector<Run> runs;
  int64_t count = 0;
  for (int64_t i = 0; i < facts.runs; ++i) {
    KnownRun run;
    PLIMSOLL_RETURN_IF_ERROR(known->ReadAt(i * run_bytes, run_bytes, &run));
    const int64_t border = run.series_first + SeriesBorder(run.series_end - run.series_first, view.valid_share);
    int64_t first_target = run.first, end = run.end;
    if (view.part == StoreView::Part::Train) end = std::min(end, border);
    if (view.part == StoreView::Part::Valid) first_target = std::max(first_target, border);
    const int64_t first = std::max(run.series_first, first_target - view.window);
    const int64_t last = end - view.horizon - view.window;
    const bool sane = run.series_first >= 0 && run.series_first <= run.first && run.first < run.end &&
                      run.end <= run.series_end && run.series_end <= facts.row_steps;
    if (!sane) return Status::Data(fmt::format("{}: this Store is damaged", folder), "remove the folder; it is made again");
    if (last < first) continue;
    runs.push_back({.sample = count, .row = first});
    count += (last - first) / view.stride + 1;
  }
  if (count == 0) {
    const bool valid = view.part == StoreView::Part::Valid;
    return Status::Data(fmt::format("{}: no series has {} rows with known targets behind {} others{}; the longest has {} rows",
                                    facts.sources.empty() ? folder : facts.sources[0].path, view.horizon, view.window,
                                    valid ? " in the part kept for validation" : "", facts.longest),
                        valid ? "a larger data.valid, or a smaller data.horizon" : "a smaller data.window or data.horizon");
  }
  runs.shrink_to_fit();
  return std::unique_ptr<Samples>(std::make_unique<SeriesSamples>(facts, view, std::move(scale).value(), std::move(sides),
                                                                  std::move(runs), count, std::move(rows).value()));
}

}  // namespace plimsoll
