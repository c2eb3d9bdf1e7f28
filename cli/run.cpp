#include "run.h"

#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include "companion.h"
#include "output.h"

using plimsoll::PrettyBytes;

namespace {

// Hands everything on to the progress shown, and remembers the peak after the first and the last epoch under the last plan.
class EpochPeaks final : public plimsoll::Observer {
 public:
  explicit EpochPeaks(plimsoll::Observer& shown) : shown_(shown) {}
  void Started(const plimsoll::RunFacts& facts) override { shown_.Started(facts); }
  void Ended(const plimsoll::RunEnd& end) override { shown_.Ended(end); }
  void Planned(const plimsoll::Plan& plan) override {
    first_epoch_ = 0;
    shown_.Planned(plan);
  }
  void Message(std::string_view text) override { shown_.Message(text); }
  void Step(const plimsoll::StepReport& report) override { shown_.Step(report); }
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
  text += fmt::format("time    {:.1f} s, {} updates in {} epochs\n", result.seconds, result.updates, result.epochs);
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
  if (!out.empty()) json["run"] = out;
  if (!result.model_folder.empty()) json["model"] = result.model_folder;
  return json;
}

}  // namespace

int TrainAndAnswer(const plimsoll::Job& job, const std::string& out, const Arguments& arguments) {
  std::unique_ptr<plimsoll::Observer> progress = ProgressFor(arguments);
  EpochPeaks peaks(*progress);
  plimsoll::Result<plimsoll::RunResult> result =
      plimsoll::Train(job, {.out = out, .observer = &peaks, .log_every = arguments.log_every, .trace = TracedSteps(arguments)});
  progress.reset();  // leaves the terminal on a fresh line before anything is told
  if (!result.ok()) return EndWithReport(out, Fail(arguments.json, result.status()), arguments);
  const bool has_page = !out.empty() && !arguments.no_report;
  const std::string page = has_page ? fmt::format("report  {}/report.html\n", out) : "";
  const int answered =
      arguments.json ? AnswerJson(ReportJson(*result, peaks, out)) : Answer(Report(*result, peaks, out) + page);
  return EndWithReport(out, answered, arguments);
}
