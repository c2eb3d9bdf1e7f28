// names: what the numbers of a run's classes and tokens are called, as people like to read it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "report/each_line.h"
#include "report/run_record.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostNameBytes = 40;
constexpr int64_t kMostNumbers = 4096;
constexpr size_t kMostColumnBytes = 4096;
constexpr size_t kMostColumns = 256;

// A line of vocabulary.txt or labels.txt (docs/formats.md has the escapes). Blanks are shown by signs for them.
std::string Shown(std::string_view line) {
  for (const std::string_view special : {"unknown", "begin", "end"}) {
    if (line.size() == special.size() + 1 && line[0] == '\\' && line.substr(1) == special)
      return fmt::format("\u2039{}\u203a", special);
  }
  std::string shown;
  while (!line.empty()) {
    const auto taken = [&](std::string_view escape, std::string_view sign) {
      if (!line.starts_with(escape)) return false;
      shown += sign;
      line.remove_prefix(escape.size());
      return true;
    };
    if (taken("\\x20", "\u2423") || taken("\\x0a", "\u21b5") || taken("\\x09", "\u21e5") || taken("\\\\", "\\")) continue;
    shown += line[0];
    line.remove_prefix(1);
  }
  return shown;
}

void NameNumbers(Names& wanted, const std::string& path) {
  if (wanted.empty()) return;
  const Result<File> file = File::OpenRead(path);
  if (!file.ok()) return wanted.clear();  // not a run on text
  Names named;
  int64_t number = 0;
  const Status read = EachLine(file.value(), kMostNameBytes, [&](const std::string& line, bool whole) {
    if (wanted.contains(number)) {
      std::string cut = line;
      while (!whole && !cut.empty() && (static_cast<unsigned char>(cut.back()) & 0xC0) == 0x80) cut.pop_back();
      if (!whole && !cut.empty() && static_cast<unsigned char>(cut.back()) >= 0xC0) cut.pop_back();
      named[number] = Shown(cut) + (whole ? "" : "\u2026");
    }
    ++number;
  });
  wanted = read.ok() ? std::move(named) : Names{};
}

// Lines of scale.txt (docs/formats.md): role, name, mean, deviation, missing.
void ReadTargetColumns(std::vector<RecordedColumn>& columns, const std::string& path) {
  const Result<File> file = File::OpenRead(path);
  if (!file.ok()) return;  // no forecast
  const Status read = EachLine(file.value(), kMostColumnBytes, [&](const std::string& line, bool whole) {
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == '\t') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    RecordedColumn column;
    const auto number = [](const std::string& text, double& out) {
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
      return error == std::errc() && stop == text.data() + text.size() && std::isfinite(out);
    };
    if (!whole || cells.size() != 5 || cells[0] != "target" || columns.size() == kMostColumns) return;
    if (!number(cells[2], column.mean) || !number(cells[3], column.deviation)) return;
    column.name = cells[1].substr(0, kMostNameBytes);
    columns.push_back(std::move(column));
  });
  if (!read.ok()) columns.clear();
}

}  // namespace

void ReadNames(RunRecord& run, const std::string& folder) {
  if (!run.end.is_object()) return;
  const auto want = [](Names& names, const Json& number) {
    if (number.is_number_integer() && static_cast<int64_t>(names.size()) < kMostNumbers) names[number.get<int64_t>()];
  };
  const auto classes = std::clamp(NumberOf(run.end, "classes"), 0.0, static_cast<double>(kMostNumbers));
  Names& targets = run.LearnsText() ? run.tokens : run.labels;
  for (int64_t i = 0; i < std::llround(classes); ++i) targets[i];
  const auto examples = run.end.find("examples");
  if (examples != run.end.end() && examples->is_array()) {
    const bool labels = run.end.value("example_kind", Json()) == "labels";
    for (const Json& example : *examples) {
      if (!example.is_object()) continue;
      if (example.contains("input")) want(run.tokens, example["input"]);
      if (example.contains("target")) want(targets, example["target"]);
      if (labels && example.contains("step")) want(targets, example["step"]);
      if (!example.contains("likely") || !example["likely"].is_array()) continue;
      for (const Json& likely : example["likely"]) {
        if (likely.is_array() && !likely.empty()) want(targets, likely[0]);
      }
    }
  }
  NameNumbers(run.labels, folder + "/labels.txt");
  NameNumbers(run.tokens, folder + "/vocabulary.txt");
  ReadTargetColumns(run.columns, folder + "/scale.txt");
}

}  // namespace plimsoll
