// curve: what memory buys. One job planned at several budgets as a table with a picture, as SVG and as JSON.
//   in:    Plans, smallest budget first; those that do not fit are left out
//   out:   text
//   never: decides or plans anything, draws wider than it was told, or writes SVG that asks for another file
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "plimsoll/plan.h"
#include "report/plan_words.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLogAbove = 8.0;        // largest budget over smallest; beyond it, small budgets would crowd at the left
constexpr double kPadding = 0.04;        // of the budget axis, on either side of the points
constexpr double kNoExtraTime = 0.5e-3;  // prints as none
constexpr double kWorthAZero = 0.5;      // fastest over slowest epoch; below it, the axis of seconds begins at 0
constexpr int kUsualColumns = 80;        // where the caller knows of none
constexpr int kNarrowestColumns = 40;    // where the layout still works
constexpr int kNarrowestStages = 26;     // columns for the words about stages; with fewer they go below their row
constexpr int kMostBudgetTicks = 10;
constexpr int kMostTimeTicks = 5;
constexpr int kWidestPlot = 72;  // cells
constexpr int kPlotRows = 11;    // cells

// ---- what is shown

struct Unit {
  double size;
  const char* name;
};

struct Curve {
  std::vector<const Plan*> plans;  // those that fit, each budget once
  std::vector<std::string> budgets;
  bool in_seconds = false;  // else shares of extra time
  std::optional<size_t> smallest;
  std::optional<size_t> full_speed;
  std::string notes;  // what has no point: "smallest budget 13.3 MB"

  // Seconds, or a share; what is not finite counts as nothing.
  double Time(size_t i) const {
    const double time = in_seconds ? plans[i]->seconds_per_epoch : plans[i]->extra_time;
    return std::isfinite(time) ? std::max(0.0, time) : 0.0;
  }
};

// As a run prints them, unless that would give two budgets one name.
std::vector<std::string> BudgetNames(const std::vector<const Plan*>& plans) {
  std::vector<std::string> names;
  for (const Plan* plan : plans) names.push_back(PrettyBytesUp(plan->budget_bytes));
  if (std::adjacent_find(names.begin(), names.end()) == names.end()) return names;
  for (size_t i = 0; i < plans.size(); ++i) {
    names[i] = fmt::format("{:.1f} MB", static_cast<double>(RoundUp(plans[i]->budget_bytes, 100'000)) / 1e6);
  }
  return names;
}

Curve MakeCurve(const std::vector<Plan>& plans) {
  Curve curve;
  for (const Plan& plan : plans) {
    const bool again = !curve.plans.empty() && curve.plans.back()->budget_bytes == plan.budget_bytes;
    if (plan.feasible && !again) curve.plans.push_back(&plan);
  }
  if (curve.plans.empty()) return curve;
  curve.budgets = BudgetNames(curve.plans);
  curve.in_seconds =
      std::all_of(curve.plans.begin(), curve.plans.end(), [](const Plan* plan) { return plan->seconds_per_epoch > 0.0; });

  const Plan& first = *curve.plans.front();
  if (first.min_bytes <= 0 || PrettyBytesUp(first.min_bytes) == PrettyBytesUp(first.budget_bytes)) {
    curve.smallest = 0;
  } else {
    curve.notes = fmt::format("smallest budget {}", PrettyBytesUp(first.min_bytes));
  }
  const auto full = std::find_if(curve.plans.begin(), curve.plans.end(), [](const Plan* plan) {
    return plan->recompute_factor <= 1.0 && plan->extra_time < kNoExtraTime;
  });
  if (full != curve.plans.end()) {
    curve.full_speed = static_cast<size_t>(full - curve.plans.begin());
  } else if (first.full_speed_bytes > 0) {
    fmt::format_to(std::back_inserter(curve.notes), "{}full speed from {}", curve.notes.empty() ? "" : "; ",
                   PrettyBytesUp(first.full_speed_bytes));
  }
  return curve;
}

// Where no budget fits.
std::string NothingFits(const std::vector<Plan>& plans) {
  if (plans.empty() || plans.front().min_bytes <= 0) return "none of the budgets fits";
  return fmt::format("none of the budgets fits; the smallest that works is {}", PrettyBytesUp(plans.front().min_bytes));
}

// ---- words

std::string ExtraTimeText(double share) {
  if (!(share >= kNoExtraTime)) return "none";
  return share < 0.00995 ? fmt::format("+{:.1f} %", 100.0 * share) : fmt::format("+{:.0f} %", 100.0 * share);
}

Unit TimeUnit(double seconds) {
  if (seconds < 0.1) return {1e-3, "ms"};
  if (seconds < 120.0) return {1.0, "s"};
  if (seconds < 7200.0) return {60.0, "min"};
  return {3600.0, "h"};
}

std::string SecondsText(double seconds) {
  const Unit unit = TimeUnit(seconds);
  return fmt::format("{:.{}f} {}", seconds / unit.size, seconds / unit.size < 1.0 ? 2 : 1, unit.name);
}

// "13 blocks in 5 segments, 4 slots, run twice"
std::string StageWords(const PlannedStage& stage) {
  const std::string shape = StageShape(stage, /*block_steps=*/0);
  if (stage.repeats > 1) return fmt::format("{}, up to {} runs", shape, stage.repeats + 1);
  return fmt::format("{}, {} {}", shape, stage.blocks == 1 ? "runs" : "run", HowOften(stage.repeats + 1));
}

// Neighbours that are told with the same words are told once.
std::string StagesWords(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.stages.size();) {
    const std::string words = StageWords(plan.stages[i]);
    size_t end = i + 1;
    while (end < plan.stages.size() && StageWords(plan.stages[end]) == words) ++end;
    if (i > 0) text += "; ";
    if (end - i > 1) fmt::format_to(std::back_inserter(text), "{} stages of ", end - i);
    text += words;
    i = end;
  }
  return text;
}

// "3.6 s (+33 %)", "+33 %", "no extra time"
std::string CostText(const Curve& curve, size_t i) {
  const Plan& plan = *curve.plans[i];
  const std::string extra = plan.extra_time >= kNoExtraTime ? ExtraTimeText(plan.extra_time) : "no extra time";
  return curve.in_seconds ? fmt::format("{} ({})", SecondsText(plan.seconds_per_epoch), extra) : extra;
}

const char* TimeTitle(const Curve& curve) { return curve.in_seconds ? "time of an epoch" : "extra time"; }

bool AnySmallerGroups(const Curve& curve) {
  return std::any_of(curve.plans.begin(), curve.plans.end(), [](const Plan* plan) { return plan->rounding_only_change; });
}

// ---- axes

struct Axis {
  double lo = 0.0;
  double hi = 1.0;
  bool log = false;
  std::vector<double> ticks;
  std::vector<std::string> labels;

  double Share(double value) const { return log ? std::log(value / lo) / std::log(hi / lo) : (value - lo) / (hi - lo); }
};

// 1, 2 or 5 times a power of ten, so that `range` has at most `most` of them.
double RoundStep(double range, int most) {
  const double least = range / most;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= least * (1.0 - 1e-9)) return times * power;
  }
  return 10.0 * power;
}

// With the digits behind the point that the step needs.
std::string TickText(double value, double step, const char* unit) {
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f} {}", value, digits, unit);
}

Unit BytesUnit(double bytes) {
  constexpr std::array<Unit, 5> kUnits = {{{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.size) return unit;
  }
  return {1.0, "B"};
}

// Round values of 1, 2, 5 and so on in each power of ten; as many as there is room for.
std::vector<double> LogTicks(double lo, double hi, int most) {
  const std::array<std::vector<double>, 4> choices = {{{1.0, 2.0, 3.0, 5.0, 7.0}, {1.0, 2.0, 5.0}, {1.0, 3.0}, {1.0}}};
  std::vector<double> ticks;
  for (const std::vector<double>& digits : choices) {
    ticks.clear();
    for (double power = std::pow(10.0, std::floor(std::log10(lo))); power <= hi; power *= 10.0) {
      for (const double digit : digits) {
        if (digit * power >= lo && digit * power <= hi) ticks.push_back(digit * power);
      }
    }
    if (static_cast<int>(ticks.size()) <= most) break;
  }
  return ticks;
}

Axis BudgetAxis(const Curve& curve, int most_ticks) {
  const double least = std::max(1.0, static_cast<double>(curve.plans.front()->budget_bytes));
  const double largest = std::max(least, static_cast<double>(curve.plans.back()->budget_bytes));
  Axis axis;
  axis.log = largest > kLogAbove * least;
  if (axis.log) {
    const double factor = std::pow(largest / least, kPadding);
    axis.lo = least / factor;
    axis.hi = largest * factor;
    axis.ticks = LogTicks(axis.lo, axis.hi, most_ticks);
    for (const double tick : axis.ticks) {
      const Unit unit = BytesUnit(tick * (1.0 + 1e-9));
      axis.labels.push_back(TickText(tick / unit.size, 1.0, unit.name));
    }
    return axis;
  }
  const double padding = largest > least ? kPadding * (largest - least) : 0.1 * least;
  axis.lo = least - padding;
  axis.hi = largest + padding;
  const double step = RoundStep(axis.hi - axis.lo, most_ticks);
  const Unit unit = BytesUnit(std::min(least, 10.0 * step * (1.0 + 1e-9)));  // at most one digit behind the point
  for (double i = std::ceil(axis.lo / step); i * step <= axis.hi; i += 1.0) {
    axis.ticks.push_back(i * step);
    axis.labels.push_back(TickText(i * step / unit.size, step / unit.size, unit.name));
  }
  return axis;
}

// The place that an axis has on paper, in columns or pixels.
struct Room {
  double length;
  double margin;  // behind the end of the axis; labels may use it
  double letter;
  double gap;  // between two labels
};

double LabelMiddle(const Axis& axis, size_t i, const Room& room) {
  const double half = 0.5 * room.letter * static_cast<double>(axis.labels[i].size());
  return std::min(axis.Share(axis.ticks[i]) * room.length, room.length + room.margin - half);
}

bool LabelsKeepApart(const Axis& axis, const Room& room) {
  for (size_t i = 1; i < axis.ticks.size(); ++i) {
    const double letters = 0.5 * static_cast<double>(axis.labels[i - 1].size() + axis.labels[i].size());
    if (LabelMiddle(axis, i, room) - LabelMiddle(axis, i - 1, room) < letters * room.letter + room.gap) return false;
  }
  return true;
}

// With as many ticks as have room for their labels.
Axis BudgetAxisIn(const Curve& curve, const Room& room) {
  int ticks = kMostBudgetTicks;
  Axis axis = BudgetAxis(curve, ticks);
  while (ticks > 2 && !LabelsKeepApart(axis, room)) axis = BudgetAxis(curve, --ticks);
  return axis;
}

Axis TimeAxis(const Curve& curve, int most_ticks) {
  double lo = curve.Time(0);
  double hi = lo;
  for (size_t i = 1; i < curve.plans.size(); ++i) {
    lo = std::min(lo, curve.Time(i));
    hi = std::max(hi, curve.Time(i));
  }
  if (!curve.in_seconds || lo == hi || lo < kWorthAZero * hi) lo = 0.0;
  if (hi == 0.0) hi = 0.1;
  const Unit unit = curve.in_seconds ? TimeUnit(hi) : Unit{.size = 0.01, .name = "%"};
  // In whole units, because 30 min is round and 1800 s less so.
  const double step = RoundStep((hi - lo) / unit.size, most_ticks);
  const double first = std::floor(lo / unit.size / step + 1e-9);
  const double last = std::ceil(hi / unit.size / step - 1e-9);
  Axis axis;
  axis.lo = first * step * unit.size;
  axis.hi = last * step * unit.size;
  for (double i = first; i <= last; i += 1.0) {
    axis.ticks.push_back(i * step * unit.size);
    axis.labels.push_back(TickText(i * step, step, unit.name));
  }
  return axis;
}

// ---- text

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
    table.back().cells.push_back(fmt::format("{}{}", plan->group_rows, plan->rounding_only_change ? "*" : " "));
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

struct Mark {
  size_t point;
  std::string name;
};

std::vector<Mark> Marks(const Curve& curve) {
  if (curve.smallest && curve.smallest == curve.full_speed) return {{*curve.smallest, "smallest, full speed"}};
  std::vector<Mark> marks;
  if (curve.smallest) marks.push_back({*curve.smallest, "smallest"});
  if (curve.full_speed) marks.push_back({*curve.full_speed, "full speed"});
  return marks;
}

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

// ---- SVG

constexpr double kWidth = 720.0;
constexpr double kHeight = 420.0;
constexpr double kLetter = 7.0;  // width of a letter of 12 px, on the generous side: fonts differ
constexpr double kMarkLine = 90.0;
constexpr double kMarkLead = 18.0;
constexpr double kPlotTop = 122.0;
constexpr double kPlotBottom = 352.0;
constexpr double kPlotRight = kWidth - 32.0;

// Classes and plain colours only, because not every program that shows SVG knows variables.
constexpr const char* kStyle = R"(<style>
.plimsoll-curve text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #57606a; }
.plimsoll-curve .title { font-size: 17px; font-weight: 600; fill: #1f2328; }
.plimsoll-curve .mark { font-weight: 600; fill: #1f2328; }
.plimsoll-curve .paper { fill: #ffffff; }
.plimsoll-curve .grid { stroke: #e4e8ed; }
.plimsoll-curve .axis { stroke: #8c959f; }
.plimsoll-curve .guide { stroke: #8c959f; stroke-dasharray: 3 4; }
.plimsoll-curve .below { fill: #0969da; fill-opacity: 0.07; }
.plimsoll-curve .line { fill: none; stroke: #0969da; stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }
.plimsoll-curve .point { fill: #0969da; stroke: #ffffff; stroke-width: 2; }
.plimsoll-curve .small { fill: #ffffff; stroke: #0969da; stroke-width: 2.5; }
@media (prefers-color-scheme: dark) {
.plimsoll-curve text { fill: #9198a1; }
.plimsoll-curve .title, .plimsoll-curve .mark { fill: #f0f6fc; }
.plimsoll-curve .paper { fill: #0d1117; }
.plimsoll-curve .grid { stroke: #262c36; }
.plimsoll-curve .axis, .plimsoll-curve .guide { stroke: #656c76; }
.plimsoll-curve .below { fill: #58a6ff; fill-opacity: 0.10; }
.plimsoll-curve .line { stroke: #58a6ff; }
.plimsoll-curve .point { fill: #58a6ff; stroke: #0d1117; }
.plimsoll-curve .small { fill: #0d1117; stroke: #58a6ff; }
}
</style>
)";

// Names come from the user: what XML cannot hold is replaced, what it gives a meaning is escaped.
std::string XmlText(const std::string& text) {
  const std::string utf8 = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  std::string xml;
  for (const char c : utf8) {
    switch (c) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      default:
        xml += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return xml;
}

std::string SvgText(std::string_view style, double x, double y, const std::string& text) {
  return fmt::format("<text {} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", style, x, y, XmlText(text));
}

std::string SvgLine(std::string_view style, double x0, double y0, double x1, double y1) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x0, y0, x1, y1);
}

// Everything but what is drawn inside, `body`.
std::string SvgFrame(const std::string& title, const std::string& about, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plimsoll-curve\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" aria-labelledby=\"plimsoll-curve-title plimsoll-curve-about\">\n"
      "<title id=\"plimsoll-curve-title\">{2}</title>\n<desc id=\"plimsoll-curve-about\">{3}</desc>\n{4}"
      "<rect class=\"paper\" width=\"{0}\" height=\"{1}\" rx=\"10\"/>\n{5}</svg>\n",
      kWidth, kHeight, XmlText(title), XmlText(about), kStyle, body);
}

// What a pointer that rests on a point is told: "16 MB: 3.6 s (+33 %); lstm: 13 blocks in 5 segments, ..."
std::string PointText(const Curve& curve, size_t i) {
  const Plan& plan = *curve.plans[i];
  std::string text = fmt::format("{}: {}; {} rows together", curve.budgets[i], CostText(curve, i), plan.group_rows);
  for (const PlannedStage& stage : plan.stages) {
    fmt::format_to(std::back_inserter(text), "; {}: {}", fmt::join(stage.layers, ", "), StageWords(stage));
  }
  if (plan.rounding_only_change) fmt::format_to(std::back_inserter(text), "; {}", kSmallerGroups);
  return text;
}

std::string CurveAbout(const Curve& curve) {
  std::string text;
  for (size_t i = 0; i < curve.plans.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{}: {}", i == 0 ? "" : "; ", curve.budgets[i], CostText(curve, i));
  }
  return text + ".";
}

// The marked points' names, in two lines above everything that is drawn, so that no curve can cross them.
std::string SvgMarks(const Curve& curve, const std::vector<double>& xs) {
  std::string svg;
  double taken = 0.0;  // in the first line
  for (const Mark& mark : Marks(curve)) {
    std::string words = fmt::format("{}: {}", mark.name, curve.budgets[mark.point]);
    if (mark.point != curve.full_speed) {
      fmt::format_to(std::back_inserter(words), ", {}", CostText(curve, mark.point));
    } else if (curve.in_seconds) {
      fmt::format_to(std::back_inserter(words), ", {}", SecondsText(curve.Time(mark.point)));
    }
    const double width = kLetter * static_cast<double>(words.size());
    const double x = xs[mark.point];
    const bool right = x + 6.0 + width <= kWidth - 8.0;
    const double begin = right ? x + 6.0 : x - 6.0 - width;
    const double y = begin < taken ? kMarkLine + kMarkLead : kMarkLine;
    taken = begin + width + 12.0;
    svg += SvgLine("guide", x, y - 10.0, x, kPlotBottom);
    svg += SvgText(right ? "class=\"mark\"" : "class=\"mark\" text-anchor=\"end\"", right ? x + 6.0 : x - 6.0, y, words);
  }
  return svg;
}

std::string SvgAxes(const Curve& curve, const Axis& x, const Axis& y, double plot_left) {
  std::string svg;
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    const double at = kPlotBottom - y.Share(y.ticks[i]) * (kPlotBottom - kPlotTop);
    svg += SvgLine("grid", plot_left, at, kPlotRight, at);
    svg += SvgText("text-anchor=\"end\"", plot_left - 10.0, at + 4.0, y.labels[i]);
  }
  svg += SvgLine("axis", plot_left, kPlotBottom, kPlotRight, kPlotBottom);
  for (size_t i = 0; i < x.ticks.size(); ++i) {
    const double at = plot_left + x.Share(x.ticks[i]) * (kPlotRight - plot_left);
    svg += SvgLine("axis", at, kPlotBottom, at, kPlotBottom + 5.0);
    svg += SvgText("text-anchor=\"middle\"", at, kPlotBottom + 20.0, x.labels[i]);
  }
  const double below = kPlotBottom + 46.0;
  svg += SvgText("text-anchor=\"end\"", kPlotRight, below,
                 x.log ? "memory budget of the whole process, logarithmic" : "memory budget of the whole process");
  if (AnySmallerGroups(curve)) {
    svg += fmt::format("<circle class=\"small\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>\n", plot_left + 5.0, below - 4.0);
    svg += SvgText("", plot_left + 16.0, below, "smaller row groups than the job's own");
  }
  return svg;
}

}  // namespace

std::string CurveText(const std::vector<Plan>& plans, int columns) {
  columns = columns > 0 ? std::max(columns, kNarrowestColumns) : kUsualColumns;
  const Curve curve = MakeCurve(plans);
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
  for (const Plan* plan : MakeCurve(plans).plans) {
    Json stages = Json::array();
    for (const PlannedStage& stage : plan->stages) {
      stages.push_back({{"layers", stage.layers},
                        {"segment_blocks", stage.segment_blocks},
                        {"slots", stage.slots},
                        {"spilled", stage.spilled},
                        {"repeats", stage.repeats}});
    }
    points.push_back({{"budget_bytes", plan->budget_bytes},
                      {"peak_bytes", plan->peak_bytes},
                      {"seconds_per_epoch", plan->seconds_per_epoch},
                      {"extra_time", plan->extra_time},
                      {"recompute_factor", plan->recompute_factor},
                      {"group_rows", plan->group_rows},
                      {"rounding_only_change", plan->rounding_only_change},
                      {"stages", std::move(stages)}});
  }
  const Json json = {{"curve", std::move(points)}};
  // Names come from the user; bytes that are no UTF-8 must not end the program.
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

std::string CurveSvg(const std::vector<Plan>& plans) {
  const Curve curve = MakeCurve(plans);
  if (curve.plans.empty()) {
    const std::string words = NothingFits(plans);
    return SvgFrame("Memory budgets", words, SvgText("class=\"mark\" text-anchor=\"middle\"", kWidth / 2, kHeight / 2, words));
  }
  const std::string title = curve.in_seconds ? "Time of an epoch by memory budget" : "Extra time by memory budget";
  const Axis y = TimeAxis(curve, kMostTimeTicks);
  size_t longest = 0;
  for (const std::string& label : y.labels) longest = std::max(longest, label.size());
  const double plot_left = 34.0 + kLetter * static_cast<double>(longest);
  const Axis x = BudgetAxisIn(
      curve, {.length = kPlotRight - plot_left, .margin = kWidth - kPlotRight, .letter = kLetter, .gap = 1.5 * kLetter});

  std::vector<double> xs;
  std::string path;
  std::string points;
  for (size_t i = 0; i < curve.plans.size(); ++i) {
    xs.push_back(plot_left + x.Share(static_cast<double>(curve.plans[i]->budget_bytes)) * (kPlotRight - plot_left));
    const double down = kPlotBottom - y.Share(curve.Time(i)) * (kPlotBottom - kPlotTop);
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", i == 0 ? "M" : " L", xs[i], down);
    fmt::format_to(std::back_inserter(points),
                   "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}</title></circle>\n",
                   curve.plans[i]->rounding_only_change ? "small" : "point", xs[i], down, XmlText(PointText(curve, i)));
  }
  std::string body = SvgText("class=\"title\"", 24.0, 38.0, title);
  body += SvgText("", 24.0, 58.0, curve.notes.empty() ? "each point is a plan that fits its budget" : curve.notes);
  body += SvgAxes(curve, x, y, plot_left) + SvgMarks(curve, xs);
  if (y.lo == 0.0) {
    fmt::format_to(std::back_inserter(body), "<path class=\"below\" d=\"{} L{:.1f} {:.1f} L{:.1f} {:.1f} Z\"/>\n", path,
                   xs.back(), kPlotBottom, xs.front(), kPlotBottom);
  }
  fmt::format_to(std::back_inserter(body), "<path class=\"line\" d=\"{}\"/>\n{}", path, points);
  return SvgFrame(title, CurveAbout(curve), body);
}

}  // namespace plimsoll
