// curve: what the table, the picture and the SVG of a curve of budgets share: the points, their words, and the axes.
//   in:    Plans, smallest budget first; those that do not fit are left out
//   never: decides or plans anything
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/plan.h"

namespace plimsoll {

inline constexpr double kNoExtraTime = 0.5e-3;  // prints as none
inline constexpr int kMostTimeTicks = 5;

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
Curve CurveOf(const std::vector<Plan>& plans);

struct Mark {
  size_t point;
  std::string name;
};

std::vector<Mark> Marks(const Curve& curve);

// Words.
std::string NothingFits(const std::vector<Plan>& plans);
std::string ExtraTimeText(double share);
std::string SecondsText(double seconds);
std::string StageWords(const PlannedStage& stage);   // "13 blocks in 5 segments, 4 slots, run twice"
std::string StagesWords(const Plan& plan);           // neighbours that are told with the same words are told once
std::string CostText(const Curve& curve, size_t i);  // "3.6 s (+33 %)", "+33 %", "no extra time"
const char* TimeTitle(const Curve& curve);
bool AnySmallerGroups(const Curve& curve);

struct Axis {
  double lo = 0.0;
  double hi = 1.0;
  bool log = false;
  std::vector<double> ticks;
  std::vector<std::string> labels;

  double Share(double value) const { return log ? std::log(value / lo) / std::log(hi / lo) : (value - lo) / (hi - lo); }
};

// The place that an axis has on paper, in columns or pixels.
struct Room {
  double length;
  double margin;  // behind the end of the axis; labels may use it
  double letter;
  double gap;  // between two labels
};
double LabelMiddle(const Axis& axis, size_t i, const Room& room);
Axis BudgetAxisIn(const Curve& curve, const Room& room);  // with as many ticks as have room for their labels
Axis TimeAxis(const Curve& curve, int most_ticks);

}  // namespace plimsoll
