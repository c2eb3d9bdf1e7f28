#include "train/resize_desk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kMostBytes = 4096;  // of a request or an answer
constexpr auto kLookAgain = std::chrono::milliseconds(20);

std::string LockFile(const std::string& folder) { return folder + "/lock"; }
std::string RequestFile(const std::string& folder) { return folder + "/resize.request"; }
std::string AnswerFile(const std::string& folder) { return folder + "/resize.answer"; }

// True when a running job holds the lock of this folder.
bool Runs(const std::string& folder) {
  const Descriptor lock(open(LockFile(folder).c_str(), O_RDONLY | O_CLOEXEC));
  return lock.is_open() && flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// The answer to `id`, if it is there.
std::optional<ResizeAnswer> ReadAnswer(const std::string& folder, const std::string& id) {
  const Result<std::string> text = ReadWholeFile(AnswerFile(folder), kMostBytes);
  if (!text.ok()) return std::nullopt;
  const auto json = nlohmann::json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("id", "") != id) return std::nullopt;
  return ResizeAnswer{.taken = json.value("taken", false),
                      .pending = false,
                      .update = json.value("update", int64_t{0}),
                      .budget_bytes = json.value("budget_bytes", int64_t{0}),
                      .peak_bytes = json.value("peak_bytes", int64_t{0}),
                      .min_bytes = json.value("min_bytes", int64_t{0}),
                      .message = json.value("message", "")};
}

}  // namespace

Result<ResizeDesk> ResizeDesk::Open(const std::string& run_folder) {
  if (run_folder.empty()) return ResizeDesk(Descriptor(), "");
  const std::string path = LockFile(run_folder);
  Descriptor lock(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (!lock.is_open()) return WriteFailure(path, "create the file", errno);
  if (flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    return Status::Usage(fmt::format("{}: another process trains in this folder", run_folder), "another --out");
  }
  return ResizeDesk(std::move(lock), run_folder);
}

ResizeDesk::ResizeDesk(Descriptor lock, const std::string& folder)
    : lock_(std::move(lock)), request_(RequestFile(folder)), answer_(AnswerFile(folder)) {}

std::optional<ResizeDesk::Request> ResizeDesk::Poll() {
  if (!lock_.is_open() || access(request_.c_str(), F_OK) != 0) return std::nullopt;
  const Result<std::string> text = ReadWholeFile(request_, kMostBytes);
  unlink(request_.c_str());
  if (!text.ok()) return std::nullopt;
  Request request;
  std::istringstream(text.value()) >> request.id >> request.memory;
  return request;
}

Status ResizeDesk::Answer(const std::string& id, const ResizeAnswer& answer) {
  const nlohmann::ordered_json json = {{"id", id},
                                       {"taken", answer.taken},
                                       {"update", answer.update},
                                       {"budget_bytes", answer.budget_bytes},
                                       {"peak_bytes", answer.peak_bytes},
                                       {"min_bytes", answer.min_bytes},
                                       {"message", answer.message}};
  return WriteTextFile(answer_, json.dump() + "\n");
}

Result<ResizeAnswer> Resize(const std::string& run, const std::string& memory, double wait_seconds) {
  PLIMSOLL_RETURN_IF_ERROR(CheckMemoryText(memory));
  if (!Runs(run)) {
    return Status::Usage(fmt::format("{}: no job is running in this folder", run), "name the --out folder of a running job");
  }
  const std::string id = fmt::format("{}-{}", getpid(), Clock::now().time_since_epoch().count());
  PLIMSOLL_RETURN_IF_ERROR(WriteTextFile(RequestFile(run), fmt::format("{} {}\n", id, memory)));
  const Clock::time_point give_up =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_seconds));
  while (Clock::now() < give_up) {
    if (const std::optional<ResizeAnswer> answer = ReadAnswer(run, id)) return *answer;
    if (!Runs(run)) {
      unlink(RequestFile(run).c_str());
      return Status::Usage(fmt::format("{}: the job ended before it took the new budget", run));
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return ResizeAnswer{.pending = true, .message = "the job takes it at its next step border"};
}

}  // namespace plimsoll
