#include "base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plimsoll/text.h"  // the public words for the same functions; kept in step by the compiler

namespace plimsoll {
namespace {

constexpr std::string_view kWanted = "bytes, or an amount like 256MB, 512MiB, 1.5GB, 80% or auto";
constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();
constexpr size_t kLongestShown = 40;

struct Unit {
  std::string_view name;  // lower case
  int64_t bytes;
};
constexpr std::array<Unit, 10> kUnits = {{
    {"", 1},
    {"b", 1},
    {"kb", 1'000},
    {"kib", kKiB},
    {"mb", 1'000'000},
    {"mib", kMiB},
    {"gb", 1'000'000'000},
    {"gib", 1024 * kMiB},
    {"tb", 1'000'000'000'000},
    {"tib", 1024 * 1024 * kMiB},
}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status Refused(std::string_view text, std::string_view why, std::string hint = "") {
  std::string shown;
  for (const char c : text.substr(0, kLongestShown)) shown += c >= ' ' && c != 127 ? c : '?';
  if (text.size() > kLongestShown) shown += "...";
  return Status::Usage(fmt::format("memory \"{}\": {}; wanted {}", shown, why, kWanted), std::move(hint));
}

// The digits before and behind the point, as they stand in the text.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
};

// floor(number * unit), or nothing when that is beyond int64. Exact: a double would turn 1.1GB into one byte less.
std::optional<int64_t> Times(const Decimal& number, int64_t unit) {
  int64_t behind = 0;  // of the fraction, from its last digit up; below `unit` after each round
  for (size_t i = number.fraction.size(); i-- > 0;) behind = (behind + (number.fraction[i] - '0') * unit) / 10;
  int64_t whole = 0;
  for (const char digit : number.whole) {
    if (whole > (kMostBytes - (digit - '0')) / 10) return std::nullopt;
    whole = whole * 10 + (digit - '0');
  }
  if (whole > (kMostBytes - behind) / unit) return std::nullopt;
  return whole * unit + behind;
}

// Up to 100: what is longer is out of range anyway.
double AsDouble(const Decimal& number) {
  double value = 0.0;
  for (const char digit : number.whole) value = value * 10.0 + (digit - '0');
  double weight = 0.1;
  for (const char digit : number.fraction) {
    value += (digit - '0') * weight;
    weight *= 0.1;
  }
  return value;
}

}  // namespace

std::string PrettyBytes(int64_t bytes) {
  constexpr std::array<const char*, 6> kNames = {"B", "kB", "MB", "GB", "TB", "PB"};
  double amount = std::abs(static_cast<double>(bytes));
  size_t unit = 0;
  // 999.95 and more would print as 1000.0: the next unit says it better.
  while (unit + 1 < kNames.size() && amount >= (unit == 0 ? 1000.0 : 999.95)) {
    amount /= 1000.0;
    ++unit;
  }
  std::string number = unit == 0 ? fmt::format("{:.0f}", amount) : fmt::format("{:.1f}", amount);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return fmt::format("{}{} {}", bytes < 0 ? "-" : "", number, kNames[unit]);
}

std::string PrettyBytesUp(int64_t bytes) {
  for (int64_t unit = 1'000; unit <= 1'000'000'000'000; unit *= 1'000) {
    if (bytes < 1'000 * unit && bytes >= unit) return PrettyBytes(RoundUp(bytes, unit / 10));
  }
  return PrettyBytes(bytes);
}

Result<MemoryAmount> ParseMemory(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  if (trimmed.empty()) return Refused(text, "nothing is given");
  if (Lower(trimmed) == "auto") return MemoryAmount{.kind = MemoryAmount::Kind::Auto};
  if (trimmed.front() == '-') return Refused(text, "an amount of memory is not negative");

  const auto digits_from = [&](size_t begin) {
    return std::find_if_not(trimmed.begin() + static_cast<std::ptrdiff_t>(begin), trimmed.end(), IsDigit) - trimmed.begin();
  };
  Decimal number;
  auto end = static_cast<size_t>(digits_from(0));
  number.whole = trimmed.substr(0, end);
  if (end < trimmed.size() && trimmed[end] == '.') {
    const auto fraction_end = static_cast<size_t>(digits_from(end + 1));
    number.fraction = trimmed.substr(end + 1, fraction_end - end - 1);
    if (number.fraction.empty()) return Refused(text, "no digit stands behind the point");
    end = fraction_end;
  }
  if (number.whole.empty()) return Refused(text, "it does not begin with a number");

  const std::string unit = Lower(Trimmed(trimmed.substr(end)));
  if (unit == "%") {
    const double percent = AsDouble(number);
    if (!(percent > 0.0 && percent <= 100.0)) return Refused(text, "a share is above 0% and at most 100%");
    return MemoryAmount{.kind = MemoryAmount::Kind::Percent, .percent = percent};
  }
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) { return known.name == unit; });
  if (found == kUnits.end()) {
    if (unit == "k" || unit == "m" || unit == "g" || unit == "t") {
      const std::string amount(trimmed.substr(0, end));
      const char letter = unit[0] == 'k' ? 'k' : static_cast<char>(unit[0] - 'a' + 'A');
      const char big = static_cast<char>(unit[0] - 'a' + 'A');
      return Refused(text, "the unit is cut short",
                     fmt::format("{0}{1}B (powers of 1000) or {0}{2}iB (powers of 1024)", amount, letter, big));
    }
    return Refused(text, "the unit is unknown");
  }
  if (found->bytes == 1 && !number.fraction.empty()) return Refused(text, "bytes are whole");
  const std::optional<int64_t> bytes = Times(number, found->bytes);
  if (!bytes) return Refused(text, "it is more than any machine has");
  if (*bytes == 0) return Refused(text, "nothing runs in no memory");
  return MemoryAmount{.kind = MemoryAmount::Kind::Bytes, .bytes = *bytes};
}

}  // namespace plimsoll
