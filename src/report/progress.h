// progress: shows a run while it runs (public factory: plimsoll/progress.h).
//   in:    reports of steps and epochs, the plan, messages
//   out:   text on a descriptor of the caller's: a bar on a terminal, plain lines elsewhere, or JSON lines
//   never: allocates in Step or Epoch; every text is put together in a fixed buffer and written with write(2)
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "plimsoll/observer.h"
#include "plimsoll/progress.h"

namespace plimsoll {

// Text of bounded length without the heap; what does not fit is cut off. Columns are counted as characters.
template <size_t capacity>
class FixedText {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    const auto result = fmt::format_to_n(bytes_.data() + size_, capacity - size_, format, std::forward<Args>(args)...);
    size_ += std::min(result.size, capacity - size_);
  }
  void Append(std::string_view text) {
    const size_t taken = text.copy(bytes_.data() + size_, capacity - size_);
    size_ += taken;
  }
  void Clear() { size_ = 0; }
  std::string_view view() const { return {bytes_.data(), size_}; }
  int columns() const {
    int count = 0;
    for (size_t i = 0; i < size_; ++i) count += (static_cast<unsigned char>(bytes_[i]) & 0xC0) != 0x80;
    return count;
  }

 private:
  std::array<char, capacity> bytes_;
  size_t size_ = 0;
};

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
  void Compose(const Look& look, FixedText<1024>& out) const;

 private:
  struct Worded {
    FixedText<48> text;
    int worth = 0;
  };
  std::array<Worded, 8> fields_;
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
  void Epoch(const EpochReport& report) override;

 private:
  using Clock = std::chrono::steady_clock;

  void NoteStep(const StepReport& report, Clock::time_point now);
  void FillStepLine(const StepReport& report, Clock::time_point now);
  void FillEpochLine(const EpochReport& report);
  void FillOutputLine(const EpochReport& report, size_t number);
  void AddScores(const OutputScore& train, const OutputScore& valid, bool has_valid);
  void TellLine();  // line_ for good, in the way of the format
  void AddMemory(int worth, int64_t bytes);
  ProgressLine::Look LookNow() const;
  void DrawBar();    // over the line that stands there, without a newline
  void FinishBar();  // leaves the cursor on a fresh line
  void WriteLine();  // line_ as plain text with a newline
  void WriteStepJson(const StepReport& report);
  void WriteEpochJson(const EpochReport& report);
  void WriteOutputJson(const EpochReport& report, size_t number);
  void Write(std::string_view text);

  int fd_;
  ProgressFormat format_;  // never Auto
  bool color_ = false;
  bool ascii_ = false;
  Clock::duration interval_;
  Clock::time_point last_;  // when something about a step was written
  bool bar_on_screen_ = false;
  bool reader_gone_ = false;

  int64_t epoch_ = 0;  // the epoch that the next four are about
  Clock::time_point epoch_start_;
  int64_t epoch_steps_ = 0;  // seen by us
  int64_t last_step_ = 0;
  int64_t steps_per_epoch_ = 0;
  int64_t budget_bytes_ = 0;

  ProgressLine line_;
  FixedText<1024> out_;
};

}  // namespace plimsoll
