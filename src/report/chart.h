// chart: curves and bars of a report, as SVG that takes its colours from the page (report/page.cpp has the classes).
//   in:    points, names, the unit of the values
//   out:   an <svg> 400 units wide, so that its text can be read on a phone
//   never: looks at a run
#pragma once

#include <string>
#include <vector>

namespace plimsoll {

enum class ChartUnit { Plain, Share, Bytes, Milliseconds };
std::string InUnit(double value, ChartUnit unit);

struct ChartPoint {
  double x = 0.0;
  double y = 0.0;
};
struct ChartLine {
  std::string name;
  std::string look;  // classes of its colour and stroke: "c1", "c2 thin", "limit"
  std::vector<ChartPoint> points;
  bool dots = false;
  bool path = true;  // false: dots alone
};
struct Chart {
  std::string about;  // for who does not see it
  std::vector<ChartLine> lines;
  ChartUnit unit = ChartUnit::Plain;
  bool from_zero = false;
  bool log = false;  // where the values allow it
  double top = 0.0;  // values above are cut; 0: none are
  std::string x = "update";
};
std::string ChartSvg(const Chart& chart);

// Rows of bars, each of one or more parts.
struct BarPart {
  double value = 0.0;
  std::string look;
  std::string about;
};
struct BarRow {
  std::string name;
  std::vector<BarPart> parts;
  std::string words;  // behind the bar
};
std::string BarsSvg(const std::string& about, const std::vector<BarRow>& rows);

// Counts side by side, from `first` on in steps of `width`.
std::string HistogramSvg(const std::string& about, const std::vector<double>& counts, double first, double width);

}  // namespace plimsoll
