// lengths_text: a LengthReport for people, and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "plimsoll/data.h"
#include "plimsoll/text.h"

namespace plimsoll {

std::string LengthsText(const LengthReport& report, int columns) {
  const double mean = static_cast<double>(report.row_steps) / static_cast<double>(std::max<int64_t>(report.samples, 1));
  std::string text = fmt::format("lengths  {} samples of {} steps in all: shortest {}, median {}, mean {:.1f}, longest {}\n\n",
                                 report.samples, report.row_steps, report.shortest, report.median, mean, report.longest);
  int64_t most = 1;
  for (const LengthReport::Bin& bin : report.bins) most = std::max(most, bin.samples);
  text += fmt::format("{:>19}  {:>10}  {:>6}  {:>6}\n", "steps", "samples", "share", "work");
  const auto share = [](int64_t part, int64_t whole) {
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1)));
  };
  const int room = std::clamp(columns - 52, 8, 40);
  for (const LengthReport::Bin& bin : report.bins) {
    const auto cells = static_cast<int>((bin.samples * room + most - 1) / most);
    text += fmt::format("{:>8} - {:>8}  {:>10}  {:>6}  {:>6}  ", bin.first, std::min(bin.last, report.longest), bin.samples,
                        share(bin.samples, report.samples), share(bin.row_steps, report.row_steps));
    for (int cell = 0; cell < cells; ++cell) text += "━";
    text += '\n';
  }
  text += fmt::format("\n{:>19}  {:>10}  {:>15}  {:>13}\n", "if cut to steps", "stay whole", "smallest budget", "no recompute");
  for (const LengthReport::Cut& cut : report.cuts) {
    text += fmt::format("{:>19}  {:>10}  {:>15}  {:>13}\n", cut.steps, fmt::format("{:.1f} %", 100.0 * cut.samples_within),
                        PrettyBytes(cut.min_bytes), PrettyBytes(cut.full_speed_bytes));
  }
  return text +
         "\nNothing is cut unless data.max_length says so, and nothing is padded: long samples cost memory or time, not "
         "accuracy.\n";
}

std::string LengthsJson(const LengthReport& report) {
  std::string text = fmt::format(
      "{{\n  \"samples\": {},\n  \"row_steps\": {},\n  \"shortest\": {},\n  \"median\": {},\n  \"longest\": {},\n  \"bins\": [",
      report.samples, report.row_steps, report.shortest, report.median, report.longest);
  const char* between = "\n";
  for (const LengthReport::Bin& bin : report.bins) {
    text += fmt::format("{}    {{\"first\": {}, \"last\": {}, \"samples\": {}, \"row_steps\": {}}}", between, bin.first,
                        bin.last, bin.samples, bin.row_steps);
    between = ",\n";
  }
  text += "\n  ],\n  \"cuts\": [";
  between = "\n";
  for (const LengthReport::Cut& cut : report.cuts) {
    text += fmt::format("{}    {{\"steps\": {}, \"samples_within\": {:.6f}, \"min_bytes\": {}, \"full_speed_bytes\": {}}}",
                        between, cut.steps, cut.samples_within, cut.min_bytes, cut.full_speed_bytes);
    between = ",\n";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace plimsoll
