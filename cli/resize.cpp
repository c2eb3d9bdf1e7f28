// resize: tells a running job its new budget and shows its answer; a refusal is exit code 4, and the job goes on as before.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include "output.h"
#include "verbs.h"

using plimsoll::PrettyBytes;
using plimsoll::Status;

namespace {

Json AnswerAsJson(const plimsoll::ResizeAnswer& answer) {
  return {{"taken", answer.taken},           {"pending", answer.pending},
          {"update", answer.update},         {"budget_bytes", answer.budget_bytes},
          {"peak_bytes", answer.peak_bytes}, {"min_bytes", answer.min_bytes},
          {"message", answer.message}};
}

}  // namespace

int RunResize(const Arguments& arguments) {
  if (arguments.target.empty() || arguments.memory.empty()) {
    return Fail(arguments.json, Status::Usage("which job, and how much memory?", "plimsoll resize runs/NAME --memory 128MB"));
  }
  plimsoll::Result<plimsoll::ResizeAnswer> answer =
      plimsoll::Resize(arguments.target, arguments.memory, arguments.wait_seconds);
  if (!answer.ok()) return Fail(arguments.json, answer.status());
  if (!answer->taken && !answer->pending) {
    return Fail(arguments.json,
                Status::OverBudget({.message = answer->message,
                                    .hint = fmt::format("--memory {} or more; the job goes on as before", answer->min_bytes),
                                    .min_bytes = answer->min_bytes}));
  }
  if (arguments.json) return AnswerJson(AnswerAsJson(*answer));
  if (answer->pending) return Answer(fmt::format("pending  {}\n", answer->message));
  std::string text = fmt::format("taken   after update {}: {} planned of {}\n", answer->update, PrettyBytes(answer->peak_bytes),
                                 PrettyBytes(answer->budget_bytes));
  if (!answer->message.empty()) text += fmt::format("        {}\n", answer->message);
  return Answer(text);
}
