#include "base/threads.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <chrono>
#include <climits>

#include "base/check.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kStackBytes = 512 * 1024;
constexpr size_t kTouchedStackBytes = 64 * 1024;
constexpr int kSpins = 4000;     // with a pause each: tens of microseconds
constexpr int kMeetSpins = 200;  // the others are at the same work; more threads than cores take turns by yielding
constexpr std::chrono::milliseconds kPatience(1);  // then others may run in between; by the clock, because beside a busy thread
                                                   // every yield may last for milliseconds, and who yields counts as busy, too
constexpr std::chrono::milliseconds kLate(1);  // who comes to a meeting so late was not at work: another program had his core
constexpr int kRunsApart = 1000;               // after a late meeting

// Makes resident what a worker may use of its stack, so that resident memory does not depend on which calls came first.
void TouchStack() {
  volatile char stack[kTouchedStackBytes];
  for (size_t at = 0; at < sizeof stack; at += 4096) stack[at] = 0;
}

void FutexWait(std::atomic<uint32_t>* word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void FutexWakeAll(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// The kernel puts a thread that it makes or wakes beside its caller, and two that never sleep stay on one core for
// milliseconds: half the speed. Leaves that core, where the thread may run on another; where the system refuses, it stays as it
// was.
void MoveAwayFrom(int core) {
  if (core < 0 || sched_getcpu() != core) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);
}

// Spins, then yields, until ready() holds. False when it gave up.
template <typename Ready>
bool SpinUntil(const Ready& ready, bool give_up, int spins = kSpins) {
  for (int spin = 0; spin < spins; ++spin) {
    if (ready()) return true;
    _mm_pause();
  }
  const Clock::time_point begin = Clock::now();
  while (!ready()) {
    if (give_up && Clock::now() - begin > kPatience) return false;
    sched_yield();
  }
  return true;
}

}  // namespace

pthread_t StartThread(size_t stack_bytes, void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, body, argument);
  PLIMSOLL_CHECK(error == 0, "the system refused a thread");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return thread;
}

ThreadPool::ThreadPool(int size) : size_(size) {
  PLIMSOLL_CHECK(size >= 1 && size <= kMaxThreads, "the number of threads is checked where the job is read");
  workers_.resize(static_cast<size_t>(size - 1));
  callers_core_ = sched_getcpu();
  for (int i = 0; i < size - 1; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker = {.pool = this, .part = i + 1, .thread = {}};
    worker.thread = StartThread(
        kStackBytes,
        [](void* argument) -> void* {
          auto* self = static_cast<Worker*>(argument);
          self->pool->Work(*self);
          return nullptr;
        },
        &worker);
  }
  Run([](int) {});  // every worker is there, with what it holds, before anything is measured
  for (int team = 0; team < kTeams && size % kTeams == 0; ++team) {
    teams_.push_back(std::unique_ptr<ThreadPool>(new ThreadPool(size / kTeams, Lent::Threads)));
  }
}

ThreadPool::ThreadPool(int size, Lent) : size_(size), own_threads_(false) {
  for (int part = 1; part < size; ++part) workers_.push_back({.pool = this, .part = part, .thread = {}});
}

ThreadPool::~ThreadPool() {
  if (!own_threads_) return;
  Dismiss();
  for (Worker& worker : workers_) pthread_join(worker.thread, nullptr);
}

void ThreadPool::Gather() { stop_.store(false); }

void ThreadPool::Dismiss() {
  stop_.store(true);
  call_.fetch_add(1);
  if (sleepers_.load() > 0) FutexWakeAll(&call_);
}

void ThreadPool::Start(Task task, const void* context) {
  task_ = task;
  context_ = context;
  running_.store(size_ - 1, std::memory_order_relaxed);
  if (sleepers_.load(std::memory_order_relaxed) > 0) callers_core_.store(sched_getcpu(), std::memory_order_relaxed);
  call_.fetch_add(1);  // sequentially consistent: orders the sleepers' check below after it
  if (sleepers_.load() > 0) FutexWakeAll(&call_);
}

void ThreadPool::Finish() {
  SpinUntil([this] { return running_.load(std::memory_order_acquire) == 0; }, /*give_up=*/false);
}

void ThreadPool::Meet() {
  if (size_ == 1) return;
  const uint32_t before = meetings_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    meetings_.store(before + 1, std::memory_order_release);
  } else {
    const Clock::time_point begin = Clock::now();
    SpinUntil([&] { return meetings_.load(std::memory_order_acquire) != before; }, /*give_up=*/false, kMeetSpins);
    if (Clock::now() - begin > kLate) runs_apart_.store(kRunsApart, std::memory_order_relaxed);
  }
}

bool ThreadPool::MeetsPromptly() {
  const int left = runs_apart_.load(std::memory_order_relaxed);
  if (left > 0) runs_apart_.store(left - 1, std::memory_order_relaxed);
  return left == 0;
}

void ThreadPool::Work(Worker& worker) {
  MoveAwayFrom(callers_core_.load(std::memory_order_relaxed));
  TouchStack();
  FlushDenormals flush;
  Serve(worker);
}

void ThreadPool::Serve(Worker& worker) {
  while (true) {
    const auto called = [&] { return call_.load(std::memory_order_acquire) != worker.calls; };
    while (!SpinUntil(called, /*give_up=*/true)) {
      sleepers_.fetch_add(1);
      if (!called()) FutexWait(&call_, worker.calls);
      sleepers_.fetch_sub(1);
      MoveAwayFrom(callers_core_.load(std::memory_order_relaxed));
    }
    ++worker.calls;
    if (stop_.load()) return;
    task_(context_, worker.part);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

Share ShareOf(int64_t count, int part, int parts, int64_t grain) {
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t begin = grains * part / parts * grain;
  const int64_t end = grains * (part + 1) / parts * grain;
  return {std::min(begin, count), std::min(end, count)};
}

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
}
FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }

}  // namespace plimsoll
