// soak: many epochs over random lengths, and what the process holds after each.
//   in:    soak EPOCHS [--leak]; --leak loses 64 bytes at every update, the control of soak_test.py
//   out:   a line an epoch on standard output: EPOCH RESIDENT_BYTES MINOR_FAULTS UPDATES, the last two counted from the start
//   never: writes a file, or allocates while epochs run (unless told to leak)
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/machine.h"
#include "plimsoll/trainer.h"

namespace plimsoll {
namespace {

constexpr size_t kLeakBytes = 64;

class Watcher final : public Observer {
 public:
  explicit Watcher(bool leak) : leak_(leak) {}
  void Step(const StepReport&) override {
    if (leak_) Leak();
  }
  void Epoch(const EpochReport& report) override {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    char line[128];
    const auto end = fmt::format_to_n(line, sizeof line, "{} {} {} {}\n", report.epoch, ExactResidentBytes(), usage.ru_minflt,
                                      report.updates);
    lost_lines_ = lost_lines_ || write(STDOUT_FILENO, line, end.size) != static_cast<ssize_t>(end.size);
  }
  bool lost_lines() const { return lost_lines_; }

 private:
  // Blocks are chained, so that each is touched and the compiler cannot leave it out.
  void Leak() {
    void* block = std::malloc(kLeakBytes);
    if (block == nullptr) return;
    std::memset(block, 1, kLeakBytes);
    *static_cast<void**>(block) = last_;
    last_ = block;
  }
  const bool leak_;
  bool lost_lines_ = false;
  void* last_ = nullptr;
};

Job SoakJob(int64_t epochs) {
  Job job;
  job.task = Task::Regress;
  job.data.train = "generate:adding?steps=24&min_steps=2&samples=160";
  job.layers = {{.kind = LSTMOptions{.units = 8}}, {.kind = DenseOptions{}}};
  job.train.batch_size = 2;
  job.train.epochs = epochs;
  job.train.threads = 2;
  return job;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  const int64_t epochs = argc > 1 ? std::atoll(argv[1]) : 0;
  const bool leak = argc == 3 && std::string_view(argv[2]) == "--leak";
  if (epochs < 1 || argc > (leak ? 3 : 2)) {
    fmt::print(stderr, "usage: soak EPOCHS [--leak]\n");
    return 2;
  }
  plimsoll::Watcher watcher(leak);
  const auto result = plimsoll::Train(plimsoll::SoakJob(epochs), {.observer = &watcher});
  if (!result.ok()) fmt::print(stderr, "soak: {}\n  {}\n", result.status().message(), result.status().hint());
  if (!result.ok()) return result.status().exit_code();
  return watcher.lost_lines() ? 7 : 0;
}
