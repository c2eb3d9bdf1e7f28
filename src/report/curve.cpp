#include "report/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/bytes.h"
#include "report/plan_words.h"

namespace plimsoll {
namespace {

constexpr double kLogAbove = 8.0;    // largest budget over smallest; beyond it, small budgets would crowd at the left
constexpr double kPadding = 0.04;    // of the budget axis, on either side of the points
constexpr double kWorthAZero = 0.5;  // fastest over slowest epoch; below it, the axis of seconds begins at 0
constexpr int kMostBudgetTicks = 10;

struct Unit {
  double size;
  const char* name;
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

Unit TimeUnit(double seconds) {
  if (seconds < 0.1) return {1e-3, "ms"};
  if (seconds < 120.0) return {1.0, "s"};
  if (seconds < 7200.0) return {60.0, "min"};
  return {3600.0, "h"};
}

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

bool LabelsKeepApart(const Axis& axis, const Room& room) {
  for (size_t i = 1; i < axis.ticks.size(); ++i) {
    const double letters = 0.5 * static_cast<double>(axis.labels[i - 1].size() + axis.labels[i].size());
    if (LabelMiddle(axis, i, room) - LabelMiddle(axis, i - 1, room) < letters * room.letter + room.gap) return false;
  }
  return true;
}

}  // namespace

Curve CurveOf(const std::vector<Plan>& plans) {
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

std::string ExtraTimeText(double share) {
  if (!(share >= kNoExtraTime)) return "none";
  return share < 0.00995 ? fmt::format("+{:.1f} %", 100.0 * share) : fmt::format("+{:.0f} %", 100.0 * share);
}

std::string SecondsText(double seconds) {
  const Unit unit = TimeUnit(seconds);
  return fmt::format("{:.{}f} {}", seconds / unit.size, seconds / unit.size < 1.0 ? 2 : 1, unit.name);
}

std::string StageWords(const PlannedStage& stage) {
  const std::string shape = StageShape(stage, /*block_steps=*/0);
  if (stage.repeats > 1) return fmt::format("{}, up to {} runs", shape, stage.repeats + 1);
  return fmt::format("{}, {} {}", shape, stage.blocks == 1 ? "runs" : "run", HowOften(stage.repeats + 1));
}

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

double LabelMiddle(const Axis& axis, size_t i, const Room& room) {
  const double half = 0.5 * room.letter * static_cast<double>(axis.labels[i].size());
  return std::min(axis.Share(axis.ticks[i]) * room.length, room.length + room.margin - half);
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

std::vector<Mark> Marks(const Curve& curve) {
  if (curve.smallest && curve.smallest == curve.full_speed) return {{*curve.smallest, "smallest, full speed"}};
  std::vector<Mark> marks;
  if (curve.smallest) marks.push_back({*curve.smallest, "smallest"});
  if (curve.full_speed) marks.push_back({*curve.full_speed, "full speed"});
  return marks;
}

}  // namespace plimsoll
