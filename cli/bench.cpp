// bench: how fast this machine trains, by a program of its own: what measures must not swell what trains.
#include <fmt/format.h>

#include "companion.h"
#include "verbs.h"

int RunBench(const Arguments& arguments) {
  std::vector<std::string> words = arguments.problems;
  words.insert(words.end(),
               {"--threads", fmt::format("{}", arguments.threads), "--seconds", fmt::format("{}", arguments.seconds)});
  if (arguments.json) words.emplace_back("--json");
  return BecomeCompanion("plimsoll-bench", words, arguments.json);
}
