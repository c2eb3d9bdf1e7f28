#include "report/progress.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "plimsoll/plan.h"

namespace plimsoll {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kWidestBar = 20;
constexpr int kNarrowestBar = 8;
constexpr int kUsualColumns = 80;

// What goes first when the window is narrow. ProgressLine::kBarWorth stands between them.
enum StepWorth { StepTime = 1, Accuracy = 2, TimeLeft = 3, Memory = 5, Loss = 6 };
enum EpochWorth {
  EpochTime = 1,
  TrainAccuracy = 2,
  EpochMemory = 3,
  ValidMetric = 3,
  TrainLoss = 5,
  ValidAccuracy = 6,
  ValidLoss = 7
};
constexpr int kMostWorth = 7;

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsTerminal(int fd) { return ::isatty(fd) == 1 && Variable("TERM") != "dumb"; }

// The locale that was asked for by name has no line-drawing characters. An unset one says nothing.
bool AsksForAscii() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = Variable(name);
    if (!locale.empty()) return locale == "C" || locale == "POSIX";
  }
  return false;
}

// Lines broken between words; what is broken goes on under the text of its line.
std::string Wrapped(std::string_view text, int columns) {
  constexpr size_t kIndent = 7;
  const size_t room = static_cast<size_t>(std::max(columns, 40) - 1);
  std::string wrapped;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    size_t indent = 0;
    while (indent + line.size() > room) {
      const size_t space = line.rfind(' ', room - indent);
      if (space == std::string_view::npos || space <= kIndent) break;  // one long word
      wrapped.append(indent, ' ').append(line.substr(0, space)) += '\n';
      line.remove_prefix(space + 1);
      indent = kIndent;
    }
    wrapped.append(indent, ' ').append(line) += '\n';
  }
  return wrapped;
}

double Seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

template <size_t capacity>
void AddDuration(FixedText<capacity>& text, double seconds) {
  if (!std::isfinite(seconds)) return text.Append("-:--");
  const auto whole = int64_t{std::llround(std::clamp(seconds, 0.0, 3.6e8))};
  if (whole < 3600) {
    text.Add("{}:{:02}", whole / 60, whole % 60);
  } else {
    text.Add("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
}

template <size_t capacity>
void AddStepTime(FixedText<capacity>& text, double ms) {
  if (ms >= 1000.0) {
    text.Add("{:.1f} s/step", ms / 1000.0);
  } else if (ms >= 9.95) {
    text.Add("{:.0f} ms/step", ms);
  } else {
    text.Add("{:.1f} ms/step", ms);
  }
}

template <size_t capacity>
void AddLoss(FixedText<capacity>& text, const char* name, double loss) {
  const double size = std::abs(loss);
  if (size != 0.0 && (size < 1e-3 || size >= 1e4)) {
    text.Add("{} {:.3e}", name, loss);
  } else {
    text.Add("{} {:.4f}", name, loss);
  }
}

// 188 beside 256, but 9.4 beside 32: small budgets are about tenths.
void AddMegabytes(FixedText<48>& text, int64_t bytes) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  if (megabytes < 99.95 && bytes % 1'000'000 != 0) {
    text.Add("{:.1f}", megabytes);
  } else {
    text.Add("{:.0f}", megabytes);
  }
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// Names come from the user and may hold anything; what would move a cursor is not shown.
template <size_t capacity>
void AddShown(FixedText<capacity>& text, std::string_view name) {
  for (const char c : name) {
    const char shown = IsControl(c) ? '?' : c;
    text.Append({&shown, 1});
  }
}

constexpr size_t kNameBytes = 80;  // of an output; six bytes of JSON at most for each, and the numbers must fit

}  // namespace

FixedText<48>& ProgressLine::Field(int worth) {
  Worded& field = fields_[std::min(count_, fields_.size() - 1)];
  count_ = std::min(count_ + 1, fields_.size());
  field.text.Clear();
  field.worth = worth;
  return field.text;
}

void ProgressLine::Clear() {
  head.Clear();
  done = -1.0;
  count_ = 0;
}

int ProgressLine::Compose(const Look& look, FixedText<2048>& out) const {
  const std::string_view separator = look.ascii ? " | " : " · ";
  const int room = look.columns > 0 ? look.columns - 1 : 1'000;  // the last column makes some terminals wrap
  int least = 1;
  int fields_columns = 0;
  bool bar = false;
  for (; least <= kMostWorth + 1; ++least) {
    bar = look.bar && done >= 0.0 && kBarWorth >= least;
    fields_columns = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (fields_[i].worth >= least) fields_columns += fields_[i].text.columns() + (fields_columns == 0 ? 0 : 3);
    }
    const int gap = fields_columns == 0 ? 0 : (bar ? 1 : 2);
    if (head.columns() + (bar ? 1 + kNarrowestBar : 0) + gap + fields_columns <= room) break;
  }

  // A head that is wider than the window is cut, between characters.
  int columns = 0;
  size_t bytes = 0;
  for (const std::string_view text = head.view(); bytes < text.size(); ++bytes) {
    if ((static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) continue;
    if (columns == std::max(room, 1)) break;
    ++columns;
  }
  out.Append(head.view().substr(0, bytes));
  if (bar) {
    const int cells =
        std::clamp(room - head.columns() - 1 - (fields_columns == 0 ? 0 : 1 + fields_columns), kNarrowestBar, kWidestBar);
    const int full = std::clamp(static_cast<int>(done * cells), 0, cells);
    out.Append(" ");
    if (look.color) out.Append("\x1b[32m");
    for (int i = 0; i < full; ++i) out.Append(look.ascii ? "=" : "━");
    if (look.color) out.Append("\x1b[0m");
    for (int i = full; i < cells; ++i) out.Append(look.ascii ? "-" : "─");
    columns += 1 + cells;
  }
  bool first = true;
  for (size_t i = 0; i < count_; ++i) {
    if (fields_[i].worth < least) continue;
    out.Append(first ? (bar ? " " : "  ") : separator);
    out.Append(fields_[i].text.view());
    first = false;
  }
  return columns + (first ? 0 : (bar ? 1 : 2) + fields_columns);
}

Progress::Progress(const ProgressOptions& options)
    : fd_(options.fd),
      format_(options.format),
      ascii_(AsksForAscii()),
      interval_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(std::clamp(options.line_seconds, 0.0, 1e6)))) {
  if (format_ == ProgressFormat::Auto) format_ = IsTerminal(fd_) ? ProgressFormat::Bar : ProgressFormat::Line;
  if (format_ == ProgressFormat::Bar) interval_ = kRedraw;
  color_ = options.color == ColorMode::Always ||
           (options.color == ColorMode::Auto && IsTerminal(fd_) && Variable("NO_COLOR").empty());
  last_ = Clock::now();
  if (format_ == ProgressFormat::Bar) last_ -= kRedraw;  // a bar shows at once, a line after its interval
}

Progress::~Progress() { FinishBar(); }

void Progress::Planned(const Plan& plan) {
  budget_bytes_ = plan.budget_bytes;
  if (format_ == ProgressFormat::None) return;
  if (format_ != ProgressFormat::Json) {
    FinishBar();
    WriteText(format_ == ProgressFormat::Bar ? Wrapped(PlanText(plan), LookNow().columns) : PlanText(plan));
    return;
  }
  out_.Clear();
  out_.Add(
      "{{\"event\":\"plan\",\"feasible\":{},\"budget_bytes\":{},\"peak_bytes\":{},\"min_bytes\":{},\"full_speed_bytes\":{}",
      plan.feasible, plan.budget_bytes, plan.peak_bytes, plan.min_bytes, plan.full_speed_bytes);
  AddJsonNumber(out_, "recompute_factor", plan.recompute_factor);
  out_.Append("}\n");
  Write(out_.view());
}

void Progress::Reading(const ReadingReport& report) {
  if (format_ == ProgressFormat::None) return;
  const Clock::time_point now = Clock::now();
  const bool done = report.bytes >= report.total_bytes;
  if (now - last_ < interval_ && !(done && bar_on_screen_)) return;
  last_ = now;
  const double share =
      report.total_bytes > 0 ? static_cast<double>(report.bytes) / static_cast<double>(report.total_bytes) : 1.0;
  if (format_ == ProgressFormat::Json) {
    out_.Clear();
    out_.Add("{{\"event\":\"reading\",\"pass\":\"{}\",\"bytes\":{},\"total_bytes\":{},\"lines\":{}}}\n",
             report.counts ? "count" : "store", report.bytes, report.total_bytes, report.lines);
    Write(out_.view());
    return;
  }
  line_.Clear();
  line_.head.Add("{}", report.counts ? "counting" : "storing");
  line_.done = share;
  line_.Field(Loss).Add("{:.0f} %", 100.0 * share);
  line_.Field(TimeLeft).Add("{} lines", report.lines);
  if (format_ == ProgressFormat::Bar) {
    DrawBar();
    if (done) FinishBar();
  } else {
    WriteLine();
  }
}

void Progress::Message(std::string_view text) {
  if (format_ == ProgressFormat::None) return;
  FinishBar();
  if (format_ != ProgressFormat::Json) {
    WriteText(text);
    Write("\n");
    return;
  }
  out_.Clear();
  out_.Append("{\"event\":\"message\",\"text\":\"");
  AddJsonText(out_, text.substr(0, 150));  // six bytes at most for each of ours, and the end must fit
  out_.Append("\"}\n");
  Write(out_.view());
}

void Progress::Step(const StepReport& report) {
  if (format_ == ProgressFormat::None) return;
  const Clock::time_point now = Clock::now();
  NoteStep(report, now);
  if (now - last_ < interval_) return;
  last_ = now;
  if (format_ == ProgressFormat::Json) {
    WriteStepJson(report);
    return;
  }
  FillStepLine(report, now);
  if (format_ == ProgressFormat::Bar) {
    DrawBar();
  } else {
    WriteLine();
  }
}

void Progress::Work(const WorkReport& report) {
  if (format_ == ProgressFormat::None) return;
  const Clock::time_point now = Clock::now();
  if (report.done <= work_done_ || work_done_ == 0) work_start_ = now;  // another piece of work
  work_done_ = report.done;
  if (report.resident_bytes > 0) {
    resident_bytes_ = report.resident_bytes;
    budget_bytes_ = report.budget_bytes;
  }
  if (now - last_ < interval_) return;
  last_ = now;
  if (format_ == ProgressFormat::Json) {
    WriteWorkJson(report);
    return;
  }
  FillWorkLine(report, now);
  if (format_ == ProgressFormat::Bar) {
    DrawBar();
    bar_passes_ = true;
  } else {
    WriteLine();
  }
}

void Progress::Epoch(const EpochReport& report) {
  if (format_ == ProgressFormat::None) return;
  last_ = Clock::now();
  if (format_ == ProgressFormat::Json) {
    WriteEpochJson(report);
    for (size_t i = 0; i < report.outputs.size(); ++i) WriteOutputJson(report, i);
    return;
  }
  FillEpochLine(report);
  TellLine();
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    FillOutputLine(report, i);
    TellLine();
  }
}

void Progress::TellLine() {
  if (format_ == ProgressFormat::Bar) {
    DrawBar();
    FinishBar();
  } else {
    WriteLine();
  }
}

void Progress::WriteOutputJson(const EpochReport& report, size_t number) {
  out_.Clear();
  out_.Add("{{\"event\":\"output\",\"epoch\":{},\"output\":\"", report.epoch);
  AddJsonText(out_, std::string_view(report.outputs[number]).substr(0, kNameBytes));
  out_.Append("\"");
  const auto add = [&](const char* loss, const char* accuracy, const OutputScore& score) {
    AddJsonNumber(out_, loss, score.loss);
    if (score.accuracy >= 0.0) AddJsonNumber(out_, accuracy, score.accuracy);
  };
  add("loss", "accuracy", report.train.outputs[number]);
  if (report.has_valid) add("val_loss", "val_accuracy", report.valid.outputs[number]);
  out_.Append("}\n");
  Write(out_.view());
}

void Progress::NoteStep(const StepReport& report, Clock::time_point now) {
  if (report.epoch != epoch_) {
    epoch_ = report.epoch;
    epochs_ = report.epochs;
    epoch_steps_ = 0;
    const std::chrono::duration<double, std::milli> step(std::isfinite(report.step_ms) ? std::clamp(report.step_ms, 0.0, 1e9)
                                                                                       : 0.0);
    epoch_start_ = now - std::chrono::duration_cast<Clock::duration>(step);
  }
  ++epoch_steps_;
  last_step_ = report.step_in_epoch;
  steps_per_epoch_ = report.steps_per_epoch;
  if (report.budget_bytes > 0) budget_bytes_ = report.budget_bytes;
  resident_bytes_ = report.resident_bytes;
}

void Progress::FillStepLine(const StepReport& report, Clock::time_point now) {
  const double step_seconds = Seconds(now - epoch_start_) / static_cast<double>(std::max<int64_t>(epoch_steps_, 1));
  line_.Clear();
  line_.head.Add("Epoch {}/{}  {}", report.epoch, report.epochs, report.step_in_epoch);
  if (report.steps_per_epoch > 0) {
    line_.head.Add("/{}", report.steps_per_epoch);
    line_.done = static_cast<double>(report.step_in_epoch) / static_cast<double>(report.steps_per_epoch);
    FixedText<48>& left = line_.Field(TimeLeft);
    AddDuration(left, step_seconds * static_cast<double>(report.steps_per_epoch - report.step_in_epoch));
    left.Append(" left");
  }
  AddStepTime(line_.Field(StepTime), step_seconds * 1000.0);
  AddLoss(line_.Field(Loss), "loss", report.loss);
  if (report.accuracy >= 0.0) line_.Field(Accuracy).Add("accuracy {:.3f}", report.accuracy);
  AddMemory(Memory, report.resident_bytes);
}

// "Epoch 2/5  validation  300/1250 ━━━━── 0:03 left"; before the first epoch without its number.
void Progress::FillWorkLine(const WorkReport& report, Clock::time_point now) {
  line_.Clear();
  if (epoch_ > 0) line_.head.Add("Epoch {}/{}  ", epoch_, epochs_);
  AddShown(line_.head, report.what);
  line_.head.Add("  {}", report.done);
  if (report.total > 0) {
    line_.head.Add("/{}", report.total);
    line_.done = static_cast<double>(report.done) / static_cast<double>(report.total);
    FixedText<48>& left = line_.Field(TimeLeft);
    AddDuration(left, Seconds(now - work_start_) / static_cast<double>(std::max<int64_t>(report.done, 1)) *
                          static_cast<double>(report.total - report.done));
    left.Append(" left");
  }
  if (resident_bytes_ > 0) AddMemory(Memory, resident_bytes_);
}

void Progress::FillEpochLine(const EpochReport& report) {
  line_.Clear();
  line_.head.Add("Epoch {}/{}", report.epoch, report.epochs);
  if (report.epoch == epoch_ && steps_per_epoch_ > 0) {
    line_.head.Add("  {}/{}", last_step_, steps_per_epoch_);
    line_.done = static_cast<double>(last_step_) / static_cast<double>(steps_per_epoch_);
  }
  if (report.seconds >= 0.0 && report.seconds < 9.95) {
    line_.Field(EpochTime).Add("{:.1f} s", report.seconds);
  } else {
    AddDuration(line_.Field(EpochTime), report.seconds);
  }
  AddScores({report.train.loss, report.train.accuracy}, {report.valid.loss, report.valid.accuracy}, report.has_valid);
  if (report.has_valid && report.valid.label_error_rate >= 0.0)
    line_.Field(ValidAccuracy).Add("val_label_error_rate {:.3f}", report.valid.label_error_rate);
  for (const MetricValue& metric : report.valid.metrics)
    line_.Field(ValidMetric).Add("{} {:.4g}", FactsOf(metric.metric).monitored, metric.value);
  AddMemory(EpochMemory, report.peak_bytes);
}

// One of several outputs, under the line of the epoch.
void Progress::FillOutputLine(const EpochReport& report, size_t number) {
  line_.Clear();
  line_.head.Append("  ");
  AddShown(line_.head, report.outputs[number]);
  AddScores(report.train.outputs[number], report.valid.outputs[number], report.has_valid);
}

void Progress::AddScores(const OutputScore& train, const OutputScore& valid, bool has_valid) {
  AddLoss(line_.Field(TrainLoss), "loss", train.loss);
  if (train.accuracy >= 0.0) line_.Field(TrainAccuracy).Add("accuracy {:.3f}", train.accuracy);
  if (!has_valid) return;
  AddLoss(line_.Field(ValidLoss), "val_loss", valid.loss);
  if (valid.accuracy >= 0.0) line_.Field(ValidAccuracy).Add("val_accuracy {:.3f}", valid.accuracy);
}

void Progress::AddMemory(int worth, int64_t bytes) {
  FixedText<48>& memory = line_.Field(worth);
  memory.Append("mem ");
  AddMegabytes(memory, bytes);
  if (budget_bytes_ > 0) {
    memory.Append("/");
    AddMegabytes(memory, budget_bytes_);
  }
  memory.Append(" MB");
}

ProgressLine::Look Progress::LookNow() const {
  winsize window = {};
  const bool known = ::ioctl(fd_, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return {.bar = true, .color = color_, .ascii = ascii_, .columns = known ? window.ws_col : kUsualColumns};
}

// A window that has become narrower has broken the line that stands there into several: the first of them is where to draw.
void Progress::GoToBar(int columns) {
  const int broken = bar_on_screen_ ? (bar_columns_ - 1) / std::max(columns, 1) : 0;
  if (broken > 0) out_.Add("\x1b[{}A", broken);
  out_.Append("\r");
  if (broken > 0) out_.Append("\x1b[J");
}

void Progress::DrawBar() {
  const ProgressLine::Look look = LookNow();
  out_.Clear();
  GoToBar(look.columns);
  bar_columns_ = line_.Compose(look, out_);
  out_.Append("\x1b[K");  // what the last, longer line left behind
  bar_on_screen_ = true;
  bar_passes_ = false;
  Write(out_.view());
}

void Progress::FinishBar() {
  if (!bar_on_screen_) return;
  out_.Clear();
  if (bar_passes_) {
    GoToBar(LookNow().columns);
    out_.Append("\x1b[K");
  } else {
    out_.Append("\n");
  }
  bar_on_screen_ = false;
  Write(out_.view());
}

void Progress::WriteLine() {
  out_.Clear();
  line_.Compose({.bar = false, .color = false, .ascii = ascii_, .columns = 0}, out_);
  out_.Append("\n");
  Write(out_.view());
}

void Progress::WriteStepJson(const StepReport& report) {
  out_.Clear();
  out_.Add("{{\"event\":\"step\",\"epoch\":{},\"epochs\":{},\"step\":{},\"steps\":{},\"update\":{}", report.epoch,
           report.epochs, report.step_in_epoch, report.steps_per_epoch, report.update);
  AddJsonNumber(out_, "loss", report.loss);
  if (report.accuracy >= 0.0) AddJsonNumber(out_, "accuracy", report.accuracy);
  AddJsonNumber(out_, "step_ms", report.step_ms);
  out_.Add(",\"resident_bytes\":{},\"budget_bytes\":{}}}\n", report.resident_bytes, report.budget_bytes);
  Write(out_.view());
}

void Progress::WriteEpochJson(const EpochReport& report) {
  out_.Clear();
  out_.Add("{{\"event\":\"epoch\",\"epoch\":{},\"epochs\":{},\"updates\":{}", report.epoch, report.epochs, report.updates);
  AddJsonNumber(out_, "seconds", report.seconds);
  AddJsonNumber(out_, "loss", report.train.loss);
  if (report.train.accuracy >= 0.0) AddJsonNumber(out_, "accuracy", report.train.accuracy);
  if (report.has_valid) {
    AddJsonNumber(out_, "val_loss", report.valid.loss);
    if (report.valid.accuracy >= 0.0) AddJsonNumber(out_, "val_accuracy", report.valid.accuracy);
    if (report.valid.label_error_rate >= 0.0) AddJsonNumber(out_, "val_label_error_rate", report.valid.label_error_rate);
  }
  for (const MetricValue& metric : report.train.metrics) AddJsonNumber(out_, MetricName(metric.metric), metric.value);
  for (const MetricValue& metric : report.valid.metrics) AddJsonNumber(out_, FactsOf(metric.metric).monitored, metric.value);
  out_.Add(",\"peak_bytes\":{}}}\n", report.peak_bytes);
  Write(out_.view());
}

void Progress::WriteWorkJson(const WorkReport& report) {
  out_.Clear();
  out_.Append("{\"event\":\"work\",\"what\":\"");
  AddJsonText(out_, report.what.substr(0, kNameBytes));
  out_.Add("\",\"epoch\":{},\"done\":{},\"total\":{}", epoch_, report.done, report.total);
  if (report.resident_bytes > 0)
    out_.Add(",\"resident_bytes\":{},\"budget_bytes\":{}", report.resident_bytes, report.budget_bytes);
  out_.Append("}\n");
  Write(out_.view());
}

void Progress::WriteText(std::string_view text) {
  while (!text.empty()) {
    const auto control = [](char c) { return IsControl(c) && c != '\n'; };
    const size_t clean = static_cast<size_t>(std::find_if(text.begin(), text.end(), control) - text.begin());
    Write(text.substr(0, clean));
    if (clean < text.size()) Write("?");
    text.remove_prefix(std::min(clean + 1, text.size()));
  }
}

void Progress::Write(std::string_view text) {
  while (!text.empty() && !reader_gone_) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;  // a slow reader misses a line; the run does not wait for it
    } else if (errno != EINTR) {
      reader_gone_ = true;
    }
  }
}

std::unique_ptr<Observer> MakeProgress(const ProgressOptions& options) { return std::make_unique<Progress>(options); }

}  // namespace plimsoll
