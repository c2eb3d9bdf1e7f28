// generate: text from a language model, written as it comes.
#include <fmt/format.h>
#include <plimsoll/generate.h>
#include <unistd.h>

#include "output.h"
#include "signals.h"
#include "verbs.h"

namespace {

using plimsoll::Status;

std::string JsonText(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// Writes to stdout. As JSON it is written piece by piece, too, so that a text of any length takes no memory.
class Page final : public plimsoll::TextSink {
 public:
  Page(bool json, bool several) : json_(json), several_(several) {}

  Status Begin(int64_t number) override {
    if (json_) return Put(number == 0 ? "{\"texts\": [\n  {\"text\": \"" : ",\n  {\"text\": \"", /*inside=*/true);
    return Put(several_ ? fmt::format("--- {} ---\n", number + 1) : "", /*inside=*/true);
  }
  Status Text(std::string_view text) override {
    if (!json_) return Put(text, /*inside=*/true);
    const std::string quoted = JsonText(text);
    return Put(std::string_view(quoted).substr(1, quoted.size() - 2), /*inside=*/true);
  }
  Status End(const plimsoll::TextEnd& end) override {
    if (!json_) return Put("\n", /*inside=*/false);
    return Put(fmt::format("\", \"tokens\": {}, \"ended\": \"{}\"}}", end.tokens, end.why), /*inside=*/false);
  }

  bool begun() const { return begun_; }
  bool failed() const { return failed_; }
  // Brings a text that was cut off to an end.
  void Close() {
    if (inside_) (void)Put(json_ ? "\"}" : "\n", /*inside=*/false);
  }
  Status Put(std::string_view text, bool inside) {
    begun_ = true;
    inside_ = inside;
    failed_ = Answer(text) != 0;  // which has told why
    return failed_ ? Status::CannotWrite("cannot write to stdout") : Status::Ok();
  }

 private:
  bool json_;
  bool several_;
  bool begun_ = false;
  bool inside_ = false;  // a text
  bool failed_ = false;
};

// On a terminal the text itself is the progress, and notes alone are told.
class Notes final : public plimsoll::Observer {
 public:
  void Message(std::string_view text) override { fmt::print(stderr, "{}\n", text); }
};

// What went wrong, behind what is written already.
int FailBehind(Page& page, bool json, const Status& status) {
  if (page.failed()) return status.exit_code();
  page.Close();
  if (!json || !page.begun()) return Fail(json, status);
  const Json error = {{"code", status.exit_code()}, {"message", status.message()}, {"hint", status.hint()}};
  return Answer(fmt::format("],\n \"error\": {}}}\n", error.dump())) == 0 ? status.exit_code()
                                                                          : static_cast<int>(plimsoll::StatusKind::CannotWrite);
}

}  // namespace

int RunGenerate(const Arguments& arguments) {
  if (arguments.target.empty())
    return Fail(arguments.json, Status::Usage("which model? the run folder is missing", "plimsoll generate runs/NAME"));
  if (!arguments.memory.empty()) {
    if (const Status memory = plimsoll::CheckMemoryText(arguments.memory); !memory.ok()) return Fail(arguments.json, memory);
  }
  const bool on_terminal = isatty(STDOUT_FILENO) == 1 && !arguments.json && !arguments.quiet;
  const std::unique_ptr<plimsoll::Observer> progress = on_terminal ? std::make_unique<Notes>() : ProgressFor(arguments);
  Page page(arguments.json, arguments.count > 1);
  const plimsoll::Result<plimsoll::GenerateResult> made = plimsoll::Generate({.model = arguments.target,
                                                                              .prompt = arguments.prompt,
                                                                              .prompt_file = arguments.prompt_file,
                                                                              .tokens = arguments.tokens,
                                                                              .temperature = arguments.temperature,
                                                                              .top_k = arguments.top_k,
                                                                              .top_p = arguments.top_p,
                                                                              .seed = arguments.seed,
                                                                              .stop = arguments.stop,
                                                                              .count = arguments.count,
                                                                              .memory = arguments.memory,
                                                                              .threads = arguments.threads,
                                                                              .sink = &page,
                                                                              .observer = progress.get(),
                                                                              .stop_request = HearSignals()});
  if (!made.ok()) return FailBehind(page, arguments.json, made.status());
  if (!arguments.json) return 0;
  const plimsoll::GenerateResult& result = made.value();
  return Answer(
      fmt::format("],\n \"tokens\": {},\n \"seconds\": {:.6g},\n \"unknown\": {},\n \"peak_bytes\": {},\n"
                  " \"budget_bytes\": {}}}\n",
                  result.tokens, result.seconds, result.unknown, result.peak_bytes, result.plan.budget_bytes));
}
