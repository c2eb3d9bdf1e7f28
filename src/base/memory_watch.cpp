#include "base/memory_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace plimsoll {

MemoryWatch::MemoryWatch(const std::string& groups, const std::string& own) {
  const MemoryGroups own_groups = ReadMemoryGroups(groups, own);
  if (own_groups.v2_root.empty()) return;
  const std::string group = own_groups.v2_root + own_groups.v2;
  high_ = Descriptor(open((group + "/memory.high").c_str(), O_RDONLY | O_CLOEXEC));
  Descriptor pressure(open((group + "/memory.pressure").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  constexpr char kTrigger[] = "some 100000 1000000";  // microseconds of waiting, in a window of so many
  if (pressure.is_open() && write(pressure.number(), kTrigger, sizeof kTrigger) > 0) pressure_ = std::move(pressure);
}

int64_t MemoryWatch::High() const {
  char text[32];
  if (!high_.is_open()) return 0;
  const ssize_t got = pread(high_.number(), text, sizeof text - 1, 0);
  if (got <= 0) return 0;
  text[got] = '\0';
  return std::strncmp(text, "max", 3) == 0 ? 0 : std::strtoll(text, nullptr, 10);
}

bool MemoryWatch::UnderPressure() {
  if (!pressure_.is_open()) return false;
  pollfd event{.fd = pressure_.number(), .events = POLLPRI, .revents = 0};
  return poll(&event, 1, 0) == 1 && (event.revents & POLLPRI) != 0;
}

}  // namespace plimsoll
