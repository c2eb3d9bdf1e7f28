// worker_process: this program again, as a process of its own that serves a problem (serve.h), and the questions to it. What it
//   holds is then what training the problem takes, and nothing that was there before.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

class WorkerProcess {
 public:
  // `words`: what the program is started with. Not started: the first question fails.
  explicit WorkerProcess(const std::vector<std::string>& words);
  ~WorkerProcess();  // ends it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends a line (empty: only listens) and reads the numbers behind the word that the answer begins with. False: the answer is
  // another one, or none.
  bool Ask(const std::string& line, const std::string& word, std::vector<double>& numbers);
  // After a failed question: all that it said instead of the answer, and the code that it ended with; 0: none of its own, it
  // was never started or died of a signal.
  std::string LastWords();
  int ExitCode();

 private:
  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  std::string unwanted_;
};

}  // namespace plimsoll
