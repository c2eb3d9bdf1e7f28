#include "report/examples_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include "report/chart.h"
#include "report/xml.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostItems = 512;
constexpr size_t kMostCharts = 3;
constexpr double kCertain = 0.5;

struct Likely {
  int64_t number = -1;
  double probability = 0.0;
};
struct Item {
  int64_t step = 0;
  int64_t input = -1;
  int64_t target = -1;
  std::vector<Likely> likely;
  bool has_values = false;
  double wanted = 0.0;
  double given = 0.0;
};
using Sample = std::vector<Item>;

int64_t WholeOf(const Json& object, const char* key) {
  return static_cast<int64_t>(std::clamp(NumberOf(object, key, -1.0), -1.0, 1e15));
}

std::vector<Sample> SamplesOf(const RunRecord& run) {
  std::map<int64_t, Sample> samples;
  size_t items = 0;
  for (const Json& told : run.end["examples"]) {
    if (!told.is_object() || ++items > kMostItems) continue;
    Item item{.step = WholeOf(told, "step"), .input = WholeOf(told, "input"), .target = WholeOf(told, "target"), .likely = {}};
    if (told.contains("likely") && told["likely"].is_array()) {
      for (const Json& likely : told["likely"]) {
        if (likely.is_array() && likely.size() == 2 && likely[0].is_number_integer() && likely[1].is_number())
          item.likely.push_back({likely[0].get<int64_t>(), likely[1].get<double>()});
      }
    }
    item.has_values = told.contains("wanted");
    item.wanted = NumberOf(told, "wanted", NAN);
    item.given = NumberOf(told, "given", NAN);
    samples[WholeOf(told, "sample")].push_back(std::move(item));
  }
  std::vector<Sample> sorted;
  for (auto& [number, sample] : samples) {
    std::stable_sort(sample.begin(), sample.end(), [](const Item& a, const Item& b) { return a.step < b.step; });
    sorted.push_back(std::move(sample));
  }
  return sorted;
}

std::string Percent(double share) { return fmt::format("{:.0f}\u00a0%", 100.0 * share); }

// One character, a byte that is none, or a special token.
bool IsCharacter(const std::string& token) {
  const auto characters = std::count_if(token.begin(), token.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return characters <= 1 || token.starts_with("\\x") || token.starts_with("\u2039");
}

// The text that a sample begins with. Tokens that are characters stand close, words apart.
std::string Beginning(const RunRecord& run, const Sample& sample) {
  std::vector<std::string> tokens;
  bool characters = !run.tokens.empty();
  for (const Item& item : sample) {
    if (item.input < 0) continue;
    tokens.push_back(NameIn(run.tokens, item.input));
    characters = characters && IsCharacter(tokens.back());
  }
  return XmlText(fmt::format("{}", fmt::join(tokens, characters ? "" : " ")));
}

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += "<td>" + cell + "</td>";
  return row + "</tr>\n";
}

// Its first column may be text, which takes a line of its own where there is little room.
std::string Table(const std::vector<const char*>& heads, const std::string& rows, bool text = false) {
  std::string table = fmt::format("<div class=\"scroll\"><table class=\"examples{}\"><thead><tr>", text ? " of-text" : "");
  for (const char* head : heads) fmt::format_to(std::back_inserter(table), "<th>{}</th>", head);
  return table + "</tr></thead>\n" + rows + "</table></div>\n";
}

std::string Mark(bool hit, const std::string& text) {
  return fmt::format("<span class=\"{}\">{}</span>", hit ? "right" : "wrong", XmlText(text));
}

std::string ClassTable(const RunRecord& run, const std::vector<Sample>& samples) {
  std::string rows;
  bool text = false;
  for (const Sample& sample : samples) text = text || sample.front().input >= 0;
  for (const Sample& sample : samples) {
    const auto target = std::find_if(sample.begin(), sample.end(), [](const Item& item) { return item.target >= 0; });
    if (target == sample.end() || target->likely.empty()) continue;
    const Likely& best = target->likely.front();
    std::string rest;
    for (size_t i = 1; i < target->likely.size(); ++i) {
      const Likely& other = target->likely[i];
      if (other.probability < 0.01) continue;
      fmt::format_to(std::back_inserter(rest), "{}{} {}", rest.empty() ? "" : ", ", NameIn(run.labels, other.number),
                     Percent(other.probability));
    }
    const std::string given = fmt::format("{} {}", NameIn(run.labels, best.number), Percent(best.probability));
    std::vector<std::string> cells = {XmlText(NameIn(run.labels, target->target)), Mark(best.number == target->target, given),
                                      XmlText(rest)};
    if (text) cells.insert(cells.begin(), Beginning(run, sample));
    rows += Row(cells);
  }
  if (text) return Table({"begins with", "wanted", "given", "or"}, rows, true);
  return Table({"wanted", "given", "or"}, rows);
}

std::string LabelTable(const RunRecord& run, const std::vector<Sample>& samples) {
  std::string rows;
  bool text = false;
  for (const Sample& sample : samples) text = text || sample.front().input >= 0;
  for (const Sample& sample : samples) {
    std::string wanted, given;
    for (const Item& item : sample) {
      if (!item.has_values) continue;
      const std::string name = NameIn(run.labels, item.step);
      const bool is_wanted = item.wanted > kCertain;
      if (is_wanted) wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", XmlText(name));
      given += (given.empty() ? "" : ", ") +
               Mark(is_wanted == (item.given > kCertain), fmt::format("{} {}", name, Percent(item.given)));
    }
    std::vector<std::string> cells = {wanted.empty() ? "none" : wanted, given.empty() ? "none" : given};
    if (text) cells.insert(cells.begin(), Beginning(run, sample));
    rows += Row(cells);
  }
  if (text) return Table({"begins with", "wanted", "given"}, rows, true);
  return Table({"wanted", "given"}, rows);
}

std::string SpeltTable(const RunRecord& run, const std::vector<Sample>& samples) {
  std::string rows;
  for (const Sample& sample : samples) {
    std::vector<std::string> wanted, given;
    for (const Item& item : sample) {
      if (item.target >= 0) wanted.push_back(NameIn(run.labels, item.target));
      if (!item.likely.empty()) given.push_back(NameIn(run.labels, item.likely.front().number));
    }
    rows += Row(
        {XmlText(fmt::format("{}", fmt::join(wanted, " "))), Mark(wanted == given, fmt::format("{}", fmt::join(given, " ")))});
  }
  return Table({"wanted", "given"}, rows);
}

// Steps side by side: what was wanted, and below it what was given where that is something else.
std::string Steps(const RunRecord& run, const std::vector<Sample>& samples) {
  const bool learns_text = run.LearnsText();
  std::string html =
      fmt::format("<p class=\"note\">{}</p>\n",
                  learns_text ? "Text as it stands. Blue: the model's likeliest token was the right one, the "
                                "stronger the surer. Below the others: what it had expected."
                              : "What was wanted at each step. Blue: the model gives the same. Below the others: "
                                "what it gives.");
  auto out = std::back_inserter(html);
  for (const Sample& sample : samples) {
    html += "<div class=\"steps\">";
    if (learns_text && sample.front().input >= 0)
      fmt::format_to(out, "<span class=\"start\"><b>{}</b></span>", XmlText(NameIn(run.tokens, sample.front().input)));
    for (const Item& item : sample) {
      if (item.likely.empty()) continue;
      const Likely& best = item.likely.front();
      const bool hit = best.number == item.target;
      std::string title;
      for (const Likely& likely : item.likely) {
        fmt::format_to(std::back_inserter(title), "{}{}", title.empty() ? "" : ", ", NameIn(RunNames(run), likely.number));
        if (likely.probability > 0.0) title += " " + Percent(likely.probability);
      }
      const double tone = hit ? 15.0 + 45.0 * std::clamp(best.probability > 0.0 ? best.probability : 1.0, 0.0, 1.0) : 0.0;
      fmt::format_to(out, "<span class=\"{}\" style=\"--p:{:.0f}\" title=\"{}\">", hit ? "hit" : "miss", tone, XmlText(title));
      if (!learns_text && item.input >= 0 && !run.tokens.empty())
        fmt::format_to(out, "<em>{}</em>", XmlText(NameIn(run.tokens, item.input)));
      fmt::format_to(out, "<b>{}</b>", XmlText(NameIn(RunNames(run), item.target)));
      if (!hit) fmt::format_to(out, "<i>{}</i>", XmlText(NameIn(RunNames(run), best.number)));
      html += "</span>";
    }
    html += "</div>\n";
  }
  return html;
}

std::string TwoLines(const Chart& chart) {
  return "<div class=\"legend\"><span><svg viewBox=\"0 0 20 9\"><path class=\"line c1\" d=\"M1 4.5L19 "
         "4.5\"/></svg>wanted</span>"
         "<span><svg viewBox=\"0 0 20 9\"><path class=\"line c2\" d=\"M1 4.5L19 4.5\"/></svg>given</span></div>\n" +
         ChartSvg(chart);
}

Chart Curve(const std::string& about, const std::string& x) {
  Chart chart{.about = about, .lines = {}, .x = x};
  chart.lines.push_back({"wanted", "c1", {}});
  chart.lines.push_back({"given", "c2", {}});
  return chart;
}

void AddPoint(Chart& chart, double x, const Item& item, const RecordedColumn& scale) {
  chart.lines[0].points.push_back({x, item.wanted * scale.deviation + scale.mean});
  chart.lines[1].points.push_back({x, item.given * scale.deviation + scale.mean});
}

bool OneValueEach(const std::vector<Sample>& samples) {
  return std::all_of(samples.begin(), samples.end(), [](const Sample& sample) { return sample.size() == 1; });
}

// One value a sample: along the samples where they follow each other in time, else against each other.
std::string ValueOfEach(const std::vector<Sample>& samples, const RecordedColumn& scale, bool forecast) {
  if (forecast) {
    Chart chart = Curve("Forecasts and what came", "sample");
    for (size_t i = 0; i < samples.size(); ++i) AddPoint(chart, static_cast<double>(i + 1), samples[i].front(), scale);
    return fmt::format("<p class=\"note\">{}: the first samples of the score, one after the other.</p>\n{}",
                       XmlText(scale.name.empty() ? "value" : scale.name), TwoLines(chart));
  }
  Chart chart{.about = "Values given against values wanted", .lines = {}, .x = "wanted"};
  chart.lines.push_back({"right", "axis thin", {}});
  chart.lines.push_back({"given", "c1", {}, true, false});
  double lo = INFINITY, hi = -INFINITY;
  for (const Sample& sample : samples) {
    const Item& item = sample.front();
    if (!std::isfinite(item.wanted) || !std::isfinite(item.given)) continue;
    chart.lines[1].points.push_back({item.wanted, item.given});
    lo = std::min(lo, item.wanted);
    hi = std::max(hi, item.wanted);
  }
  if (lo <= hi) chart.lines[0].points = {{lo, lo}, {hi, hi}};
  return "<p class=\"note\">Each dot is a sample: to the right what was wanted, upwards what the model gives. On the line it "
         "is "
         "right.</p>\n" +
         ChartSvg(chart);
}

std::string Values(const RunRecord& run, const std::vector<Sample>& samples) {
  const std::vector<RecordedColumn> one = {RecordedColumn{}};
  const std::vector<RecordedColumn>& columns = run.columns.empty() ? one : run.columns;
  const bool forecast = run.facts.is_object() && run.facts.value("task", Json()) == "forecast";
  if (OneValueEach(samples)) return ValueOfEach(samples, columns[0], forecast);
  std::string html = "<div class=\"charts\">\n";
  for (size_t i = 0; i < kMostCharts; ++i) {
    // With several columns their curves of one sample, else those of several samples.
    const size_t number = columns.size() > 1 ? i / columns.size() : i, column = columns.size() > 1 ? i % columns.size() : 0;
    if (number >= samples.size()) break;
    Chart chart = Curve("Values wanted and given", forecast ? "steps ahead" : "step");
    for (const Item& item : samples[number]) {
      const auto width = static_cast<int64_t>(columns.size());
      const int64_t row = item.step / width + (forecast ? 1 : 0);
      if (item.step % width == static_cast<int64_t>(column)) AddPoint(chart, static_cast<double>(row), item, columns[column]);
    }
    html += fmt::format("<div><p class=\"note\">{}example {}</p>\n{}</div>\n",
                        columns[column].name.empty() ? "" : XmlText(columns[column].name) + ", ", number + 1, TwoLines(chart));
  }
  return html + "</div>\n";
}

}  // namespace

const Names& RunNames(const RunRecord& run) { return run.LearnsText() ? run.tokens : run.labels; }

std::string NameIn(const Names& names, int64_t number) {
  const auto found = names.find(number);
  return found == names.end() ? std::to_string(number) : found->second;
}

ExamplesView ExamplesOf(const RunRecord& run) {
  if (!run.end.is_object() || !run.end.contains("examples") || !run.end["examples"].is_array()) return {};
  const std::vector<Sample> samples = SamplesOf(run);
  if (samples.empty()) return {};
  const Json kind = run.end.value("example_kind", Json());
  const auto is = [&](ExampleKind wanted) { return kind == ExampleKindName(wanted); };
  if (is(ExampleKind::Classes)) return {ClassTable(run, samples)};
  if (is(ExampleKind::Steps)) return {Steps(run, samples)};
  if (is(ExampleKind::Spelt)) return {SpeltTable(run, samples)};
  if (is(ExampleKind::Labels)) return {LabelTable(run, samples)};
  if (!is(ExampleKind::Values)) return {};
  return {Values(run, samples), !OneValueEach(samples)};
}

}  // namespace plimsoll
