// train: plans a job and trains it. The run folder is new, always: nothing that exists is written over.
#include <fmt/format.h>
#include <plimsoll/trainer.h>

#include <filesystem>

#include "job.h"
#include "output.h"
#include "run.h"
#include "verbs.h"

namespace fs = std::filesystem;
using plimsoll::Job;
using plimsoll::Result;
using plimsoll::Status;

namespace {

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

// --out as given, or the first free one of runs/NAME, runs/NAME-2, ...
Result<std::string> RunFolder(const Job& job, const Arguments& arguments) {
  if (!arguments.out.empty()) {
    if (Exists(arguments.out))
      return Status::Usage(fmt::format("{} exists already, and a run writes over nothing", arguments.out),
                           "another --out, or remove it first");
    return arguments.out;
  }
  std::string name = fs::path(arguments.target).stem().string();
  if (name.empty()) name = plimsoll::TaskName(job.task);
  std::error_code error;
  fs::create_directories("runs", error);
  if (error) return Status::CannotWrite(fmt::format("cannot make the folder runs: {}", error.message()), "--out DIR");
  fs::path folder = fs::path("runs") / name;
  for (int number = 2; Exists(folder); ++number) folder = fs::path("runs") / fmt::format("{}-{}", name, number);
  return folder.string();
}

}  // namespace

int RunTrain(const Arguments& arguments) {
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  if (arguments.dry_run) return RunPlan(arguments);
  const Result<std::string> out = RunFolder(*loaded.job, arguments);
  if (!out.ok()) return Fail(arguments.json, out.status());
  return TrainAndAnswer(*loaded.job, out.value(), arguments);
}
