#include "signals.h"

#include <signal.h>
#include <unistd.h>

namespace {

plimsoll::StopRequest stop = plimsoll::StatusKind::Ok;

void Hear(int signal) {
  using plimsoll::StatusKind;
  const StatusKind kind = signal == SIGINT ? StatusKind::Interrupted : StatusKind::Terminated;
  if (stop.exchange(kind) != StatusKind::Ok) _exit(static_cast<int>(kind));
}

}  // namespace

const plimsoll::StopRequest* HearSignals() {
  struct sigaction action = {};
  action.sa_handler = Hear;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    // Who starts us in the background may have said that a signal is to be ignored; that holds.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
  return &stop;
}
