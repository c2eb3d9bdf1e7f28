// threads: one pool, made once, that runs the same function on every part of a fixed partition.
//   Run(fn) calls fn(part) for part = 0 .. size()-1, part 0 on the caller's thread, and returns when all are done.
//   Workers spin between calls that follow closely, because a meeting through the kernel costs 65 us and one through
//   memory 0.2 us; after about a millisecond without work they sleep.
//   Inside a Run, Meet() returns when every part has called it. Where another program uses the cores, too, each meeting may
//   wait for milliseconds: MeetsPromptly() tells whether work that can do without should.
//   RunTeams(fn) calls fn(team, pool) once for each of two teams, side by side where the threads make two teams of one size;
//   each gets a pool of its own threads. Otherwise one team comes after the other, each with all threads.
//   never: allocates in Run, changes who computes what by load. Results must not depend on size().
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int64_t kMaxThreads = 256;
inline constexpr int kTeams = 2;

// A thread with a stack of this size; signals go to the caller's.
pthread_t StartThread(size_t stack_bytes, void* (*body)(void*), void* argument);

class ThreadPool {
 public:
  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  template <typename Function>
  void Run(const Function& function) {
    if (size_ == 1) {
      function(0);
      return;
    }
    Start([](const void* context, int part) { (*static_cast<const Function*>(context))(part); }, &function);
    function(0);
    Finish();
  }
  template <typename Function>
  void RunTeams(const Function& function) {
    if (teams_.empty()) {
      for (int team = 0; team < kTeams; ++team) function(team, *this);
      return;
    }
    for (const auto& team : teams_) team->Gather();
    Run([&](int part) {
      ThreadPool& team = *teams_[static_cast<size_t>(part % kTeams)];
      if (part < kTeams) {
        function(part, team);
        team.Dismiss();
      } else {
        team.Serve(team.workers_[static_cast<size_t>(part / kTeams - 1)]);
      }
    });
  }
  // Whether RunTeams has both at work at the same time.
  bool teams_side_by_side() const { return !teams_.empty(); }
  void Meet();
  // Between two calls of Run. False for the next thousand times after a meeting to which a thread came late.
  bool MeetsPromptly();

 private:
  using Task = void (*)(const void* context, int part);
  struct Worker {
    ThreadPool* pool;
    int part;
    pthread_t thread;
    uint32_t calls = 0;  // that it has answered
  };
  enum class Lent { Threads };
  ThreadPool(int size, Lent);  // a team: its workers are threads of another pool, while they Serve

  void Start(Task task, const void* context);
  void Finish();
  void Work(Worker& worker);   // of its own thread
  void Serve(Worker& worker);  // until the pool ends or the team is dismissed
  void Gather();
  void Dismiss();

  const int size_;
  const bool own_threads_ = true;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<ThreadPool>> teams_;  // none, or kTeams that share the threads out
  Task task_ = nullptr;
  const void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> call_{0};  // number of the current Run; odd values never mean anything else
  alignas(64) std::atomic<uint32_t> sleepers_{0};
  alignas(64) std::atomic<int> running_{0};  // workers that have not finished the current Run
  alignas(64) std::atomic<int> arrived_{0};  // parts that have called Meet
  alignas(64) std::atomic<uint32_t> meetings_{0};
  std::atomic<int> runs_apart_{0};     // times that MeetsPromptly will say no
  std::atomic<int> callers_core_{-1};  // where the caller was when it woke the workers
  std::atomic<bool> stop_{false};
};

// The half-open share of [0, count) that belongs to `part` of `parts`, in multiples of `grain`.
struct Share {
  int64_t begin, end;
};
Share ShareOf(int64_t count, int part, int parts, int64_t grain = 1);

// Denormals are flushed to zero on the calling thread while this lives; workers of a pool do so always.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace plimsoll
