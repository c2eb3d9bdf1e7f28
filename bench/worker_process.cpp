#include "bench/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>

namespace plimsoll {
namespace {

// A line, with its end; empty at the end of all.
std::string ReadLine(std::FILE* file) {
  std::string line;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    line += static_cast<char>(c);
    if (c == '\n') break;
  }
  return line;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& words) {
  std::array<int, 2> in{}, out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return;
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    ::close(in[0]);
    ::close(in[1]);
    return;
  }
  std::vector<char*> argv = {const_cast<char*>("plimsoll-bench")};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, argv.data(), environ) != 0) process_ = -1;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_ = ::fdopen(in[1], "w");
  from_ = ::fdopen(out[0], "r");
}

WorkerProcess::~WorkerProcess() {
  ExitCode();
  if (from_ != nullptr) std::fclose(from_);
}

bool WorkerProcess::Ask(const std::string& line, const std::string& word, std::vector<double>& numbers) {
  if (process_ < 0 || to_ == nullptr || from_ == nullptr) return false;
  if (!line.empty() && (std::fprintf(to_, "%s\n", line.c_str()) < 0 || std::fflush(to_) != 0)) return false;
  const std::string answer = ReadLine(from_);
  std::istringstream words(answer);
  std::string first;
  words >> first;
  if (first != word) {
    unwanted_ = answer;
    return false;
  }
  numbers.clear();
  for (double number = 0.0; words >> number;) numbers.push_back(number);
  return true;
}

std::string WorkerProcess::LastWords() {
  if (from_ == nullptr) return unwanted_;
  for (std::string line = ReadLine(from_); !line.empty(); line = ReadLine(from_)) unwanted_ += line;
  return unwanted_;
}

int WorkerProcess::ExitCode() {
  if (to_ != nullptr) std::fclose(to_);  // the end of its orders is the end of its work
  to_ = nullptr;
  if (process_ < 0) return 0;
  int state = 0;
  while (::waitpid(process_, &state, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 0;
}

}  // namespace plimsoll
