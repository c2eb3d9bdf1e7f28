#include "train/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "model/job_difference.h"

namespace plimsoll {
namespace {

// A file of a generation, open.
struct Opened {
  Descriptor descriptor;
  int64_t bytes = 0;
};
Result<Opened> OpenSnapshot(const std::string& file) {
  Opened opened;
  opened.descriptor = Descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!opened.descriptor.is_open() || fstat(opened.descriptor.number(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return Status::Data(fmt::format("{}: cannot be opened as a file", file));
  posix_fadvise(opened.descriptor.number(), 0, 0, POSIX_FADV_RANDOM);  // no reading ahead: see File::OpenRead
  opened.bytes = facts.st_size;
  return opened;
}

// Reads a file from end to end. Empty: it is whole. generation: what its name says; 0: it may have any.
std::string Examine(const std::string& file, uint64_t generation, ResumePoint& point) {
  Result<Opened> opened = OpenSnapshot(file);
  if (!opened.ok()) return "it cannot be opened";
  std::vector<std::byte> buffer(static_cast<size_t>(kSnapshotBlockBytes));
  SnapshotReader reader(opened->descriptor.number(), opened->bytes, buffer);
  std::string problem;
  SnapshotFront front;
  const bool whole = reader.Start() && ReadFront(reader, front, problem) && reader.Finish();
  if (!whole) return problem.empty() ? reader.problem() : problem;
  if (generation != 0 && reader.generation() != generation) {
    return fmt::format("it is generation {} under another name", reader.generation());
  }
  point.file = file;
  point.generation = reader.generation();
  point.front = std::move(front);
  return "";
}

std::string NameIn(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

Status NoneIn(const std::string& folder, const ResumePoint& point) {
  if (point.passed_over.empty())
    return Status::Data(fmt::format("{}: there is no snapshot to go on from", folder),
                        "name a run folder that has saved, or begin anew without --resume");
  return Status::Data(fmt::format("{}: no snapshot can be read: {}", folder, fmt::join(point.passed_over, "; ")),
                      "begin anew without --resume; nothing was changed");
}

// The newest generation of a folder that verifies.
Result<ResumePoint> NewestIn(const std::string& folder) {
  ResumePoint point;
  for (const uint64_t generation : GenerationsIn(folder)) {
    point.newest = std::max(point.newest, generation);
    const std::string file = folder + "/" + SnapshotName(generation);
    const std::string problem = Examine(file, generation, point);
    if (problem.empty()) return point;
    point.passed_over.push_back(fmt::format("{}: {}", SnapshotName(generation), problem));
  }
  return NoneIn(folder, point);
}

Result<ResumePoint> BestIn(const std::string& folder) {
  Result<ResumePoint> newest = NewestIn(folder);
  if (!newest.ok()) return newest;
  const uint64_t best = newest->front.state.best_generation;
  if (best == 0) return Status::Data(fmt::format("{}: no epoch was saved as the best yet", folder), "--resume last");
  if (best == newest->generation) return newest;
  const std::string file = folder + "/" + SnapshotName(best);
  if (const std::string problem = Examine(file, best, newest.value()); !problem.empty())
    return Status::Data(fmt::format("{}: the best epoch cannot be read: {}", file, problem), "--resume last");
  return newest;
}

// Keys that change no bit of what is computed, and those that only say where things lie.
constexpr std::array<std::string_view, 4> kFree = {"train.threads", "train.save_every", "train.keep", "init_from"};
constexpr std::array<std::string_view, 17> kHarmless = {
    "train.epochs",         "train.max_steps",       "train.monitor",       "train.patience",   "train.min_delta",
    "train.restore_best",   "train.skip_nonfinite",  "train.clip_norm",     "train.clip_value", "train.warmup_steps",
    "train.lr_schedule",    "train.learning_rate",   "train.lr_end_factor", "train.lr_power",   "train.lr_decay_rate",
    "train.lr_decay_steps", "train.clip_tensor_norm"};

bool IsFree(const JobDifference& difference) {
  const std::string_view key = difference.key;
  if (std::find(kFree.begin(), kFree.end(), key) != kFree.end() || key.starts_with("memory.")) return true;
  if (key.starts_with("model.layers[") && key.ends_with("].weights")) return true;  // what a table began with
  // Where data lie; the fingerprint knows what they are. A share is no file.
  if (key == "data.valid") return difference.was.starts_with('"') && difference.is.starts_with('"');
  return key.starts_with("data.") && key != "data.vocabulary";
}

bool IsHarmless(std::string_view key) {
  return std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end() || key.starts_with("train.plateau_");
}

bool IsRate(std::string_view key) {
  return key == "train.learning_rate" || key == "train.lr_schedule" || key.starts_with("train.plateau_");
}

}  // namespace

std::string ResumePoint::folder() const {
  const size_t slash = file.find_last_of('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

Result<ResumePoint> FindResumePoint(const std::string& which, const std::string& out) {
  if (which == "last") return NewestIn(out + kSnapshotFolder);
  if (which == "best") return BestIn(out + kSnapshotFolder);
  if (FolderExists(which)) {
    const bool is_run = FolderExists(which + kSnapshotFolder) || GenerationsIn(which).empty();
    return NewestIn(is_run ? which + kSnapshotFolder : which);
  }
  ResumePoint point;
  if (const std::string problem = Examine(which, 0, point); !problem.empty())
    return Status::Data(fmt::format("{}: not a snapshot to go on from: {}", which, problem),
                        "name its run folder: the newest one that can be read is found there");
  for (const uint64_t generation : GenerationsIn(point.folder())) point.newest = std::max(point.newest, generation);
  return point;
}

Result<ChangedJob> CheckSameJob(const ResumePoint& point, const Setup& setup, bool allow_changes) {
  const Result<Job> job = JobFromText(point.front.job, point.file);
  if (!job.ok()) return Status::Data(fmt::format("{}: its job cannot be read: {}", point.file, job.status().message()));
  ChangedJob changed;
  std::vector<std::string> refused;
  if (point.front.state.data != setup.fingerprint) refused.emplace_back("the data are others, or in another order");
  for (const JobDifference& difference : DifferencesOf(job.value(), setup.job)) {
    if (IsFree(difference)) continue;
    const bool harmless = IsHarmless(difference.key);
    changed.rate = changed.rate || IsRate(difference.key);
    (harmless ? changed.harmless : refused)
        .push_back(fmt::format("{} was {}, is {}", difference.key, difference.was, difference.is));
  }
  if (!refused.empty()) {
    refused.insert(refused.end(), changed.harmless.begin(), changed.harmless.end());
    return Status::Usage(fmt::format("{} is of another job: {}", point.file, fmt::join(refused, "; ")),
                         "resume with the job as it was, or train a new run without --resume");
  }
  if (!changed.harmless.empty() && !allow_changes) {
    return Status::Usage(fmt::format("the job has changed since {}: {}", NameIn(point.file), fmt::join(changed.harmless, "; ")),
                         "--allow-changes goes on with what is new");
  }
  return changed;
}

Status LoadTensors(const std::string& file, const RunContent& content, std::span<std::byte> buffer) {
  Result<Opened> opened = OpenSnapshot(file);
  if (!opened.ok()) return opened.status();
  SnapshotReader reader(opened->descriptor.number(), opened->bytes, buffer);
  std::string problem;
  SnapshotFront front;
  if (reader.Start() && ReadFront(reader, front, problem) && content.ReadFrom(reader, front, problem)) return Status::Ok();
  return Status::Data(fmt::format("{}: {}", file, problem.empty() ? reader.problem() : problem));
}

}  // namespace plimsoll
