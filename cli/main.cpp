// plimsoll: the command-line program. It lives on the public headers alone, like any other user of the library.
//   in:    argv
//   out:   the result on stdout, everything else on stderr, an exit code (plimsoll/status.h)
//   never: lets an exception out; what the libraries throw ends here as an internal error
#include <csignal>
#include <exception>

#include "arguments.h"
#include "output.h"

namespace {

int Run(const std::vector<std::string>& typed) {
  plimsoll::Result<Parsed> parsed = ParseArguments(typed);
  if (!parsed.ok()) return Fail(AsksForJson(typed), parsed.status());
  return parsed->run == nullptr ? Answer(parsed->text) : parsed->run(parsed->arguments);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the user's limit is an error that is told, not the end
  std::signal(SIGPIPE, SIG_IGN);  // a reader of the progress that goes away must not end a training run
  const std::vector<std::string> typed(argv + (argc > 0 ? 1 : 0), argv + argc);
  try {
    return Run(typed);
  } catch (const std::exception& error) {
    return Fail(AsksForJson(typed), plimsoll::Status(plimsoll::StatusKind::Internal, {.message = error.what(), .hint = ""}));
  }
}
