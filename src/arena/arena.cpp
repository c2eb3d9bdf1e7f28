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
constexpr int64_t kPage = 4096;

int64_t Mapped(int64_t bytes) { return RoundUp(bytes, kPage); }

// Whole pages, in memory before the first step.
void Populate(char* data, int64_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14; older headers lack the name
  // A tile of gates lies on a page of its own: large pages are found faster, a step takes 1 to 2 % less. The system puts them
  // only where all of one lies inside of the mapping, so that no byte more becomes resident.
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  if (madvise(data, static_cast<size_t>(bytes), kPopulateWrite) == 0) return;
  for (volatile char* page = data; page < data + bytes; page += kPage) *page = 0;
}

Status Refused(int64_t bytes) {
  return Status::OverBudget({.message = fmt::format("the system refused {} for the arena", PrettyBytes(bytes)),
                             .hint = "free memory, or state a smaller --memory"});
}

}  // namespace

Result<Arena> Arena::Create(int64_t bytes) {
  void* data = mmap(nullptr, static_cast<size_t>(Mapped(bytes)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return Refused(bytes);
  Populate(static_cast<char*>(data), Mapped(bytes));
  return Arena(static_cast<char*>(data), bytes);
}

Status Arena::Resize(int64_t bytes) {
  const int64_t before = Mapped(bytes_), after = Mapped(bytes);
  void* data = mremap(data_, static_cast<size_t>(before), static_cast<size_t>(after), MREMAP_MAYMOVE);
  if (data == MAP_FAILED) return Refused(bytes);
  data_ = static_cast<char*>(data);
  bytes_ = bytes;
  if (after > before) Populate(data_ + before, after - before);
  return Status::Ok();
}

Arena::Arena(Arena&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(Mapped(bytes_)));
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
