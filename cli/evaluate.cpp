// evaluate: the score of a trained model on its own data or on a file.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include <algorithm>

#include "output.h"
#include "verbs.h"

namespace {

constexpr size_t kMostListed = 100;  // classes of a table; --json has them all

// The classes as scikit-learn's classification_report lists them.
std::string ClassTable(const std::vector<plimsoll::ClassScore>& classes) {
  size_t widest = 5;
  const size_t shown = std::min(classes.size(), kMostListed);
  for (size_t i = 0; i < shown; ++i) widest = std::max(widest, std::min<size_t>(classes[i].name.size(), 32));
  std::string text = fmt::format("\n{:>{}}  precision  recall      f1  support\n", "class", widest);
  for (size_t i = 0; i < shown; ++i) {
    const plimsoll::ClassScore& one = classes[i];
    text += fmt::format("{:>{}}  {:9.3f}  {:6.3f}  {:6.3f}  {:7}\n", Plain(one.name.substr(0, 32)), widest, one.precision,
                        one.recall, one.f1, one.support);
  }
  if (shown < classes.size()) text += fmt::format("{:>{}}  and {} more: --json has them\n", "", widest, classes.size() - shown);
  return text;
}

// A row a true class, a column a class that was given for it, by number.
std::string ConfusionTable(const std::vector<int64_t>& confusion, const std::vector<plimsoll::ClassScore>& classes) {
  const size_t count = classes.size();
  size_t widest = 5;
  for (const plimsoll::ClassScore& one : classes) widest = std::max(widest, std::min<size_t>(one.name.size(), 16));
  const size_t cell = std::max<size_t>(3, fmt::formatted_size("{}", *std::max_element(confusion.begin(), confusion.end())));
  std::string text = fmt::format("\n{:>{}}     taken for\n{:>{}}     ", "", widest, "", widest);
  for (size_t i = 0; i < count; ++i) text += fmt::format(" {:>{}}", i, cell);
  text += "\n";
  for (size_t row = 0; row < count; ++row) {
    text += fmt::format("{:>{}} {:>3} ", Plain(classes[row].name.substr(0, 16)), widest, row);
    for (size_t i = 0; i < count; ++i) text += fmt::format(" {:>{}}", confusion[row * count + i], cell);
    text += "\n";
  }
  return text;
}

Json ReportJson(const plimsoll::EvaluateResult& result) {
  Json classes = Json::array();
  for (const plimsoll::ClassScore& one : result.classes) {
    classes.push_back(
        {{"class", one.name}, {"precision", one.precision}, {"recall", one.recall}, {"f1", one.f1}, {"support", one.support}});
  }
  return classes;
}

}  // namespace

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
  std::unique_ptr<plimsoll::Observer> progress = ProgressFor(arguments);
  plimsoll::Result<plimsoll::EvaluateResult> result = plimsoll::Evaluate({.model = arguments.target,
                                                                          .data_file = arguments.data_file,
                                                                          .targets = arguments.targets,
                                                                          .lengths = arguments.lengths,
                                                                          .target_lengths = arguments.target_lengths,
                                                                          .initial_state = arguments.initial_state,
                                                                          .memory = arguments.memory,
                                                                          .threads = arguments.threads,
                                                                          .observer = progress.get()});
  progress.reset();  // leaves the terminal on a fresh line before anything is told
  if (!result.ok()) return Fail(arguments.json, result.status());
  if (arguments.json) {
    Json json = ScoreJson(result->score, result->outputs);
    json["samples"] = result->samples;
    json["peak_bytes"] = result->peak_bytes;
    json["budget_bytes"] = result->plan.budget_bytes;
    if (!result->classes.empty()) json["classes"] = ReportJson(*result);
    const size_t count = result->classes.size();
    for (size_t row = 0; row < count && !result->confusion.empty(); ++row) {
      const auto* first = result->confusion.data() + row * count;
      json["confusion"].push_back(std::vector<int64_t>(first, first + count));
    }
    return AnswerJson(json);
  }
  std::string tables;
  if (!result->classes.empty()) tables = ClassTable(result->classes);
  if (!result->confusion.empty()) tables += ConfusionTable(result->confusion, result->classes);
  return Answer(fmt::format("score   {}\n        {} targets of {} samples\nmemory  planned {} · measured {} · budget {}\n",
                            ScoreText(result->score, result->outputs), result->score.items, result->samples,
                            plimsoll::PrettyBytes(result->plan.peak_bytes), plimsoll::PrettyBytes(result->peak_bytes),
                            plimsoll::PrettyBytes(result->plan.budget_bytes)) +
                tables);
}
