// report: reads one or two run folders and puts the page together.
#include "plimsoll/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "base/file.h"
#include "report/advice.h"
#include "report/page.h"
#include "report/run_record.h"

namespace plimsoll {
namespace {

constexpr size_t kOwnersInText = 5;

int64_t Whole(double bytes) { return static_cast<int64_t>(std::clamp(bytes, 0.0, 9e18)); }

std::string TextOf(const RunReport& report) {
  std::string text = fmt::format("memory  planned {} · measured {} · budget {}\n", PrettyBytes(report.planned_bytes),
                                 PrettyBytes(report.peak_bytes), PrettyBytes(report.budget_bytes));
  for (size_t i = 0; i < std::min(report.owners.size(), kOwnersInText); ++i) {
    const auto& [name, bytes] = report.owners[i];
    fmt::format_to(std::back_inserter(text), "{}{:<12}{:>10}  {:.0f} %\n", i == 0 ? "owners  " : "        ", name,
                   PrettyBytes(bytes),
                   100.0 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, report.planned_bytes)));
  }
  for (size_t i = 0; i < report.advice.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}\n", i == 0 ? "advice  " : "        ", report.advice[i]);
  return text;
}

}  // namespace

Result<RunReport> MakeReport(const ReportRequest& request) {
  std::vector<RunRecord> runs;
  for (const std::string* folder : {&request.run, &request.against}) {
    if (folder == &request.against && folder->empty()) continue;
    Result<RunRecord> run = ReadRun(*folder);
    if (!run.ok()) return run.status();
    runs.push_back(std::move(run).value());
  }
  const RunRecord& run = runs[0];
  RunReport report;
  report.peak_bytes = Whole(run.peak_bytes());
  report.planned_bytes = Whole(run.planned_bytes());
  report.budget_bytes = Whole(run.budget_bytes());
  if (run.plan.contains("owners") && run.plan["owners"].is_object()) {
    for (const auto& [name, bytes] : run.plan["owners"].items()) {
      if (bytes.is_number()) report.owners.emplace_back(name, Whole(bytes.get<double>()));
    }
  }
  std::stable_sort(report.owners.begin(), report.owners.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  report.advice = AdviceFor(run);
  report.body = PageBody(runs, report.advice);
  report.page = WholePage(runs.size() == 1 ? run.name : fmt::format("{} against {}", run.name, runs[1].name), report.body);
  report.text = TextOf(report);
  return report;
}

Result<std::string> WriteReport(const RunReport& report, const ReportRequest& request, const std::string& path) {
  const std::string file = path.empty() ? request.run + "/report.html" : path;
  PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(file, report.page));
  return file;
}

}  // namespace plimsoll
