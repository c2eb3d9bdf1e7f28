#include "report/event_file.h"

#include <bit>
#include <span>

#include "base/crc32c.h"

namespace plimsoll {
namespace {

// Keys of protobuf: field number and wire type.
constexpr char kWallTime = 1 << 3 | 1;  // Event, 64 bits
constexpr char kStep = 2 << 3 | 0;      // Event, varint
constexpr char kFileVersion = 3 << 3 | 2;
constexpr char kSummary = 5 << 3 | 2;
constexpr char kValue = 1 << 3 | 2;        // Summary
constexpr char kTag = 1 << 3 | 2;          // Value
constexpr char kSimpleValue = 2 << 3 | 5;  // Value, 32 bits

constexpr uint32_t kMask = 0xa282ead8u;

}  // namespace

uint32_t MaskedCrc32c(std::string_view bytes) { return std::rotr(Crc32c(std::as_bytes(std::span(bytes))), 15) + kMask; }

void EventRecord::Head(double wall_seconds) {
  event_.size = 0;
  event_.Append({&kWallTime, 1});
  event_.Fixed(std::bit_cast<uint64_t>(wall_seconds), 8);
}

std::string_view EventRecord::Version(double wall_seconds) {
  constexpr std::string_view kVersion = "brain.Event:2";
  Head(wall_seconds);
  event_.Append({&kFileVersion, 1});
  event_.Varint(kVersion.size());
  event_.Append(kVersion);
  return Frame();
}

void EventRecord::Scalar(std::string_view folder, std::string_view name, double value) {
  const size_t tag = folder.size() + 1 + name.size();
  const size_t bytes = 1 + 1 + tag + 1 + 4;
  if (tag > 100 || !summary_.Fits(2 + bytes)) return;
  summary_.Append({&kValue, 1});
  summary_.Varint(bytes);
  summary_.Append({&kTag, 1});
  summary_.Varint(tag);
  summary_.Append(folder);
  summary_.Append("/");
  summary_.Append(name);
  summary_.Append({&kSimpleValue, 1});
  summary_.Fixed(std::bit_cast<uint32_t>(static_cast<float>(value)), 4);
}

std::string_view EventRecord::Finish(double wall_seconds, int64_t step) {
  Head(wall_seconds);
  event_.Append({&kStep, 1});
  event_.Varint(static_cast<uint64_t>(step));
  event_.Append({&kSummary, 1});
  event_.Varint(summary_.size);
  event_.Append(summary_.view());
  return Frame();
}

std::string_view EventRecord::Frame() {
  record_.size = 0;
  record_.Fixed(event_.size, 8);
  record_.Fixed(MaskedCrc32c(record_.view()), 4);
  record_.Append(event_.view());
  record_.Fixed(MaskedCrc32c(event_.view()), 4);
  return record_.view();
}

}  // namespace plimsoll
