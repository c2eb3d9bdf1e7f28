// plimsoll-report: writes the page of a run. `plimsoll explain` and the end of every run become this program.
//   in:    RUN [--against RUN2] [--out FILE] [--json] [--then CODE]
//   out:   report.html, and on stdout what it comes to. With --then nothing is said on stdout and CODE is the exit code, unless
//   the
//          page could not be written
#include <fmt/format.h>
#include <plimsoll/report.h>

#include <cstdlib>
#include <exception>

#include "../output.h"
#include "words.h"

namespace {

int Run(int argc, char** argv) {
  const bool json = HasFlag(argc, argv, "--json");
  const std::string then = ValueOf(argc, argv, "--then");
  const int code = then.empty() ? 0 : std::atoi(then.c_str());
  if (argc < 2) return Fail(json, plimsoll::Status::Usage("which run?", "plimsoll explain runs/NAME"));
  const plimsoll::ReportRequest request{.run = argv[1], .against = ValueOf(argc, argv, "--against")};
  plimsoll::Result<plimsoll::RunReport> report = plimsoll::MakeReport(request);
  if (!report.ok()) {
    const int failed = Fail(json, report.status());
    return code == 0 ? failed : code;
  }
  plimsoll::Result<std::string> file = plimsoll::WriteReport(*report, request, ValueOf(argc, argv, "--out"));
  if (!file.ok()) {
    const int failed = Fail(json, file.status());
    return code == 0 ? failed : code;
  }
  if (!then.empty()) return code;
  if (!json) return Answer(report->text + fmt::format("report  {}\n", *file));
  Json owners = Json::object();
  for (const auto& [name, bytes] : report->owners) owners[name] = bytes;
  return AnswerJson({{"report", *file},
                     {"peak_bytes", report->peak_bytes},
                     {"planned_bytes", report->planned_bytes},
                     {"budget_bytes", report->budget_bytes},
                     {"owners", std::move(owners)},
                     {"advice", report->advice}});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    return Fail(false, plimsoll::Status(plimsoll::StatusKind::Internal, {.message = error.what(), .hint = ""}));
  }
}
