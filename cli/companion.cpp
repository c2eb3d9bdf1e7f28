#include "companion.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "output.h"

namespace {

// Why it could not be started.
std::string TryToBecome(const char* name, const std::vector<std::string>& words) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return error.message();
  const std::string program = self.parent_path() / name;
  std::vector<char*> argv = {const_cast<char*>(name)};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::fflush(nullptr);
  ::execv(program.c_str(), argv.data());
  return fmt::format("{}: {}", program, std::strerror(errno));
}

}  // namespace

int BecomeCompanion(const char* name, const std::vector<std::string>& words, bool json) {
  const std::string why = TryToBecome(name, words);
  return Fail(json, plimsoll::Status(plimsoll::StatusKind::Internal,
                                     {.message = fmt::format("cannot start {}: {}", name, why),
                                      .hint = fmt::format("install {} beside plimsoll, or build all of it with ./run", name)}));
}

int EndWithReport(const std::string& run_folder, int code, const Arguments& arguments) {
  if (run_folder.empty() || arguments.no_report || ::access((run_folder + "/metrics.jsonl").c_str(), R_OK) != 0) return code;
  if (code != 0 && ::access(run_folder.c_str(), W_OK) != 0) return code;  // that was told already
  const std::string why = TryToBecome("plimsoll-report", {run_folder, "--then", fmt::format("{}", code)});
  if (!arguments.quiet) fmt::print(stderr, "plimsoll: report.html was not written: cannot start {}\n", why);
  return code;
}
