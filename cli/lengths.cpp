// lengths: how long the samples are, and what that means for memory.
#include <plimsoll/data.h>

#include "job.h"
#include "output.h"
#include "verbs.h"

int RunLengths(const Arguments& arguments) {
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  const std::unique_ptr<plimsoll::Observer> progress = ProgressFor(arguments);
  plimsoll::Result<plimsoll::LengthReport> report =
      plimsoll::MeasureLengths(*loaded.job, arguments.json ? nullptr : progress.get());
  if (!report.ok()) return Fail(arguments.json, report.status());
  return Answer(arguments.json ? plimsoll::LengthsJson(*report) : plimsoll::LengthsText(*report, TerminalColumns()));
}
