// evaluate: the score of a trained model on its own data or on a file.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include "output.h"
#include "verbs.h"

int RunEvaluate(const Arguments& arguments) {
  using plimsoll::Status;
  if (arguments.target.empty())
    return Fail(arguments.json, Status::Usage("which model? the run folder is missing", "plimsoll evaluate runs/NAME"));
  for (const std::string* file :
       {&arguments.targets, &arguments.lengths, &arguments.target_lengths, &arguments.initial_state}) {
    if (arguments.data_file.empty() && !file->empty())
      return Fail(arguments.json, Status::Usage(fmt::format("\"{}\" belongs beside a --data file, and none is given", *file),
                                                "--data x.npy --targets y.npy"));
  }
  if (!arguments.memory.empty()) {
    if (const Status memory = plimsoll::CheckMemoryText(arguments.memory); !memory.ok()) return Fail(arguments.json, memory);
  }
  plimsoll::Result<plimsoll::EvaluateResult> result = plimsoll::Evaluate({.model = arguments.target,
                                                                          .data_file = arguments.data_file,
                                                                          .targets = arguments.targets,
                                                                          .lengths = arguments.lengths,
                                                                          .target_lengths = arguments.target_lengths,
                                                                          .initial_state = arguments.initial_state,
                                                                          .memory = arguments.memory,
                                                                          .threads = arguments.threads});
  if (!result.ok()) return Fail(arguments.json, result.status());
  if (arguments.json) {
    Json json = ScoreJson(result->score, result->outputs);
    json["samples"] = result->samples;
    json["peak_bytes"] = result->peak_bytes;
    json["budget_bytes"] = result->plan.budget_bytes;
    return AnswerJson(json);
  }
  return Answer(fmt::format("score   {}\n        {} targets of {} samples\nmemory  planned {} · measured {} · budget {}\n",
                            ScoreText(result->score, result->outputs), result->score.items, result->samples,
                            plimsoll::PrettyBytes(result->plan.peak_bytes), plimsoll::PrettyBytes(result->peak_bytes),
                            plimsoll::PrettyBytes(result->plan.budget_bytes)));
}
