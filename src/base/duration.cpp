// duration: stretches of time as users write them.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "plimsoll/text.h"

namespace plimsoll {

Result<double> ReadDuration(std::string_view text) {
  constexpr double kLongest = 1e9;  // 30 years
  double number = 0.0, unit = 1.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view name(stop, static_cast<size_t>(end - stop));
  bool known = error == std::errc();
  if (name == "m") {
    unit = 60.0;
  } else if (name == "h") {
    unit = 3600.0;
  } else if (name == "d") {
    unit = 86400.0;
  } else {
    known = known && (name.empty() || name == "s");
  }
  if (!known || !std::isfinite(number) || number < 0.0 || number * unit > kLongest)
    return Status::Usage(fmt::format("wanted a stretch of time such as 90s, 10m or 2h, got {}", text));
  return number * unit;
}

}  // namespace plimsoll
