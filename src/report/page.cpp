#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>

#include "base/bytes.h"
#include "plimsoll/version.h"
#include "report/arena_map.h"
#include "report/chart.h"
#include "report/examples_card.h"
#include "report/page_style.h"
#include "report/xml.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;
using Runs = std::vector<RunRecord>;

constexpr double kFarBudget = 3.0;  // a budget so many times the plan is told, not drawn
constexpr size_t kMostClasses = 32;
constexpr size_t kMostLayerRows = 24;
constexpr size_t kMostMetricsTold = 1;  // beside the page's first number

// Words for the phases, as a reader of the page knows them.
constexpr std::array<const char*, kPhases> kPhaseWords = {"read data", "forward",       "recompute", "slots",
                                                          "from tape", "head and loss", "backward",  "optimizer"};

std::string Bytes(double bytes) { return PrettyBytes(static_cast<int64_t>(std::clamp(bytes, 0.0, 9e18))); }

// "29 510", with spaces that do not break.
std::string Grouped(double number) {
  std::string text = fmt::format("{:.0f}", number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, "\u202f");
  return text;
}

std::string Duration(double seconds) {
  if (!(seconds >= 0.0)) return "-";
  if (seconds < 60.0) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e15));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string Card(const std::string& title, const std::string& inside, const char* more = "") {
  return fmt::format("<section class=\"card {}\"><h2>{}</h2>\n{}</section>\n", more, XmlText(title), inside);
}

std::string Tile(const std::string& number, const std::string& words) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", XmlText(number), XmlText(words));
}

// Text of several lines as it stands.
std::string Lines(const std::string& text) {
  std::string html = "<pre>";
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) html += XmlText(line) + "\n";
  return html + "</pre>";
}

struct LegendEntry {
  std::string look;
  std::string words;
};
std::string Legend(const std::vector<LegendEntry>& entries) {
  std::string html = "<div class=\"legend\">";
  for (const auto& [look, words] : entries) {
    fmt::format_to(std::back_inserter(html),
                   "<span><svg viewBox=\"0 0 20 9\"><path class=\"line {}\" d=\"M1 4.5L19 4.5\"/></svg>{}</span>", look,
                   XmlText(words));
  }
  return html + "</div>\n";
}

// A curve with a legend that says the last value of each line.
std::string Curves(Chart chart) {
  std::vector<LegendEntry> entries;
  std::erase_if(chart.lines, [](const ChartLine& line) { return line.points.empty(); });
  for (const ChartLine& line : chart.lines)
    entries.push_back({line.look, fmt::format("{} {}", line.name, InUnit(line.points.back().y, chart.unit))});
  return Legend(entries) + ChartSvg(chart);
}

template <typename Points, typename Y>
std::vector<ChartPoint> PointsOf(const Points& points, Y y) {
  std::vector<ChartPoint> drawn;
  for (const auto& point : points) drawn.push_back({.x = point.update, .y = y(point)});
  return drawn;
}

std::string NameOf(const Runs& runs, size_t run, const std::string& what) {
  return runs.size() == 1 ? what : fmt::format("{} {}", runs[run].name, what);
}

// Colours of the first run are 1 and 2, those of the second 3 and 4.
std::string Look(size_t run, int number, const char* more = "") {
  return fmt::format("c{}{}", 2 * run + static_cast<size_t>(number), more);
}

std::string LossCard(const Runs& runs) {
  Chart chart{.about = "Loss by update", .log = true};
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    chart.lines.push_back(
        {NameOf(runs, i, "loss"), Look(i, 1, " thin"), PointsOf(run.steps, [](const auto& p) { return p.loss; })});
    if (run.steps.empty()) chart.lines.back().points = PointsOf(run.epochs, [](const auto& p) { return p.loss; });
    std::vector<RecordedEpoch> scored;
    std::copy_if(run.epochs.begin(), run.epochs.end(), std::back_inserter(scored), [](const auto& p) { return p.has_valid; });
    chart.lines.push_back(
        {NameOf(runs, i, "val_loss"), Look(i, 2), PointsOf(scored, [](const auto& p) { return p.val_loss; }), true});
  }
  return Card("Loss", Curves(std::move(chart)));
}

std::string AccuracyCard(const Runs& runs) {
  Chart chart{.about = "Accuracy by update", .unit = ChartUnit::Share};
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto known = [](auto points, auto value) {
      std::erase_if(points, [&](const auto& point) { return value(point) < 0.0; });
      return PointsOf(points, value);
    };
    chart.lines.push_back(
        {NameOf(runs, i, "accuracy"), Look(i, 1, " thin"), known(runs[i].steps, [](const auto& p) { return p.accuracy; })});
    chart.lines.push_back({NameOf(runs, i, "val_accuracy"), Look(i, 2),
                           known(runs[i].epochs, [](const auto& p) { return p.val_accuracy; }), true});
  }
  const bool any = std::any_of(chart.lines.begin(), chart.lines.end(), [](const auto& line) { return !line.points.empty(); });
  return any ? Card("Accuracy", Curves(std::move(chart))) : "";
}

// A small chart for each metric that is not drawn elsewhere; one alone needs no wide card.
std::string MetricsCard(const Runs& runs) {
  std::string charts;
  int drawn = 0;
  for (size_t number = 0; number < kShownMetrics; ++number) {
    const char* name = ShownMetric(number) + 4;
    Chart chart{.about = fmt::format("{} by update", name)};
    for (size_t i = 0; i < runs.size(); ++i) {
      ChartLine train{NameOf(runs, i, name), Look(i, 1), {}, true};
      ChartLine valid{NameOf(runs, i, ShownMetric(number)), Look(i, 2), {}, true};
      for (const RecordedEpoch& epoch : runs[i].epochs) {
        for (const RecordedMetric& metric : epoch.metrics) {
          if (metric.number != number) continue;
          if (std::isfinite(metric.train)) train.points.push_back({epoch.update, metric.train});
          if (std::isfinite(metric.valid)) valid.points.push_back({epoch.update, metric.valid});
        }
      }
      chart.lines.push_back(std::move(train));
      chart.lines.push_back(std::move(valid));
    }
    const bool any = std::any_of(chart.lines.begin(), chart.lines.end(), [](const auto& line) { return !line.points.empty(); });
    if (!any) continue;
    charts += "<div>" + Curves(std::move(chart)) + "</div>\n";
    ++drawn;
  }
  if (drawn < 2) return charts.empty() ? "" : Card("Metrics", charts);
  return Card("Metrics", "<div class=\"charts\">\n" + charts + "</div>\n", "wide");
}

std::string RateCard(const Runs& runs) {
  Chart chart{.about = "Learning rate by update", .from_zero = true};
  bool varies = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    chart.lines.push_back(
        {NameOf(runs, i, "learning_rate"), Look(i, 1), PointsOf(runs[i].steps, [](const auto& p) { return p.learning_rate; })});
    for (const RecordedStep& step : runs[i].steps) varies = varies || step.learning_rate != runs[i].steps.front().learning_rate;
  }
  return varies ? Card("Learning rate", Curves(std::move(chart))) : "";
}

std::string MemoryCard(const Runs& runs) {
  Chart chart{.about = "Memory by update", .unit = ChartUnit::Bytes, .from_zero = true};
  std::string note;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    chart.lines.push_back(
        {NameOf(runs, i, "measured"), Look(i, 1), PointsOf(run.steps, [](const auto& p) { return p.resident_bytes; })});
    chart.lines.push_back(
        {NameOf(runs, i, "planned"), Look(i, 2, " dash"), PointsOf(run.steps, [](const auto& p) { return p.planned_bytes; })});
    if (run.budget_bytes() <= kFarBudget * run.planned_bytes()) {
      chart.lines.push_back(
          {NameOf(runs, i, "budget"), "limit", PointsOf(run.steps, [](const auto& p) { return p.budget_bytes; })});
    } else {
      note += fmt::format("<p class=\"note\">The budget{} of {} lies far above.</p>\n",
                          runs.size() == 1 ? "" : " of " + XmlText(run.name), Bytes(run.budget_bytes()));
    }
  }
  return Card("Memory of the whole process", Curves(std::move(chart)) + note);
}

std::string OwnersCard(const RunRecord& run, const std::string& title) {
  std::vector<std::pair<std::string, double>> owners;
  if (run.plan.contains("owners") && run.plan["owners"].is_object()) {
    for (const auto& [name, bytes] : run.plan["owners"].items()) {
      if (bytes.is_number() && bytes > 0) owners.emplace_back(name, bytes.get<double>());
    }
  }
  std::stable_sort(owners.begin(), owners.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const double all = std::max(1.0, run.planned_bytes());
  std::vector<BarRow> rows;
  for (const auto& [name, bytes] : owners) {
    rows.push_back({.name = name,
                    .parts = {{bytes, "f1", fmt::format("{}: {}", name, Bytes(bytes))}},
                    .words = fmt::format("{} · {:.1f} %", Bytes(bytes), 100.0 * bytes / all)});
  }
  return Card(title, BarsSvg("Planned bytes by owner", rows));
}

std::string ArenaCard(const RunRecord& run, const std::string& title) {
  return Card(
      title,
      "<p class=\"note\">Each box is a buffer: what it occupies, and from which moment of a step to which. Buffers that "
      "never meet share a place.</p>\n<div class=\"legend\">" +
          ArenaLegend(run.plan) + "</div>\n" + ArenaMapSvg(run.plan) + ArenaList(run.plan));
}

// Whose bars have which colour.
std::string WhoIsWho(const Runs& runs) {
  if (runs.size() == 1) return "";
  std::vector<LegendEntry> entries(2);
  entries[0] = {"c1", runs[0].name};
  entries[1] = {"c3", runs[1].name};
  return Legend(entries);
}

std::string PhaseCard(const Runs& runs) {
  std::vector<BarRow> rows;
  for (size_t phase = 0; phase < kPhases; ++phase) {
    for (size_t i = 0; i < runs.size(); ++i) {
      double all = 0.0;
      for (const double ms : runs[i].phase_ms) all += ms;
      const double ms = runs[i].phase_ms[phase];
      if (!(all > 0.0) || ms < 5e-4 * all) continue;
      rows.push_back(
          {.name = kPhaseWords[phase],
           .parts = {{ms, i == 0 ? "f1" : "f3", fmt::format("{}: {}", runs[i].name, InUnit(ms, ChartUnit::Milliseconds))}},
           .words = fmt::format("{} · {:.1f} %", InUnit(ms, ChartUnit::Milliseconds), 100.0 * ms / all)});
    }
  }
  if (rows.empty()) return "";
  std::string note = WhoIsWho(runs) + "<p class=\"note\">Of one update, by the mean of those that were measured: ";
  for (size_t i = 0; i < runs.size(); ++i) {
    fmt::format_to(std::back_inserter(note), "{}{}", i == 0 ? "" : " against ",
                   InUnit(runs[i].step_ms, ChartUnit::Milliseconds));
  }
  return Card("Time by phase", note + ".</p>\n" + BarsSvg("Time of an update by phase", rows));
}

std::string LayerCard(const Runs& runs) {
  std::vector<BarRow> rows;
  size_t layers = 0;
  for (const RunRecord& run : runs) layers = std::max(layers, run.layer_times.size());
  for (size_t layer = 0; layer < layers; ++layer) {
    for (size_t i = 0; i < runs.size() && rows.size() < kMostLayerRows; ++i) {
      const RunRecord& run = runs[i];
      if (layer >= run.layer_times.size()) continue;
      const LayerTime& time = run.layer_times[layer];
      const std::string forward = InUnit(time.forward_ms, ChartUnit::Milliseconds);
      const std::string backward = InUnit(time.backward_ms, ChartUnit::Milliseconds);
      rows.push_back({.name = run.layers[layer],
                      .parts = {{time.forward_ms, i == 0 ? "f1" : "f3", "forward " + forward},
                                {time.backward_ms, i == 0 ? "f1 faint" : "f3 faint", "backward " + backward}},
                      .words = InUnit(time.forward_ms + time.backward_ms, ChartUnit::Milliseconds)});
    }
  }
  if (rows.empty()) return "";
  return Card("Time by layer", WhoIsWho(runs) +
                                   "<p class=\"note\">Full colour: forward, recompute included; pale: backward.</p>\n" +
                                   BarsSvg("Time by layer", rows));
}

std::string ConfusionCard(const RunRecord& run, const std::string& title) {
  if (!run.end.is_object() || !run.end.contains("confusion") || !run.end["confusion"].is_array()) return "";
  const Json& counts = run.end["confusion"];
  const auto classes = static_cast<size_t>(std::clamp(NumberOf(run.end, "classes"), 0.0, static_cast<double>(kMostClasses)));
  if (classes < 2 || counts.size() != classes * classes) return "";
  std::string table =
      fmt::format("<div class=\"scroll\"><table class=\"confusion{}\"><tr><th></th>", RunNames(run).empty() ? "" : " named");
  auto out = std::back_inserter(table);
  const auto named = [&](size_t number) { return XmlText(NameIn(RunNames(run), static_cast<int64_t>(number))); };
  for (size_t said = 0; said < classes; ++said) fmt::format_to(out, "<th><span>{}</span></th>", named(said));
  table += "</tr>\n";
  for (size_t truth = 0; truth < classes; ++truth) {
    double all = 0.0;
    for (size_t said = 0; said < classes; ++said) {
      const Json& count = counts[truth * classes + said];
      all += count.is_number() ? count.get<double>() : 0.0;
    }
    fmt::format_to(out, "<tr><th>{}</th>", named(truth));
    for (size_t said = 0; said < classes; ++said) {
      const Json& cell = counts[truth * classes + said];
      const double count = cell.is_number() ? cell.get<double>() : 0.0, share = all > 0.0 ? count / all : 0.0;
      fmt::format_to(out, "<td class=\"{}{}\" style=\"--p:{:.0f}\">{:.0f}</td>", truth == said ? "hit" : "miss",
                     share > 0.6    ? " hot"
                     : count == 0.0 ? " none"
                                    : "",
                     90.0 * share, count);
    }
    table += "</tr>\n";
  }
  return Card(title, "<p class=\"note\">Rows: the true class. Columns: the class that the model gives. Last score.</p>\n" +
                         table + "</table></div>\n");
}

std::string LengthCard(const RunRecord& run) {
  if (!run.facts.is_object() || !run.facts.contains("lengths")) return "";
  const Json& lengths = run.facts["lengths"];
  if (!lengths.is_object() || !lengths.contains("counts") || !lengths["counts"].is_array()) return "";
  std::vector<double> counts;
  for (const Json& count : lengths["counts"]) {
    if (count.is_number() && counts.size() < 200) counts.push_back(count.get<double>());
  }
  const double shortest = NumberOf(lengths, "shortest"), longest = NumberOf(lengths, "longest");
  std::string words = shortest == longest ? fmt::format("{} steps each", Grouped(longest))
                                          : fmt::format("{} to {} steps, {:.1f} on average", Grouped(shortest),
                                                        Grouped(longest), NumberOf(lengths, "mean"));
  if (!run.epochs.empty() && run.epochs.back().computed_row_steps > 0.0) {
    const RecordedEpoch& last = run.epochs.back();
    words += fmt::format(" · useful steps / computed steps = {:.4g}, of {}; what runs again to save memory not counted",
                         last.useful_row_steps / last.computed_row_steps, Grouped(last.computed_row_steps));
  }
  if (counts.size() < 2) return Card("Lengths of the sequences", "<p class=\"note\">" + words + "</p>\n");
  return Card("Lengths of the sequences", "<p class=\"note\">" + words + "</p>\n" +
                                              HistogramSvg("Histogram of lengths", counts, NumberOf(lengths, "shortest"),
                                                           NumberOf(lengths, "bin_steps", 1.0)));
}

std::string AdviceCard(const std::vector<std::string>& advice) {
  if (advice.empty()) return "";
  std::string list = "<ul>";
  for (const std::string& sentence : advice) list += "<li>" + XmlText(sentence) + "</li>\n";
  return Card("What would make it faster or smaller", list + "</ul>", "wide");
}

// The last score that is known, as the page's first number.
struct Headline {
  std::string number = "-";
  std::string words = "no score yet";
};
Headline ScoreOf(const RunRecord& run) {
  const bool ended = run.end.is_object();
  double accuracy = NumberOf(run.end, "last_accuracy", -1.0), loss = NumberOf(run.end, "last_loss", NAN);
  if (!ended && !run.epochs.empty()) {
    const RecordedEpoch& epoch = run.epochs.back();
    accuracy = epoch.has_valid ? epoch.val_accuracy : epoch.accuracy;
    loss = epoch.has_valid ? epoch.val_loss : epoch.loss;
  }
  std::string more;
  if (run.LearnsText()) {
    more = fmt::format(", perplexity {}", InUnit(std::exp(loss), ChartUnit::Plain));
  } else if (!run.epochs.empty()) {
    const std::vector<RecordedMetric>& metrics = run.epochs.back().metrics;
    for (size_t i = 0; i < std::min(metrics.size(), kMostMetricsTold); ++i) {
      const char* name = ShownMetric(metrics[i].number) + 4;
      const double value = ended ? NumberOf(run.end, fmt::format("last_{}", name).c_str(), NAN) : metrics[i].valid;
      if (std::isfinite(value)) more += fmt::format(", {} {}", name, InUnit(value, ChartUnit::Plain));
    }
  }
  if (accuracy >= 0.0)
    return {fmt::format("{:.2f} %", 100.0 * accuracy),
            fmt::format("accuracy, loss {}{}", InUnit(loss, ChartUnit::Plain), more)};
  if (std::isfinite(loss)) return {InUnit(loss, ChartUnit::Plain), "loss" + more};
  return {};
}

std::string Gauge(const RunRecord& run) {
  const double all = std::max({run.budget_bytes(), run.planned_bytes(), run.peak_bytes(), 1.0});
  const double growth = run.epochs.size() > 1 ? run.epochs.back().peak_bytes - run.epochs.front().peak_bytes : 0.0;
  std::string words = fmt::format("measured {} · planned {} · budget {}", Bytes(run.peak_bytes()), Bytes(run.planned_bytes()),
                                  Bytes(run.budget_bytes()));
  if (run.epochs.size() > 1)
    words += growth <= 0.0 ? " · flat: not a byte more after the last epoch than after the first"
                           : fmt::format(" · grew by {} since the first epoch", Bytes(growth));
  return fmt::format(
      "<div class=\"gauge\" title=\"{0}\"><i style=\"width:{1:.2f}%\"></i><u style=\"left:{2:.2f}%\"></u></div><p "
      "class=\"note\">{0}</p>\n",
      words, 100.0 * run.peak_bytes() / all, 100.0 * run.planned_bytes() / all - 0.2);
}

std::string Tiles(const RunRecord& run) {
  const Headline score = ScoreOf(run);
  const double updates = run.steps.empty() ? 0.0 : run.steps.back().update;
  const double samples = NumberOf(run.facts, "samples"), batch = NumberOf(run.facts, "batch_size");
  const double all = NumberOf(run.facts, "epochs");
  std::string tiles = "<div class=\"tiles\">\n" + Tile(score.number, score.words);
  tiles += Tile(Bytes(run.peak_bytes()), fmt::format("peak of {} allowed", Bytes(run.budget_bytes())));
  tiles += Tile(Duration(run.seconds), fmt::format("{} of {:.0f} epochs", run.epochs.size(), all));
  tiles += Tile(
      InUnit(run.step_ms, ChartUnit::Milliseconds),
      run.step_ms > 0.0 ? fmt::format("an update; {} samples a second", Grouped(1000.0 * batch / run.step_ms)) : "an update");
  tiles += Tile(Grouped(NumberOf(run.facts, "parameters")), fmt::format("parameters; {} samples", Grouped(samples)));
  tiles += Tile(Grouped(std::max(updates, NumberOf(run.end, "updates"))), "updates done");
  return tiles + "</div>\n";
}

std::string CompareCard(const Runs& runs) {
  std::string table =
      fmt::format("<div class=\"scroll\"><table><thead><tr><th></th><th>{}</th><th>{}</th><th>ratio</th></tr></thead>\n",
                  XmlText(runs[0].name), XmlText(runs[1].name));
  const auto row = [&](const std::string& name, ChartUnit unit, const std::function<double(const RunRecord&)>& value) {
    const double a = value(runs[0]), b = value(runs[1]);
    if (!std::isfinite(a) && !std::isfinite(b)) return;
    const auto shown = [&](double number) { return std::isfinite(number) ? InUnit(number, unit) : std::string("-"); };
    fmt::format_to(std::back_inserter(table), "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", name, shown(a),
                   shown(b), a > 0.0 && std::isfinite(b) ? fmt::format("{:.3g}", b / a) : "-");
  };
  const auto of_end = [](const std::string& key) {
    return [key](const RunRecord& run) { return NumberOf(run.end, key.c_str(), NAN); };
  };
  row("loss at the end", ChartUnit::Plain, of_end("last_loss"));
  row("accuracy at the end", ChartUnit::Share, of_end("last_accuracy"));
  for (size_t i = 0; i < kShownMetrics; ++i) {
    const std::string name = ShownMetric(i) + 4;
    row(name + " at the end", ChartUnit::Plain, of_end("last_" + name));
  }
  row("best val_loss", ChartUnit::Plain, [](const RunRecord& run) {
    double best = NAN;
    for (const RecordedEpoch& epoch : run.epochs) best = epoch.has_valid && !(epoch.val_loss >= best) ? epoch.val_loss : best;
    return best;
  });
  row("peak measured", ChartUnit::Bytes, [](const RunRecord& run) { return run.peak_bytes(); });
  row("peak planned", ChartUnit::Bytes, [](const RunRecord& run) { return run.planned_bytes(); });
  row("budget", ChartUnit::Bytes, [](const RunRecord& run) { return run.budget_bytes(); });
  row("an update", ChartUnit::Milliseconds, [](const RunRecord& run) { return run.step_ms; });
  row("all of it", ChartUnit::Milliseconds, [](const RunRecord& run) { return 1000.0 * run.seconds; });
  row("forward runs of a block", ChartUnit::Plain,
      [](const RunRecord& run) { return NumberOf(run.plan, "recompute_factor", 1.0); });
  return Card("Side by side", table + "</table></div>\n", "wide");
}

// Lines of the two jobs that differ, each under the section that it stands in.
std::string JobDifferences(const Runs& runs) {
  const auto keyed = [](const std::string& job) {
    std::set<std::string> lines;
    std::istringstream in(job);
    std::string section;
    int tables = 0;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("[[")) ++tables;
      if (line.starts_with("[")) {
        section = line.starts_with("[[") ? fmt::format("{} {}", line, tables) : line;
      } else if (!line.empty() && line[0] != '#') {
        if (const size_t comment = line.find("  # "); comment != std::string::npos) line.resize(comment);
        line.erase(line.find_last_not_of(' ') + 1);
        lines.insert(section.empty() ? line : fmt::format("{} {}", section, line));
      }
    }
    return lines;
  };
  const std::set<std::string> first = keyed(runs[0].job), second = keyed(runs[1].job);
  std::string text;
  for (const std::string& line : first) {
    if (!second.contains(line)) text += "- " + line + "\n";
  }
  for (const std::string& line : second) {
    if (!first.contains(line)) text += "+ " + line + "\n";
  }
  return Card("What differs in the jobs", text.empty() ? "<p class=\"note\">nothing</p>" : Lines(text), "wide");
}

std::string Head(const RunRecord& run) {
  const bool ended = run.end.is_object();
  const char* state = ended         ? "<span class=\"state done\">done</span>"
                      : run.running ? "<span class=\"state on\">training</span>"
                                    : "<span class=\"state off\">stopped</span>";
  std::string when;
  if (const double time = NumberOf(run.facts, "time"); time > 0.0 && time < 1e11) {
    const auto seconds = static_cast<std::time_t>(time);
    std::tm parts{};
    char text[64];
    if (gmtime_r(&seconds, &parts) != nullptr && std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts) > 0)
      when = text;
  }
  std::string task = run.facts.is_object() && run.facts.contains("task") && run.facts["task"].is_string()
                         ? run.facts["task"].get<std::string>()
                         : "";
  std::string html = fmt::format("<h1>{}{}</h1><p class=\"dim\">{}{}{} · {:.0f} thread{}</p>\n", XmlText(run.name), state,
                                 XmlText(task), when.empty() ? "" : " · began ", when, NumberOf(run.facts, "threads"),
                                 NumberOf(run.facts, "threads") == 1.0 ? "" : "s");
  if (!ended && !run.running && !run.messages.empty()) html += "<p>" + XmlText(run.messages.back()) + "</p>\n";
  return html;
}

std::string Details(const RunRecord& run) {
  std::string html;
  if (!run.messages.empty()) {
    html += "<details><summary>Messages</summary><ul>";
    for (const std::string& message : run.messages) html += "<li>" + XmlText(message) + "</li>\n";
    html += "</ul></details>\n";
  }
  return html + "<details><summary>The complete job</summary>" + Lines(run.job) + "</details>\n";
}

}  // namespace

std::string PageBody(const Runs& runs, const std::vector<std::string>& advice) {
  std::string html = "<header>\n";
  for (const RunRecord& run : runs) html += Head(run) + Gauge(run);
  html += "</header>\n";
  if (runs.size() == 1) html += Tiles(runs[0]);
  html += "<div class=\"cards\">\n";
  if (runs.size() == 2) html += CompareCard(runs) + JobDifferences(runs);
  const auto titled = [&](const std::string& title, const RunRecord& run) {
    return runs.size() == 1 ? title : title + ": " + run.name;
  };
  const auto examples = [&](bool wide) {
    std::string cards;
    for (const RunRecord& run : runs) {
      const ExamplesView view = ExamplesOf(run);
      if (!view.html.empty() && view.wide == wide)
        cards += Card(titled("Examples of predictions", run), view.html, wide ? "wide" : "");
    }
    return cards;
  };
  html += LossCard(runs) + AccuracyCard(runs) + examples(/*wide=*/false) + MemoryCard(runs) + PhaseCard(runs);
  html += MetricsCard(runs);
  if (runs.size() == 1) html += AdviceCard(advice);
  html += examples(/*wide=*/true);
  html += LayerCard(runs);
  for (const RunRecord& run : runs) {
    html += OwnersCard(run, titled("Who owns the planned bytes", run));
    html += ConfusionCard(run, titled("Which classes are taken for which", run));
    html += ArenaCard(run, titled("Map of the arena", run));
  }
  html += LengthCard(runs[0]) + RateCard(runs) + "</div>\n";
  for (const RunRecord& run : runs) html += Details(run);
  return html + fmt::format("<footer>plimsoll {} · 1 MB is 10<sup>6</sup> bytes</footer>\n", kVersion);
}

std::string WholePage(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      XmlText(title), kPageStyle, body);
}

}  // namespace plimsoll
