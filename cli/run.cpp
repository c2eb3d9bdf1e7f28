#include "run.h"

#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include <filesystem>

#include "companion.h"
#include "output.h"
#include "signals.h"

using plimsoll::PrettyBytes;

namespace {

// Hands everything on to the progress shown, and remembers the peak after the first and the last epoch under the last plan.
class EpochPeaks final : public plimsoll::Observer {
 public:
  explicit EpochPeaks(plimsoll::Observer& shown) : shown_(shown) {}
  void Reading(const plimsoll::ReadingReport& report) override { shown_.Reading(report); }
  void Started(const plimsoll::RunFacts& facts) override { shown_.Started(facts); }
  void Ended(const plimsoll::RunEnd& end) override { shown_.Ended(end); }
  void Planned(const plimsoll::Plan& plan) override {
    first_epoch_ = 0;
    shown_.Planned(plan);
  }
  void Message(std::string_view text) override { shown_.Message(text); }
  void Step(const plimsoll::StepReport& report) override { shown_.Step(report); }
  void Saved(const plimsoll::SaveReport& report) override { shown_.Saved(report); }
  void Resumed(int64_t updates, int64_t epoch) override { shown_.Resumed(updates, epoch); }
  void Work(const plimsoll::WorkReport& report) override { shown_.Work(report); }
  void Epoch(const plimsoll::EpochReport& report) override {
    if (first_epoch_ == 0) {
      first_epoch_ = report.epoch;
      first_ = report.peak_bytes;
    }
    last_epoch_ = report.epoch;
    last_ = report.peak_bytes;
    shown_.Epoch(report);
  }

  int64_t first_epoch() const { return first_epoch_; }
  int64_t last_epoch() const { return last_epoch_; }
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

 private:
  plimsoll::Observer& shown_;
  int64_t first_epoch_ = 0;  // 0: none has ended
  int64_t last_epoch_ = 0;
  int64_t first_ = 0;
  int64_t last_ = 0;
};

std::string Report(const plimsoll::RunResult& result, const EpochPeaks& peaks, const std::string& out) {
  std::string text =
      fmt::format("before  {}\nafter   {}\n", ScoreText(result.first, result.outputs), ScoreText(result.last, result.outputs));
  if (result.best_epoch > 0) text += fmt::format("best    epoch {}, whose weights the model holds\n", result.best_epoch);
  if (result.ended == "patience") text += "ended   early: no epoch was better for train.patience epochs\n";
  if (result.ended == "max_time") text += fmt::format("ended   by --max-time; --resume {} goes on\n", out);
  text += fmt::format("time    {:.1f} s, {} updates in {} epochs", result.seconds, result.updates, result.epochs);
  if (result.resumed_at > 0) text += fmt::format("; {} of them before it was resumed", result.resumed_at);
  if (result.skipped > 0) text += fmt::format("; {} not finite and left out", result.skipped);
  text += "\n";
  text += fmt::format("memory  planned {} · measured {} · budget {}\n", PrettyBytes(result.plan.peak_bytes),
                      PrettyBytes(result.peak_bytes), PrettyBytes(result.plan.budget_bytes));
  if (peaks.first_epoch() > 0 && peaks.last_epoch() > peaks.first_epoch()) {
    const int64_t growth = peaks.last() - peaks.first();
    text += growth == 0 ? fmt::format("        flat: not a byte more after epoch {} than after epoch {}\n", peaks.last_epoch(),
                                      peaks.first_epoch())
                        : fmt::format("        grew by {} from epoch {} to epoch {}\n", PrettyBytes(growth),
                                      peaks.first_epoch(), peaks.last_epoch());
  }
  if (!out.empty()) text += fmt::format("run     {}\n", out);
  return text;
}

Json ReportJson(const plimsoll::RunResult& result, const EpochPeaks& peaks, const std::string& out) {
  Json json = {{"first", ScoreJson(result.first, result.outputs)},
               {"last", ScoreJson(result.last, result.outputs)},
               {"updates", result.updates},
               {"epochs", result.epochs},
               {"seconds", result.seconds},
               {"peak_bytes", result.peak_bytes},
               {"planned_bytes", result.plan.peak_bytes},
               {"budget_bytes", result.plan.budget_bytes},
               {"growth_bytes", peaks.last() - peaks.first()}};
  if (!result.ended.empty()) json["ended"] = result.ended;
  if (result.best_epoch > 0) json["best_epoch"] = result.best_epoch;
  if (result.resumed_at > 0) json["resumed_at"] = result.resumed_at;
  if (result.skipped > 0) json["skipped"] = result.skipped;
  if (!out.empty()) json["run"] = out;
  if (!result.model_folder.empty()) json["model"] = result.model_folder;
  return json;
}

}  // namespace

std::string Numbered(const std::string& path, int number) { return number == 1 ? path : fmt::format("{}-{}", path, number); }

bool IsTaken(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

std::string NewRunFolder(const std::string& path, const Arguments& arguments) {
  namespace fs = std::filesystem;
  const fs::path name = fs::path(path).filename();
  std::string plain = name == "." || name == ".." ? fs::absolute(path).lexically_normal().string() : path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();  // a number comes before it
  int number = 1;
  while (IsTaken(Numbered(plain, number))) ++number;
  if (number > 1 && !arguments.out.empty())
    ProgressFor(arguments)->Message(
        fmt::format("{} exists and stays as it is; this run is {}", plain, Numbered(plain, number)));
  return Numbered(plain, number);
}

int TrainAndAnswer(const plimsoll::Job& job, const std::string& out, const Arguments& arguments) {
  std::unique_ptr<plimsoll::Observer> progress = ProgressFor(arguments);
  EpochPeaks peaks(*progress);
  plimsoll::RunOptions options{.out = out, .observer = &peaks};
  options.resume = arguments.resume;
  options.allow_changes = arguments.allow_changes;
  options.stop = HearSignals();
  options.max_seconds = arguments.max_seconds;
  options.log_every = arguments.log_every;
  options.trace = TracedSteps(arguments);
  plimsoll::Result<plimsoll::RunResult> result = plimsoll::Train(job, options);
  progress.reset();  // leaves the terminal on a fresh line before anything is told
  if (!result.ok()) return EndWithReport(out, Fail(arguments.json, result.status()), arguments);
  const bool has_page = !out.empty() && !arguments.no_report;
  const std::string page = has_page ? fmt::format("report  {}/report.html\n", out) : "";
  const int answered =
      arguments.json ? AnswerJson(ReportJson(*result, peaks, out)) : Answer(Report(*result, peaks, out) + page);
  return EndWithReport(out, answered, arguments);
}
