#include "data/scale.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "data/record_reader.h"

namespace plimsoll {

std::string ScaleAsText(const std::vector<ColumnScale>& columns) {
  std::string text = "role\tname\tmean\tdeviation\tmissing\n";
  for (const ColumnScale& column : columns) {
    std::string name = column.name;
    for (char& c : name) {
      if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    }
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", column.target ? "target" : "input", name, column.mean, column.deviation,
                        column.missing ? 1 : 0);
  }
  return text;
}

Result<std::vector<ColumnScale>> ReadScale(const std::string& folder) {
  const std::string path = folder + kScaleFile;
  Result<std::unique_ptr<RecordReader>> reader = RecordReader::Open(
      path, {.columns = {"role", "name", "mean", "deviation", "missing"}, .format = DataFormat::Tsv, .header = true});
  if (!reader.ok()) return reader.status();
  std::vector<ColumnScale> columns;
  Record record;
  while (true) {
    const Result<bool> next = (*reader)->Next(record);
    if (!next.ok()) return next.status();
    if (!next.value()) return columns;
    if (!record.problem.empty()) return Status::Data(fmt::format("{}:{}", path, record.problem));
    ColumnScale column{.target = record.fields[0].text == "target",
                       .name = std::string(record.fields[1].text),
                       .missing = record.fields[4].text == "1"};
    const auto number = [](std::string_view text, double& out) {
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
      return error == std::errc() && stop == text.data() + text.size() && std::isfinite(out);
    };
    if (!number(record.fields[2].text, column.mean) || !number(record.fields[3].text, column.deviation) ||
        column.deviation <= 0.0)
      return Status::Data(fmt::format("{}:{}: wanted a mean and a deviation above 0", path, record.line));
    columns.push_back(std::move(column));
  }
}

}  // namespace plimsoll
