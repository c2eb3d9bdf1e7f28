// predict: what a trained model says of new data, on stdout as it comes.
#include <fmt/format.h>
#include <plimsoll/predict.h>

#include <utility>

#include "output.h"
#include "verbs.h"

namespace {

plimsoll::DataFormat InputFormat(const std::string& name) {
  using plimsoll::DataFormat;
  constexpr std::pair<const char*, DataFormat> kNames[] = {{"text", DataFormat::Text},
                                                           {"tsv", DataFormat::Tsv},
                                                           {"csv", DataFormat::Csv},
                                                           {"jsonl", DataFormat::Jsonl},
                                                           {"conll", DataFormat::Conll}};
  for (const auto& [known, format] : kNames) {
    if (name == known) return format;
  }
  return DataFormat::Auto;
}

}  // namespace

int RunPredict(const Arguments& arguments) {
  using plimsoll::Status;
  if (arguments.target.empty())
    return Fail(arguments.json, Status::Usage("which model? the run folder is missing", "plimsoll predict runs/NAME FILE"));
  if (!arguments.memory.empty()) {
    if (const Status memory = plimsoll::CheckMemoryText(arguments.memory); !memory.ok()) return Fail(arguments.json, memory);
  }
  const auto tsv = arguments.format == "tsv";
  if (tsv && arguments.json)
    return Fail(true, Status::Usage("--json and --format tsv: the answer has one form", "leave one of them out"));
  bool unwritten = false;
  const auto write = [&](std::string_view lines) {
    unwritten = Answer(lines) != 0;  // which has told why
    return unwritten ? Status::CannotWrite("cannot write to stdout") : Status::Ok();
  };
  plimsoll::Result<plimsoll::PredictResult> result =
      plimsoll::Predict({.model = arguments.target,
                         .data_file = arguments.input.empty() ? "-" : arguments.input,
                         .lengths = arguments.lengths,
                         .initial_state = arguments.initial_state,
                         .input_format = InputFormat(arguments.input_format),
                         .format = tsv ? plimsoll::PredictFormat::Tsv : plimsoll::PredictFormat::Jsonl,
                         .top = arguments.top,
                         .skip_bad = arguments.skip_bad,
                         .memory = arguments.memory,
                         .threads = arguments.threads},
                        write);
  if (!result.ok()) return unwritten ? result.status().exit_code() : Fail(arguments.json, result.status());
  for (const std::string& line : result->bad_lines) fmt::print(stderr, "passed over {}\n", Plain(line));
  if (result->bad > static_cast<int64_t>(result->bad_lines.size()))
    fmt::print(stderr, "passed over {} lines in all\n", result->bad);
  if (result->unseen > 0)
    fmt::print(
        stderr,
        "warning: {} rows have a value in data.categories that training does not have; its features are all zeros there. "
        "The first: {}\n",
        result->unseen, Plain(result->first_unseen));
  return 0;
}
