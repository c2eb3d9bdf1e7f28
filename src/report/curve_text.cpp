// curve_text: a curve of budgets for the terminal, a table and a picture, and for programs (JSON).
//   never: draws wider than it was told
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "report/curve.h"
#include "report/plan_json.h"
#include "report/plan_words.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUsualColumns = 80;      // where the caller knows of none
constexpr int kNarrowestColumns = 40;  // where the layout still works
constexpr int kNarrowestStages = 26;   // columns for the words about stages; with fewer they go below their row
constexpr int kWidestPlot = 72;        // cells
constexpr int kPlotRows = 11;          // cells

// A line of a terminal, a cell for each column.
class Line {
 public:
  // `text` is UTF-8 of characters that are one column wide.
  void Put(int column, std::string_view text) {
    for (size_t i = 0; i < text.size(); ++column) {
      size_t end = i + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      if (static_cast<size_t>(column) >= cells_.size()) cells_.resize(static_cast<size_t>(column) + 1, " ");
      cells_[static_cast<size_t>(column)] = text.substr(i, end - i);
      i = end;
    }
  }
  bool Blank(int first, int last) const {
    for (int i = std::max(0, first); i <= last && static_cast<size_t>(i) < cells_.size(); ++i) {
      if (cells_[static_cast<size_t>(i)] != " ") return false;
    }
    return true;
  }
  std::string Text() const {
    std::string text;
    for (const std::string& cell : cells_) text += cell;
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }

 private:
  std::vector<std::string> cells_;
};

// Words in lines of `width` bytes; a word that is longer stands alone and is cut.
std::vector<std::string> Wrapped(std::string_view text, int width) {
  const auto most = static_cast<size_t>(width);
  std::vector<std::string> lines;
  while (text.size() > most) {
    const size_t blank = text.rfind(' ', most);
    const size_t end = blank == std::string_view::npos || blank == 0 ? most : blank;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), text[end] == ' ' ? end + 1 : end));
  }
  if (!text.empty()) lines.emplace_back(text);
  return lines;
}

std::string WrappedText(std::string_view text, int width) { return fmt::format("{}\n", fmt::join(Wrapped(text, width), "\n")); }

std::string Table(const Curve& curve, int columns) {
  const bool any_seconds =
      std::any_of(curve.plans.begin(), curve.plans.end(), [](const Plan* plan) { return plan->seconds_per_epoch > 0.0; });
  struct Column {
    std::string title;
    std::vector<std::string> cells;
  };
  std::vector<Column> table = {{.title = "budget", .cells = curve.budgets}};
  if (any_seconds) table.push_back({.title = "epoch", .cells = {}});
  table.push_back({.title = "extra", .cells = {}});
  table.push_back({.title = "rows ", .cells = {}});  // with room for the mark
  for (const Plan* plan : curve.plans) {
    if (any_seconds) table[1].cells.push_back(plan->seconds_per_epoch > 0.0 ? SecondsText(plan->seconds_per_epoch) : "?");
    table[table.size() - 2].cells.push_back(ExtraTimeText(plan->extra_time));
    table.back().cells.push_back(fmt::format("{}{}", RowsOf(*plan), plan->rounding_only_change ? "*" : " "));
  }
  int used = 0;
  std::vector<int> ends;
  for (const Column& column : table) {
    size_t width = column.title.size();
    for (const std::string& cell : column.cells) width = std::max(width, cell.size());
    used += static_cast<int>(width) + (used > 0 ? 2 : 0);
    ends.push_back(used);
  }
  ++used;  // the mark ends the last column, which is a blank for most rows
  const bool below = columns - used < kNarrowestStages;
  const int stages_begin = below ? 2 : used;

  std::string text;
  Line head;
  for (size_t c = 0; c < table.size(); ++c) head.Put(ends[c] - static_cast<int>(table[c].title.size()), table[c].title);
  if (!below) head.Put(stages_begin, "what is done");
  text += head.Text();
  for (size_t i = 0; i < curve.plans.size(); ++i) {
    Line row;
    for (size_t c = 0; c < table.size(); ++c) row.Put(ends[c] - static_cast<int>(table[c].cells[i].size()), table[c].cells[i]);
    const std::vector<std::string> stages = Wrapped(StagesWords(*curve.plans[i]), columns - stages_begin);
    if (below || stages.empty()) {
      text += row.Text();
      row = Line();
    }
    for (const std::string& words : stages) {
      row.Put(stages_begin, words);
      text += row.Text();
      row = Line();
    }
  }
  if (AnySmallerGroups(curve)) text += WrappedText(fmt::format("* {}", kSmallerGroups), columns);
  return text;
}

// A field of braille dots, two by four in a cell.
class Dots {
 public:
  Dots(int cells, int rows) : cells_(cells), rows_(rows), bits_(static_cast<size_t>(cells) * static_cast<size_t>(rows), 0) {}

  int X(double share) const { return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (2 * cells_ - 1))); }
  int Y(double share) const { return static_cast<int>(std::lround((1.0 - std::clamp(share, 0.0, 1.0)) * (4 * rows_ - 1))); }

  void DrawLine(int x0, int y0, int x1, int y1) {
    const int steps = std::max({1, std::abs(x1 - x0), std::abs(y1 - y0)});
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      Set(x0 + static_cast<int>(std::lround(share * (x1 - x0))), y0 + static_cast<int>(std::lround(share * (y1 - y0))));
    }
  }
  // One row, as UTF-8.
  std::string Row(int row) const {
    std::string text;
    for (int cell = 0; cell < cells_; ++cell) {
      const unsigned bits = bits_[Index(cell, row)];
      if (bits == 0) {
        text += ' ';
      } else {  // U+2800 + bits
        text += {'\xE2', static_cast<char>(0xA0 | (bits >> 6)), static_cast<char>(0x80 | (bits & 0x3F))};
      }
    }
    return text;
  }

 private:
  size_t Index(int cell, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(cells_) + static_cast<size_t>(cell);
  }
  void Set(int x, int y) {
    constexpr std::array<std::array<uint8_t, 4>, 2> kBits = {{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    bits_[Index(x / 2, y / 4)] |= kBits[static_cast<size_t>(x % 2)][static_cast<size_t>(y % 4)];
  }

  int cells_;
  int rows_;
  std::vector<uint8_t> bits_;
};

// Arrows below the axis that say what the two marked points are; a line each where they would touch.
std::string MarksText(const Curve& curve, const std::vector<int>& point_columns, int columns) {
  std::vector<Line> lines;
  for (const Mark& mark : Marks(curve)) {
    const std::string words = fmt::format("{} {}", mark.name, curve.budgets[mark.point]);
    const auto width = static_cast<int>(words.size()) + 2;
    const int at = point_columns[mark.point];
    const bool right = at + width <= columns;
    const int begin = right ? at : std::max(0, at + 1 - width);
    if (lines.empty() || !lines.back().Blank(begin - 2, begin + width + 1)) lines.emplace_back();
    lines.back().Put(begin, right ? fmt::format("▲ {}", words) : fmt::format("{} ▲", words));
  }
  std::string text;
  for (const Line& line : lines) text += line.Text();
  return text;
}

std::string Picture(const Curve& curve, int columns) {
  const Axis y = TimeAxis(curve, kMostTimeTicks);
  int left = 0;
  for (const std::string& label : y.labels) left = std::max(left, static_cast<int>(label.size()));
  const int origin = left + 2;  // behind the axis
  const int cells = std::min(kWidestPlot, columns - origin);
  const Room room = {.length = static_cast<double>(cells - 1), .margin = 1.0, .letter = 1.0, .gap = 3.0};
  const Axis x = BudgetAxisIn(curve, room);

  Dots dots(cells, kPlotRows);
  std::vector<int> across;
  std::vector<int> down;
  for (size_t i = 0; i < curve.plans.size(); ++i) {
    across.push_back(dots.X(x.Share(static_cast<double>(curve.plans[i]->budget_bytes))));
    down.push_back(dots.Y(y.Share(curve.Time(i))));
    if (i > 0) dots.DrawLine(across[i - 1], down[i - 1], across[i], down[i]);
  }
  std::vector<Line> rows(kPlotRows);
  for (int row = 0; row < kPlotRows; ++row) {
    rows[static_cast<size_t>(row)].Put(left + 1, "│");
    rows[static_cast<size_t>(row)].Put(origin, dots.Row(row));
  }
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    Line& row = rows[static_cast<size_t>(dots.Y(y.Share(y.ticks[i])) / 4)];
    row.Put(left - static_cast<int>(y.labels[i].size()), y.labels[i]);
    row.Put(left + 1, "┤");
  }
  std::vector<int> point_columns;
  for (size_t i = 0; i < curve.plans.size(); ++i) {
    point_columns.push_back(origin + across[i] / 2);
    rows[static_cast<size_t>(down[i] / 4)].Put(point_columns[i], curve.plans[i]->rounding_only_change ? "○" : "●");
  }
  Line axis;
  Line labels;
  axis.Put(left + 1, "└");
  for (int i = 0; i < cells; ++i) axis.Put(origin + i, "─");
  for (size_t i = 0; i < x.ticks.size(); ++i) {
    const int at = origin + dots.X(x.Share(x.ticks[i])) / 2;
    const auto width = static_cast<int>(x.labels[i].size());
    axis.Put(at, "┬");
    labels.Put(std::min(at - width / 2, origin + cells - width), x.labels[i]);
  }

  std::string text = fmt::format("{}\n", TimeTitle(curve));
  for (const Line& row : rows) text += row.Text();
  text += axis.Text() + labels.Text() + MarksText(curve, point_columns, columns);
  Line legend;
  legend.Put(origin, x.log ? "memory budget, logarithmic" : "memory budget");
  text += legend.Text();
  if (AnySmallerGroups(curve)) text += "○ smaller row groups, * above\n";
  return text;
}

}  // namespace

std::string CurveText(const std::vector<Plan>& plans, int columns) {
  columns = columns > 0 ? std::max(columns, kNarrowestColumns) : kUsualColumns;
  const Curve curve = CurveOf(plans);
  if (curve.plans.empty()) return WrappedText(NothingFits(plans), columns);
  std::string text = Table(curve, columns) + "\n";
  if (curve.plans.size() > 1) {
    text += Picture(curve, columns);
  } else {
    text += WrappedText(fmt::format("only {} was planned: {}", curve.budgets[0], CostText(curve, 0)), columns);
  }
  if (!curve.notes.empty()) text += WrappedText(curve.notes, columns);
  return text;
}

std::string CurveJson(const std::vector<Plan>& plans) {
  Json points = Json::array();
  for (const Plan* plan : CurveOf(plans).plans) {
    points.push_back({{"budget_bytes", plan->budget_bytes},
                      {"peak_bytes", plan->peak_bytes},
                      {"seconds_per_epoch", plan->seconds_per_epoch},
                      {"extra_time", plan->extra_time},
                      {"recompute_factor", plan->recompute_factor},
                      {"group_rows", plan->group_rows},
                      {"groups_abreast", plan->groups_abreast},
                      {"rounding_only_change", plan->rounding_only_change},
                      {"stages", StagesJson(*plan)}});
  }
  return JsonText({{"curve", std::move(points)}});
}

}  // namespace plimsoll
