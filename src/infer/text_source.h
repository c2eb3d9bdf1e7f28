// text_source: texts, tables and series for a model to look at, window by window.
//   in:    a file or stdin, a model's job and its folder
//   out:   an InputWindow full of samples, in the order of the data. Of a forecast: the end of each series
//   never: makes a Store; holds more than a line, the end of a series and a window; learns a word
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/bpe_encoder.h"
#include "data/sample_reader.h"
#include "data/scale.h"
#include "data/side_columns.h"
#include "data/tokenizer.h"
#include "data/vocabulary.h"
#include "infer/input_window.h"
#include "plimsoll/options.h"
#include "plimsoll/predict.h"
#include "plimsoll/status.h"

namespace plimsoll {

class TextSource {
 public:
  // `room`: bytes that the budget has left. Reads up to the first sample, so that what reading takes is there.
  static Result<std::unique_ptr<TextSource>> Open(const PredictRequest& request, const Job& job, const std::string& folder,
                                                  int64_t room);

  bool ids() const { return !settings_.numbers(); }
  int64_t width() const { return width_; }                             // features a step
  int64_t vocabulary() const;                                          // with ids
  int64_t fewest_steps() const { return window_steps_; }               // that a window must have room for
  int64_t reading_bytes() const { return settings_.line_bytes * 40; }  // that lines to come may take
  std::vector<TargetUnit> units() const;                               // of a forecast's columns

  void Use(InputWindow* window) { window_ = window; }
  // False: there are no more samples.
  Result<bool> Fill();
  const BadLines& bad() const { return bad_; }
  // Rows with a category that training does not have, and the first of them.
  int64_t unseen() const { return unseen_; }
  const std::string& first_unseen() const { return first_unseen_; }

 private:
  TextSource(TextSettings settings, Tokenizer tokenizer, const PredictRequest& request);
  Status Read();
  Status Take();
  void EncodeSides();
  Status TakeText();
  Status TakeNumbers();
  Status TakeRow();
  Status TakeSeries();
  bool SeriesEnds() const;
  int64_t StepsOf(const TextSample& sample) const;
  Status Bad(int64_t line, const std::string& what);

  TextSettings settings_;
  Tokenizer tokenizer_;
  std::string path_;
  BadLines bad_;
  Vocabulary vocabulary_;
  std::optional<BpeEncoder> encoder_;  // with tokens = "bpe"
  std::vector<ColumnScale> scale_;     // of a forecast
  SideColumns sides_;
  std::vector<double> side_numbers_;  // of the row at hand; a value that training had not is none of them
  int64_t unseen_ = 0;
  std::string first_unseen_;
  int64_t window_steps_ = 1;  // forecast: that a forecast looks back
  int64_t width_ = 1;
  std::unique_ptr<SampleReader> reader_;
  InputWindow* window_ = nullptr;
  TextSample sample_;
  bool has_sample_ = false;
  bool ended_ = false;
  int64_t told_bad_ = 0;      // bad lines that the window knows of
  std::vector<int32_t> ids_;  // of the sample at hand
  // Forecast: the last rows of the series at hand, the oldest at rows_ % window_steps_.
  std::string series_;
  std::vector<double> last_rows_;
  int64_t rows_ = 0;
};

}  // namespace plimsoll
