#include "arena/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace plimsoll {
namespace {
constexpr char kGuardPattern = static_cast<char>(0xA5);
}

Result<Arena> Arena::Create(int64_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14; older headers lack the name
  const int64_t mapped = RoundUp(bytes, 4096);
  void* data = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Status::OverBudget({.message = fmt::format("the system refused {} for the arena", PrettyBytes(bytes)),
                               .hint = "free memory, or state a smaller --memory"});
  }
  madvise(data, static_cast<size_t>(mapped), MADV_NOHUGEPAGE);  // the plan counts 4 KiB pages
  if (madvise(data, static_cast<size_t>(mapped), kPopulateWrite) != 0) {
    auto* bytes_of = static_cast<volatile char*>(data);
    for (int64_t at = 0; at < mapped; at += 4096) bytes_of[at] = 0;
  }
  return Arena(static_cast<char*>(data), bytes);
}

Arena::Arena(Arena&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(RoundUp(bytes_, 4096)));
}

char* Arena::At(int64_t offset) const {
  PLIMSOLL_CHECK(offset >= 0 && offset <= bytes_, "an address outside the arena was asked for");
  return data_ + offset;
}

void Arena::FillGuard(int64_t end) const {
  if constexpr (kGuardBytes > 0) std::memset(At(end), kGuardPattern, kGuardBytes);
}
bool Arena::GuardIntact(int64_t end) const {
  const char* guard = At(end);
  for (int64_t i = 0; i < kGuardBytes; ++i) {
    if (guard[i] != kGuardPattern) return false;
  }
  return true;
}

}  // namespace plimsoll
