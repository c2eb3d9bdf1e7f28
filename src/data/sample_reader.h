// sample_reader: what the records of a file mean for a task.
//   in:    a file, the job's [data] and task
//   out:   samples: tokens or numbers, and labels or values, still as texts
//   never: knows ids; lets a bad line through: it is counted and listed, and one more than allowed is an error
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_reader.h"
#include "data/side_columns.h"
#include "data/tokenizer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"

namespace plimsoll {

// What a job asks of text, with nothing left open.
struct TextSettings {
  Task task = Task::Classify;
  DataFormat format = DataFormat::Auto;
  std::string text;                 // empty: numbers
  std::vector<std::string> inputs;  // of numbers
  SideNames sides;                  // categories and dates
  std::vector<std::string> label;
  std::string series;
  std::optional<bool> header;
  TokenKind tokens = TokenKind::Word;
  bool lower = false;
  std::string label_separator;
  bool stream = false;  // lm: one long text
  int64_t max_length = 0;
  int64_t skip_bad = 0;
  int64_t vocabulary = 0;
  double valid_share = 0.0;  // what the scale of a forecast and the values of categories are not learnt from
  uint64_t split_seed = 0;   // of samples that are chosen here and there for validation
  // What reading may hold, which decides no Store.
  int64_t line_bytes = kLineBytes;
  int64_t window_bytes = kMostZstdWindow;

  bool numbers() const { return !inputs.empty() || has_sides(); }
  bool has_sides() const { return !sides.empty(); }
  bool several_labels() const { return !label_separator.empty(); }
  bool set_labels() const { return several_labels() && task != Task::Classify; }  // a step has a set of labels
  bool set_steps() const { return set_labels() && task == Task::Lm; }             // and these are all that it has
  std::string AsText() const;                                                     // the same text: the same Store
};
// `path`: the first file, whose format decides the columns where the job leaves them open.
Result<TextSettings> SettingsOf(const DataOptions& data, Task task, const std::string& path);

// The same of data without labels, for a model whose job has this [data]: of `format`, else as the file shows. A line of plain
// text is a text, whatever the column was called in training. `path` may be stdin: then `format` unset is plain text.
Result<TextSettings> InputSettingsOf(const DataOptions& data, Task task, const std::string& path, DataFormat format);

class BadLines {
 public:
  explicit BadLines(int64_t allowed) : allowed_(allowed) {}
  // Ok: the line is passed over.
  Status Note(const std::string& path, const std::string& problem);
  int64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }
  void Restart();

 private:
  int64_t allowed_;
  int64_t count_ = 0;
  std::vector<std::string> first_;  // the first 20
};

struct TextSample {
  int64_t line = 0;
  std::vector<std::string_view> tokens;
  bool whole = false;                        // tokens are as they came: small letters are still to be made
  std::vector<double> values;                // NaN: missing (forecast)
  int64_t width = 1;                         // values a step; 0: one step of categories and dates alone
  std::vector<std::string_view> categories;  // empty: missing
  std::vector<CalendarTime> dates;
  std::vector<std::string_view> labels;
  std::vector<size_t> sets;  // labels of each step, where a step has several
  std::vector<double> targets;
  std::string_view series;

  int64_t steps() const {
    if (width == 0) return 1;
    if (tokens.empty() && !sets.empty()) return static_cast<int64_t>(sets.size()) - 1;  // the last one is only foretold
    return values.empty() ? static_cast<int64_t>(tokens.size()) : static_cast<int64_t>(values.size()) / width;
  }
};

class SampleReader {
 public:
  static Result<std::unique_ptr<SampleReader>> Open(const std::string& path, const TextSettings& settings, Tokenizer& tokenizer,
                                                    BadLines& bad);
  virtual ~SampleReader() = default;
  // The next sample, whose texts stay until the next call; false: there is none.
  virtual Result<bool> Next(TextSample& sample) = 0;
  virtual const ByteSource& source() const = 0;
};

// A number that a float holds; nothing for any other text.
std::optional<double> NumberOf(std::string_view text);
bool IsMissing(std::string_view text);  // "", NA, NaN, null, ?

}  // namespace plimsoll
