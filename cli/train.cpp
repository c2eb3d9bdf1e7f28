// train: plans a job and trains it, or goes on with a run. A new run's folder is new: nothing that exists is written over.
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

std::string NameOf(const Job& job, const Arguments& arguments) {
  std::string name = fs::path(arguments.target).stem().string();
  if (!name.empty()) return name;
  return plimsoll::TaskName(job.task);
}

// --out or runs/NAME; where that exists, a new name.
Result<std::string> RunFolder(const Job& job, const Arguments& arguments) {
  if (!arguments.out.empty()) return NewRunFolder(arguments.out, arguments);
  std::error_code error;
  fs::create_directories("runs", error);
  if (error) return Status::CannotWrite(fmt::format("cannot make the folder runs: {}", error.message()), "--out DIR");
  return NewRunFolder("runs/" + NameOf(job, arguments), arguments);
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The run folder that --resume is about: that of a path to it or to one of its snapshots, --out, or the last of those that
// this job would have been given. Empty: a snapshot that lies in none.
std::string ResumedRun(const Arguments& arguments) {
  if (arguments.resume != "last" && arguments.resume != "best") {
    fs::path path = arguments.resume;
    if (path.has_relative_path() && path.filename().empty()) path = path.parent_path();  // a slash at its end
    if (IsFolder(path / "snapshots")) return path.string();
    if (!IsFolder(path)) path = path.parent_path();
    if (path.filename() == "snapshots") return path.has_parent_path() ? path.parent_path().string() : ".";
    return IsFolder(arguments.resume) ? path.string() : "";
  }
  if (!arguments.out.empty()) return arguments.out;
  const std::string path = "runs/" + fs::path(arguments.target).stem().string();
  int number = 1;
  while (IsTaken(Numbered(path, number + 1))) ++number;
  return Numbered(path, number);
}

// Goes on with a run, in its own folder or in that of --out.
int Resume(Arguments arguments) {
  const bool named = arguments.resume != "last" && arguments.resume != "best";
  if (!named && arguments.out.empty() && arguments.target.empty())
    return Fail(arguments.json, Status::Usage(fmt::format("--resume {}: of which run?", arguments.resume),
                                              fmt::format("plimsoll train --resume {} --out RUN", arguments.resume)));
  const std::string run = ResumedRun(arguments);
  if (arguments.target.empty() && !run.empty() && IsTaken(run + "/job.toml")) arguments.target = run + "/job.toml";
  const bool is_nothing = IsFolder(arguments.resume) ? !IsFolder(run + "/snapshots") : !IsTaken(arguments.resume);
  if (named && arguments.target.empty() && is_nothing)
    return Fail(arguments.json, Status::Data(fmt::format("{}: there is no run to go on with", arguments.resume),
                                             "name the folder of a run that has saved"));
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  if (arguments.dry_run) return RunPlan(arguments);
  std::string out = arguments.out.empty() ? run : arguments.out;
  if (out.empty()) {
    const Result<std::string> folder = RunFolder(*loaded.job, arguments);
    if (!folder.ok()) return Fail(arguments.json, folder.status());
    out = folder.value();
  }
  return TrainAndAnswer(*loaded.job, out, arguments);
}

}  // namespace

int RunTrain(const Arguments& arguments) {
  if (!arguments.resume.empty()) return Resume(arguments);
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  if (arguments.dry_run) return RunPlan(arguments);
  const Result<std::string> out = RunFolder(*loaded.job, arguments);
  if (!out.ok()) return Fail(arguments.json, out.status());
  return TrainAndAnswer(*loaded.job, out.value(), arguments);
}
