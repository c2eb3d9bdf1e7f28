// answers: what a model gave for the samples of a window, and how it is written: a line for each.
//   in:    outputs as the step hands them on, in any order of rows
//   out:   JSON lines or TSV (docs/data.md has the forms)
//   never: allocates while outputs come; keeps more of an item than its line tells
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/samples.h"
#include "data/token_table.h"
#include "infer/place_walk.h"
#include "model/step.h"
#include "plimsoll/predict.h"

namespace plimsoll {

struct AnswerOptions {
  enum class Kind { Class, Labels, Values, Forecast, Spelling };
  Kind kind = Kind::Class;
  bool per_step = false;
  bool decoded = false;  // by a CRF
  int64_t width = 1;     // outputs of an item
  int64_t top = 1;
  int64_t rows = 0;   // of a window, at most
  int64_t steps = 0;  // of all of them together, at most
  PredictFormat format = PredictFormat::Jsonl;
  TokenTable names = {};               // of classes; empty: their numbers
  std::vector<TargetUnit> units = {};  // of a forecast's columns

  bool item_per_step() const { return per_step || kind == Kind::Spelling; }  // else one a row
  int64_t kept() const;                                                      // numbers of an item that are kept
  int64_t item_bytes() const { return kept() * static_cast<int64_t>(sizeof(float) + sizeof(int32_t)); }
};

class Answers final : public OutputSink {
 public:
  explicit Answers(AnswerOptions options);

  // A window of samples from number `first` on.
  void Start(const Samples& samples, int64_t first, int64_t count);
  void Rows(size_t output, const RowGroup& group, int64_t first, int64_t count, const float* outputs, int64_t stride) override;
  void Decoded(const RowGroup& group, int64_t row, int64_t step, int64_t item, int32_t tag) override;

  // The line of a row of the window; `name`: of its series.
  void Append(std::string& out, int64_t row, std::string_view name) const;
  // The line of a bad one.
  void AppendBad(std::string& out, std::string_view problem) const;

 private:
  void Keep(int64_t item, const float* y);
  void KeepLargest(int64_t item, const float* y, bool probabilities);
  int64_t ItemOf(int64_t sample, int64_t step) const;

  bool json() const { return options_.format == PredictFormat::Jsonl; }
  void AddName(std::string& out, int32_t number) const;
  void AddText(std::string& out, std::string_view text) const;
  void AddNumber(std::string& out, float value) const;
  void AppendClass(std::string& out, int64_t item) const;
  void AppendTags(std::string& out, int64_t item, int64_t steps) const;
  void AppendSpelling(std::string& out, int64_t item, int64_t steps) const;
  void AppendLabels(std::string& out, int64_t item) const;
  void AppendSets(std::string& out, int64_t item, int64_t steps) const;
  void AppendValues(std::string& out, int64_t item, int64_t steps) const;
  void AppendForecast(std::string& out, int64_t item, std::string_view name) const;

  AnswerOptions options_;
  std::vector<float> numbers_;    // items times kept()
  std::vector<int32_t> classes_;  // the same, where they are of classes
  std::vector<int64_t> first_;    // item of each row
  std::vector<int32_t> lengths_;
  int64_t first_sample_ = 0;
  PlaceWalk walk_;
};

}  // namespace plimsoll
