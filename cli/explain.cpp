// explain: who owned the peak of a run and where its time went; writes report.html.
#include "companion.h"
#include "output.h"
#include "verbs.h"

int RunExplain(const Arguments& arguments) {
  if (arguments.target.empty())
    return Fail(arguments.json, plimsoll::Status::Usage("which run? its folder is missing", "plimsoll explain runs/NAME"));
  std::vector<std::string> words = {arguments.target};
  if (!arguments.against.empty()) words.insert(words.end(), {"--against", arguments.against});
  if (!arguments.out.empty()) words.insert(words.end(), {"--out", arguments.out});
  if (arguments.json) words.emplace_back("--json");
  return BecomeCompanion("plimsoll-report", words, arguments.json);
}
