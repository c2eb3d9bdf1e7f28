// curve_svg: a curve of budgets as one picture that needs no other file.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/file.h"
#include "report/curve.h"
#include "report/plan_words.h"
#include "report/xml.h"

namespace plimsoll {
namespace {

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
  std::string text = fmt::format("{}: {}; {} rows together", curve.budgets[i], CostText(curve, i), RowsOf(plan));
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

std::string CurveSvg(const std::vector<Plan>& plans) {
  const Curve curve = CurveOf(plans);
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

Status WriteCurveSvg(const std::vector<Plan>& plans, const std::string& path) { return WriteTextFile(path, CurveSvg(plans)); }

}  // namespace plimsoll
