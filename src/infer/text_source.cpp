#include "infer/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/check.h"
#include "data/token_ids.h"

namespace plimsoll {
namespace {

constexpr int64_t kShortestLine = 64 * kKiB;  // that is always read, and the longest: a part of what the budget leaves
constexpr int64_t kLongestLine = kMiB;

}  // namespace

TextSource::TextSource(TextSettings settings, Tokenizer tokenizer, const PredictRequest& request)
    : settings_(std::move(settings)),
      tokenizer_(std::move(tokenizer)),
      path_(request.data_file == kStdin ? "stdin" : request.data_file),
      bad_(request.skip_bad) {}

Result<std::unique_ptr<TextSource>> TextSource::Open(const PredictRequest& request, const Job& job, const std::string& folder,
                                                     int64_t room) {
  Result<TextSettings> settings = InputSettingsOf(job.data, job.task, request.data_file, request.input_format);
  if (!settings.ok()) return settings.status();
  settings->line_bytes = std::clamp(room / 160, kShortestLine, kLongestLine);
  settings->window_bytes = std::clamp<int64_t>(room / 4, kMiB, kMostZstdWindow);
  Result<Tokenizer> tokenizer = Tokenizer::Make({.kind = settings->tokens, .lower = settings->lower, .lines = false});
  if (!tokenizer.ok()) return tokenizer.status();
  std::unique_ptr<TextSource> source(new TextSource(std::move(settings).value(), std::move(tokenizer).value(), request));
  if (source->ids() && source->settings_.tokens != TokenKind::Ids) {
    Result<Vocabulary> vocabulary = Vocabulary::Read(fmt::format("{}/{}", folder, kVocabularyFile));
    if (!vocabulary.ok()) return vocabulary.status();
    source->vocabulary_ = std::move(vocabulary).value();
  }
  if (source->ids() && source->settings_.tokens == TokenKind::Bpe) {
    Result<BpeEncoder> encoder = BpeEncoder::Make(source->vocabulary_, fmt::format("{}/{}", folder, kVocabularyFile));
    if (!encoder.ok()) return encoder.status();
    source->encoder_ = std::move(encoder).value();
  }
  if (source->settings_.has_sides()) {
    Result<SideColumns> sides = SideColumns::Read(folder);
    if (!sides.ok()) return sides.status();
    if (sides->names() != source->settings_.sides)
      return Status::Data(fmt::format("{}/{}: is of other columns than the model's job", folder, kFeaturesFile),
                          "the model folder is damaged: write the model again");
    source->sides_ = std::move(sides).value();
  }
  if (job.task == Task::Forecast) {
    Result<std::vector<ColumnScale>> scale = ReadScale(folder);
    if (!scale.ok()) return scale.status();
    source->scale_ = std::move(scale).value();
    const auto inputs = static_cast<size_t>(
        std::count_if(source->scale_.begin(), source->scale_.end(), [](const ColumnScale& column) { return !column.target; }));
    if (inputs != source->settings_.inputs.size() || inputs == source->scale_.size())
      return Status::Data(fmt::format("{}{}: has {} inputs, the model's job has {}", folder, kScaleFile, inputs,
                                      source->settings_.inputs.size()),
                          "the model folder is damaged: write the model again");
    source->width_ = static_cast<int64_t>(inputs) + source->sides_.width();
    for (const ColumnScale& column : source->scale_) source->width_ += !column.target && column.missing ? 1 : 0;
    source->window_steps_ = job.data.window;
    source->last_rows_.resize((inputs + static_cast<size_t>(source->sides_.stored())) * static_cast<size_t>(job.data.window));
  }
  Result<std::unique_ptr<SampleReader>> reader =
      SampleReader::Open(request.data_file, source->settings_, source->tokenizer_, source->bad_);
  if (!reader.ok()) return reader.status();
  source->reader_ = std::move(reader).value();
  PLIMSOLL_RETURN_IF_ERROR(source->Read());
  if (source->has_sample_ && source->settings_.numbers() && job.task != Task::Forecast) {
    source->width_ = source->sample_.width + source->sides_.width();
  }
  return source;
}

int64_t TextSource::vocabulary() const {
  return settings_.tokens == TokenKind::Ids ? settings_.vocabulary : vocabulary_.size();
}

std::vector<TargetUnit> TextSource::units() const {
  std::vector<TargetUnit> units;
  for (const ColumnScale& column : scale_) {
    if (column.target) units.push_back({.mean = column.mean, .deviation = column.deviation});
  }
  return units;
}

Status TextSource::Read() {
  const Result<bool> next = reader_->Next(sample_);
  if (!next.ok()) return next.status();
  has_sample_ = next.value();
  ended_ = !next.value();
  if (!encoder_ || ended_) return Status::Ok();
  ids_.clear();
  for (const std::string_view word : sample_.tokens) encoder_->Encode(word, ids_);
  return Status::Ok();
}

Status TextSource::Bad(int64_t line, const std::string& what) { return bad_.Note(path_, fmt::format("{}: {}", line, what)); }

Result<bool> TextSource::Fill() {
  PLIMSOLL_CHECK(window_ != nullptr, "a window comes before what fills it");
  window_->Clear();
  while (true) {
    for (; told_bad_ < bad_.count(); ++told_bad_) {
      if (!window_->HasRoomForBad()) return true;
      window_->AddBad(told_bad_);
    }
    if (SeriesEnds()) {
      if (!window_->HasRoom(window_steps_)) return true;
      PLIMSOLL_RETURN_IF_ERROR(TakeSeries());
      continue;
    }
    if (ended_) return !window_->entries().empty();
    if (!has_sample_) {
      if (!window_->HasRoomForBad()) return true;
      PLIMSOLL_RETURN_IF_ERROR(Read());
      continue;
    }
    if (scale_.empty() && StepsOf(sample_) <= window_->most_steps() && !window_->HasRoom(StepsOf(sample_))) return true;
    PLIMSOLL_RETURN_IF_ERROR(Take());
    has_sample_ = false;
  }
}

int64_t TextSource::StepsOf(const TextSample& sample) const {
  const int64_t steps = encoder_ ? static_cast<int64_t>(ids_.size()) : sample.steps();
  return settings_.max_length > 0 ? std::min(steps, settings_.max_length) : steps;
}

Status TextSource::Take() {
  if (!scale_.empty()) return TakeRow();
  if (const int64_t steps = StepsOf(sample_); steps > window_->most_steps())
    return Bad(sample_.line, fmt::format("has {} steps, and the budget has room for {} at a time; a larger --memory has more",
                                         steps, window_->most_steps()));
  return ids() ? TakeText() : TakeNumbers();
}

Status TextSource::TakeText() {
  const int64_t steps = StepsOf(sample_);
  if (encoder_) {
    window_->AddIds({ids_.data(), static_cast<size_t>(steps)}, {});
    return Status::Ok();
  }
  ids_.clear();
  std::string problem;
  for (int64_t i = 0; i < steps; ++i) {
    const std::string_view token = sample_.tokens[static_cast<size_t>(i)];
    const int64_t id = IdOf(sample_.whole ? tokenizer_.Whole(token) : token, settings_, vocabulary_, problem);
    if (id < 0) return Bad(sample_.line, problem);
    ids_.push_back(static_cast<int32_t>(id));
  }
  window_->AddIds(ids_, {});
  return Status::Ok();
}

void TextSource::EncodeSides() {
  side_numbers_.clear();
  const int64_t unknown = sides_.Encode(sample_.categories, sample_.dates, side_numbers_);
  if (unknown < 0 || unseen_++ > 0) return;
  const auto column = static_cast<size_t>(unknown);
  first_unseen_ = fmt::format("{}:{}: '{}' is \"{}\"", path_, sample_.line, settings_.sides.categories[column],
                              sample_.categories[column].substr(0, 40));
}

Status TextSource::TakeNumbers() {
  const int64_t width = width_ - sides_.width();
  if (sample_.width != width)
    return Bad(sample_.line, fmt::format("has {} values a step, the model sees {}", sample_.width, width));
  EncodeSides();
  float* out = window_->AddFeatures(StepsOf(sample_), {});
  for (int64_t step = 0; step < StepsOf(sample_); ++step, out += width_) {
    const auto values = sample_.values.begin() + step * width;
    std::transform(values, values + width, out, [](double value) { return static_cast<float>(value); });
    sides_.Expand(side_numbers_.data(), out + width);
  }
  return Status::Ok();
}

bool TextSource::SeriesEnds() const { return rows_ > 0 && (ended_ || (has_sample_ && sample_.series != series_)); }

Status TextSource::TakeRow() {
  if (sample_.values.size() != settings_.inputs.size())
    return Bad(sample_.line, "has a list; wanted one number of each column");
  if (rows_ == 0) series_ = sample_.series;
  EncodeSides();
  const auto numbers = static_cast<int64_t>(sample_.values.size() + side_numbers_.size());
  const auto row = last_rows_.begin() + rows_ % window_steps_ * numbers;
  std::copy(side_numbers_.begin(), side_numbers_.end(), std::copy(sample_.values.begin(), sample_.values.end(), row));
  ++rows_;
  return Status::Ok();
}

Status TextSource::TakeSeries() {
  const int64_t rows = rows_;
  rows_ = 0;
  if (rows < window_steps_)
    return Bad(sample_.line, fmt::format("the series \"{}\" that ends here has {} rows, and a forecast looks back on {}",
                                         series_.substr(0, 40), rows, window_steps_));
  const auto inputs = static_cast<int64_t>(settings_.inputs.size());
  float* out = window_->AddFeatures(window_steps_, series_);
  for (int64_t step = 0; step < window_steps_; ++step) {
    const double* row = last_rows_.data() + (rows + step) % window_steps_ * (inputs + sides_.stored());
    for (int64_t i = 0; i < inputs; ++i) *out++ = Scaled(scale_[static_cast<size_t>(i)], row[i]);
    for (int64_t i = 0; i < inputs; ++i) {
      if (scale_[static_cast<size_t>(i)].missing) *out++ = std::isnan(row[i]) ? 0.0f : 1.0f;
    }
    sides_.Expand(row + inputs, out);
    out += sides_.width();
  }
  return Status::Ok();
}

}  // namespace plimsoll
