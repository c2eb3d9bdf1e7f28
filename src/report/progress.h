// progress: shows a run while it runs (public factory: plimsoll/progress.h).
//   in:    reports of steps and epochs, the plan, messages
//   out:   text on a descriptor of the caller's: a bar on a terminal, plain lines elsewhere, or JSON lines
//   never: allocates in Step or Epoch; every text is put together in a fixed buffer and written with write(2)
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plimsoll/observer.h"
#include "plimsoll/progress.h"
#include "report/fixed_text.h"

namespace plimsoll {

// One line about a step or an epoch: a head that always stays, a bar, and fields of different worth.
// Where the window is narrow, the parts of least worth go first; a line never wraps.
class ProgressLine {
 public:
  struct Look {
    bool bar = false;
    bool color = false;
    bool ascii = false;
    int columns = 0;  // of the window; 0: no limit
  };
  static constexpr int kBarWorth = 4;

  FixedText<96> head;
  double done = -1.0;  // share of the epoch for the bar; negative: no bar

  // The field of `worth`; the smallest goes first. In the order of the line.
  FixedText<48>& Field(int worth);
  void Clear();
  int Compose(const Look& look, FixedText<2048>& out) const;  // returns the columns that it takes

 private:
  struct Worded {
    FixedText<48> text;
    int worth = 0;
  };
  std::array<Worded, 8 + kMetrics> fields_;
  size_t count_ = 0;
};

class Progress final : public Observer {
 public:
  explicit Progress(const ProgressOptions& options);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Reading(const ReadingReport& report) override;
  void Planned(const Plan& plan) override;
  void Message(std::string_view text) override;
  void Step(const StepReport& report) override;
  void Work(const WorkReport& report) override;
  void Epoch(const EpochReport& report) override;

 private:
  using Clock = std::chrono::steady_clock;

  void NoteStep(const StepReport& report, Clock::time_point now);
  void FillStepLine(const StepReport& report, Clock::time_point now);
  void FillWorkLine(const WorkReport& report, Clock::time_point now);
  void FillEpochLine(const EpochReport& report);
  void FillOutputLine(const EpochReport& report, size_t number);
  void AddScores(const OutputScore& train, const OutputScore& valid, bool has_valid);
  void TellLine();  // line_ for good, in the way of the format
  void AddMemory(int worth, int64_t bytes);
  ProgressLine::Look LookNow() const;
  void GoToBar(int columns);  // adds to out_ what leads to the start of the bar that stands there
  void DrawBar();             // over the line that stands there, without a newline
  void FinishBar();           // leaves the cursor on a fresh line
  void WriteLine();           // line_ as plain text with a newline
  void WriteStepJson(const StepReport& report);
  void WriteEpochJson(const EpochReport& report);
  void WriteOutputJson(const EpochReport& report, size_t number);
  void WriteWorkJson(const WorkReport& report);
  void WriteText(std::string_view text);  // of others: what would move a cursor is left out
  void Write(std::string_view text);

  int fd_;
  ProgressFormat format_;  // never Auto
  bool color_ = false;
  bool ascii_ = false;
  Clock::duration interval_;
  Clock::time_point last_;  // when something about a step was written
  bool bar_on_screen_ = false;
  int bar_columns_ = 0;      // of the bar that stands there
  bool bar_passes_ = false;  // it is of work that nobody asks for once it is done
  bool reader_gone_ = false;

  int64_t epoch_ = 0;  // the epoch that the next five are about
  int64_t epochs_ = 0;
  Clock::time_point epoch_start_;
  int64_t epoch_steps_ = 0;  // seen by us
  int64_t last_step_ = 0;
  int64_t steps_per_epoch_ = 0;
  int64_t budget_bytes_ = 0;
  int64_t resident_bytes_ = 0;  // when last told

  int64_t work_done_ = 0;  // of the work that is told of
  Clock::time_point work_start_;

  ProgressLine line_;
  FixedText<2048> out_;
};

}  // namespace plimsoll
