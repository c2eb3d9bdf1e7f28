#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/bytes.h"
#include "report/xml.h"

namespace plimsoll {
namespace {

constexpr double kWidth = 400.0;
constexpr double kHeight = 220.0;
constexpr double kTop = 10.0;
constexpr double kBottom = kHeight - 30.0;
constexpr double kRight = kWidth - 10.0;
constexpr double kLetter = 6.6;  // of 11 px, on the generous side
constexpr size_t kMostPoints = 300;
constexpr double kBarRow = 24.0;
constexpr double kWorthALog = 40.0;  // highest over lowest value

std::string Svg(const std::string& about, double height, const std::string& body) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n", kWidth, height,
                     XmlText(about), body);
}

// A round step that gives at most so many ticks.
double RoundStep(double range, int ticks) {
  const double raw = range / ticks, size = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (raw <= factor * size * (1.0 + 1e-9)) return factor * size;
  }
  return 10.0 * size;
}

struct Scale {
  double lo = 0.0;
  double hi = 1.0;
  bool log = false;
  std::vector<double> ticks;
  double Share(double value) const {
    if (log) return std::log(std::max(value, lo) / lo) / std::log(hi / lo);
    return (value - lo) / (hi - lo);
  }
};

Scale LogScale(double lo, double hi) {
  Scale scale{.lo = std::pow(10.0, std::floor(std::log10(lo))),
              .hi = std::pow(10.0, std::ceil(std::log10(hi))),
              .log = true,
              .ticks = {}};
  const int decades = static_cast<int>(std::lround(std::log10(scale.hi / scale.lo))), each = (decades + 4) / 5;
  for (int i = 0; i <= decades; i += each) scale.ticks.push_back(scale.lo * std::pow(10.0, i));
  return scale;
}

Scale LinearScale(double lo, double hi, int ticks) {
  if (!(hi - lo > 1e-9 * std::max(std::abs(lo), std::abs(hi)))) {  // else ticks would be closer than numbers are
    const double about = lo == 0.0 ? 1.0 : 0.1 * std::abs(lo);
    lo -= lo == 0.0 ? 0.0 : about;
    hi += about;
  }
  const double step = RoundStep(hi - lo, ticks), first = std::floor(lo / step + 1e-9), last = std::ceil(hi / step - 1e-9);
  Scale scale{.lo = first * step, .hi = last * step, .log = false, .ticks = {}};
  for (double i = first; i <= last; i += 1.0) scale.ticks.push_back(i * step);
  return scale;
}

// Means of neighbours, where there are more points than can be told apart.
std::vector<ChartPoint> Thinned(const std::vector<ChartPoint>& points) {
  const size_t each = (points.size() + kMostPoints - 1) / kMostPoints;
  if (each <= 1) return points;
  std::vector<ChartPoint> thinned;
  for (size_t begin = 0; begin < points.size(); begin += each) {
    const size_t end = std::min(begin + each, points.size());
    ChartPoint mean;
    for (size_t i = begin; i < end; ++i) {
      mean.x += points[i].x / static_cast<double>(end - begin);
      mean.y += points[i].y / static_cast<double>(end - begin);
    }
    thinned.push_back(mean);
  }
  return thinned;
}

}  // namespace

std::string InUnit(double value, ChartUnit unit) {
  if (!std::isfinite(value)) return "not finite";
  switch (unit) {
    case ChartUnit::Share:
      return fmt::format("{:.4g} %", 100.0 * value);
    case ChartUnit::Bytes:
      return PrettyBytes(static_cast<int64_t>(std::clamp(value, 0.0, 9e18)));
    case ChartUnit::Milliseconds:
      if (value >= 1000.0) return fmt::format("{:.3g} s", value / 1000.0);
      return value < 0.1 && value > 0.0 ? fmt::format("{:.3g} µs", 1000.0 * value) : fmt::format("{:.3g} ms", value);
    case ChartUnit::Plain:
      break;
  }
  return value != 0.0 && std::abs(value) < 1e-3 ? fmt::format("{:.3g}", value) : fmt::format("{:.4g}", value);
}

std::string ChartSvg(const Chart& chart) {
  double x0 = INFINITY, x1 = -INFINITY, lo = INFINITY, hi = -INFINITY;
  std::vector<ChartLine> lines;
  for (const ChartLine& line : chart.lines) {
    ChartLine& drawn = lines.emplace_back(line);
    std::erase_if(drawn.points, [](const ChartPoint& point) { return !std::isfinite(point.x) || !std::isfinite(point.y); });
    drawn.points = Thinned(drawn.points);
    for (ChartPoint& point : drawn.points) {
      if (chart.top > 0.0) point.y = std::min(point.y, chart.top);
      x0 = std::min(x0, point.x);
      x1 = std::max(x1, point.x);
      lo = std::min(lo, point.y);
      hi = std::max(hi, point.y);
    }
  }
  if (!(x1 >= x0)) return Svg(chart.about, 60.0, SvgText("class=\"dim\"", 4.0, 34.0, "nothing to show yet"));
  if (x1 == x0) x0 -= 1.0;
  const bool log = chart.log && lo > 0.0 && hi / lo >= kWorthALog;
  const Scale y = log ? LogScale(lo, hi) : LinearScale(chart.from_zero ? std::min(0.0, lo) : lo, hi, 5);
  size_t longest = 0;
  for (const double tick : y.ticks) longest = std::max(longest, InUnit(tick, chart.unit).size());
  const double left = 10.0 + kLetter * static_cast<double>(longest);
  const auto at_x = [&](double value) { return left + (value - x0) / (x1 - x0) * (kRight - left); };
  const auto at_y = [&](double value) { return kBottom - y.Share(value) * (kBottom - kTop); };

  std::string svg;
  auto out = std::back_inserter(svg);
  for (const double tick : y.ticks) {
    svg += SvgLine("grid", left, at_y(tick), kRight, at_y(tick));
    svg += SvgText("class=\"tick\" text-anchor=\"end\"", left - 6.0, at_y(tick) + 4.0, InUnit(tick, chart.unit));
  }
  svg += SvgLine("axis", left, kBottom, kRight, kBottom);
  const Scale x = LinearScale(x0, x1, 5);
  double taken = left - 20.0;
  for (const double tick : x.ticks) {
    const std::string label = fmt::format("{:.6g}", tick);
    const double half = 0.5 * kLetter * static_cast<double>(label.size());
    if (tick < x0 || tick > x1 || at_x(tick) - half < taken || at_x(tick) + half > kWidth) continue;
    taken = at_x(tick) + half + 8.0;
    svg += SvgLine("axis", at_x(tick), kBottom, at_x(tick), kBottom + 4.0);
    svg += SvgText("class=\"tick\" text-anchor=\"middle\"", at_x(tick), kBottom + 16.0, label);
  }
  svg += SvgText("class=\"tick\" text-anchor=\"end\"", kRight, kHeight - 3.0, chart.x);
  for (const ChartLine& line : lines) {
    if (line.points.empty()) continue;
    if (line.path) {
      fmt::format_to(out, "<path class=\"line {}\" d=\"", line.look);
      for (size_t i = 0; i < line.points.size(); ++i)
        fmt::format_to(out, "{}{:.1f} {:.1f}", i == 0 ? "M" : "L", at_x(line.points[i].x), at_y(line.points[i].y));
      svg += "\"/>\n";
    }
    const bool dots = !line.path || (line.dots && line.points.size() <= 40) || line.points.size() == 1;
    for (size_t i = 0; dots && i < line.points.size(); ++i) {
      fmt::format_to(out, "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} {}: {}</title></circle>\n",
                     line.look, at_x(line.points[i].x), at_y(line.points[i].y), XmlText(line.name),
                     InUnit(line.points[i].x, ChartUnit::Plain), InUnit(line.points[i].y, chart.unit));
    }
  }
  return Svg(chart.about, kHeight, svg);
}

std::string BarsSvg(const std::string& about, const std::vector<BarRow>& rows) {
  double most = 0.0;
  size_t name = 0, words = 0;
  for (const BarRow& row : rows) {
    double sum = 0.0;
    for (const BarPart& part : row.parts) sum += part.value;
    most = std::max(most, sum);
    name = std::max(name, std::min<size_t>(row.name.size(), 18));
    words = std::max(words, row.words.size());
  }
  if (!(most > 0.0)) most = 1.0;
  const double left = 8.0 + kLetter * static_cast<double>(name), right = kWidth - 10.0 - kLetter * static_cast<double>(words);
  std::string svg;
  double top = 2.0;
  for (const BarRow& row : rows) {
    const std::string shown = row.name.size() > 18 ? row.name.substr(0, 16) + ".." : row.name;
    svg += SvgText("class=\"label\" text-anchor=\"end\"", left - 6.0, top + 14.0, shown);
    double x = left;
    for (const BarPart& part : row.parts) {
      const double width = std::max(0.0, part.value / most * (right - left));
      fmt::format_to(
          std::back_inserter(svg),
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"15\" rx=\"2\"><title>{}</title></rect>\n",
          part.look, x, top + 3.0, width, XmlText(part.about));
      x += width;
    }
    svg += SvgText("class=\"tick\"", x + 6.0, top + 14.5, row.words);
    top += kBarRow;
  }
  return Svg(about, top + 2.0, svg);
}

std::string HistogramSvg(const std::string& about, const std::vector<double>& counts, double first, double width) {
  constexpr double kTall = 150.0;
  const double most = counts.empty() ? 1.0 : std::max(1.0, *std::max_element(counts.begin(), counts.end()));
  const double bar = (kRight - 10.0) / static_cast<double>(std::max<size_t>(1, counts.size()));
  std::string svg;
  double taken = -100.0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double x = 10.0 + bar * static_cast<double>(i), tall = counts[i] / most * (kTall - 40.0);
    const double begin = first + width * static_cast<double>(i), end = begin + width - 1.0;
    fmt::format_to(
        std::back_inserter(svg),
        "<rect class=\"f1\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{:.0f} to {:.0f} steps: "
        "{:.0f}</title></rect>\n",
        x + 0.5, kTall - 24.0 - tall, std::max(1.0, bar - 1.0), tall, begin, end, counts[i]);
    const std::string label = fmt::format("{:.0f}", begin);
    const double half = 0.5 * kLetter * static_cast<double>(label.size());
    if (x + bar / 2 - half < taken || x + bar / 2 + half > kWidth) continue;
    taken = x + bar / 2 + half + 10.0;
    svg += SvgText("class=\"tick\" text-anchor=\"middle\"", x + bar / 2, kTall - 8.0, label);
  }
  svg += SvgLine("axis", 10.0, kTall - 24.0, kRight, kTall - 24.0);
  return Svg(about, kTall, svg);
}

}  // namespace plimsoll
