#include "job.h"

#include <fmt/format.h>
#include <plimsoll/data.h>

#include "output.h"

using plimsoll::Job;
using plimsoll::Result;
using plimsoll::Status;

JobOrExit LoadJob(const Arguments& arguments) {
  const std::string& file = arguments.target;
  if (file.ends_with(".npz") || file.ends_with(".npy")) {
    return {.job = {},
            .exit_code = Fail(arguments.json, Status::Usage(fmt::format("{} is a data file, not a job file", file),
                                                            fmt::format("--data {}", file)))};
  }
  Result<Job> job = plimsoll::ReadJob(file, arguments.overrides);
  if (!job.ok()) return {.job = {}, .exit_code = Fail(arguments.json, job.status())};
  if (file.empty() && !job->data.train.empty() && job->layers.empty()) {
    Result<plimsoll::ChosenJob> chosen = plimsoll::ChooseJob(arguments.overrides);
    if (!chosen.ok()) return {.job = {}, .exit_code = Fail(arguments.json, chosen.status())};
    job = std::move(chosen->job);
    for (size_t i = 0; i < chosen->reasons.size() && !arguments.json && !arguments.quiet; ++i) {
      fmt::print(stderr, "{} {}\n", i == 0 ? "chosen" : "      ", chosen->reasons[i]);
    }
  }
  if (arguments.print_config) {
    const std::string toml = plimsoll::JobAsToml(*job);
    return {.job = {}, .exit_code = arguments.json ? AnswerJson(Json{{"config", toml}}) : Answer(toml)};
  }
  if (job->data.train.empty()) {
    const std::string where =
        file.empty() ? "there is no job file and no data" : fmt::format("{}: data.train is not given", file);
    return {.job = {},
            .exit_code = Fail(arguments.json, Status::Usage(where, "name a job file, or the data with --data FILE"))};
  }
  return {.job = std::move(job).value(), .exit_code = 0};
}
