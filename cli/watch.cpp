// watch: a live page of a run on loopback, by a process of its own: training knows nothing of it.
#include <fmt/format.h>

#include "companion.h"
#include "output.h"
#include "verbs.h"

int RunWatch(const Arguments& arguments) {
  if (arguments.target.empty())
    return Fail(arguments.json, plimsoll::Status::Usage("which run? its folder is missing", "plimsoll watch runs/NAME"));
  std::vector<std::string> words = {arguments.target, "--port", fmt::format("{}", arguments.port)};
  if (arguments.json) words.emplace_back("--json");
  return BecomeCompanion("plimsoll-watch", words, arguments.json);
}
