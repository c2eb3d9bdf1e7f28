#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plimsoll/plan.h"

namespace plimsoll {
namespace {

Plan PlanAt(int64_t budget_bytes, double extra_time) {
  Plan plan;
  plan.feasible = true;
  plan.budget_bytes = budget_bytes;
  plan.peak_bytes = budget_bytes - 1000;
  plan.extra_time = extra_time;
  plan.recompute_factor = 1.0 + 3.0 * extra_time;
  plan.group_rows = 64;
  plan.stages = {{.layers = {"lstm"}, .blocks = 13, .segment_blocks = 3, .slots = 4, .repeats = 1}};
  if (extra_time == 0.0) plan.stages[0] = {.layers = {"lstm"}, .blocks = 13, .segment_blocks = 13, .slots = 0, .repeats = 0};
  return plan;
}

std::vector<Plan> SomePlans() {
  std::vector<Plan> plans = {PlanAt(13'300'000, 0.33), PlanAt(16'000'000, 0.27), PlanAt(18'000'000, 0.11),
                             PlanAt(22'300'000, 0.0), PlanAt(26'000'000, 0.0)};
  plans[0].rounding_only_change = true;
  plans[0].group_rows = 8;
  return plans;
}

std::vector<Plan> WithSeconds(std::vector<Plan> plans, double full_speed_seconds) {
  for (Plan& plan : plans) plan.seconds_per_epoch = full_speed_seconds * (1.0 + plan.extra_time);
  return plans;
}

std::vector<Plan> WideSpread() {
  return {PlanAt(12'000'000, 1.4),   PlanAt(14'000'000, 0.9),    PlanAt(50'000'000, 0.33),  PlanAt(200'000'000, 0.2),
          PlanAt(900'000'000, 0.05), PlanAt(2'600'000'000, 0.0), PlanAt(4'000'000'000, 0.0)};
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Characters: every one that is drawn is one column wide.
size_t ColumnsOf(const std::string& line) {
  size_t columns = 0;
  for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return columns;
}

// The column at which `what` begins in the first line that has it.
size_t ColumnOf(const std::string& text, const std::string& what) {
  for (const std::string& line : LinesOf(text)) {
    if (const size_t at = line.find(what); at != std::string::npos) return ColumnsOf(line.substr(0, at));
  }
  return std::string::npos;
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

constexpr const char* kSmallLetters = "abcdefghijklmnopqrstuvwxyz";

// The number that follows `key`.
double NumberIn(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? -1e9 : std::stod(text.substr(at + key.size()));
}

bool HasBareAmpersand(const std::string& words) {
  for (size_t at = words.find('&'); at != std::string::npos; at = words.find('&', at + 1)) {
    const std::string rest = words.substr(at + 1, 5);
    if (!rest.starts_with("amp;") && !rest.starts_with("lt;") && !rest.starts_with("gt;") && !rest.starts_with("quot;"))
      return true;
  }
  return false;
}

// What stands between < and >: "/name", or "name", then name="value" with nothing in the value that XML forbids, then perhaps
// "/".
bool IsTag(const std::string& inside) {
  if (inside.starts_with("/")) return inside.size() > 1 && inside.find_first_not_of(kSmallLetters, 1) == std::string::npos;
  size_t at = inside.find_first_not_of(kSmallLetters);
  if (at == 0) return false;
  while (at < inside.size()) {
    const size_t begin = inside.find_first_not_of(' ', at);
    if (begin == std::string::npos) return true;
    if (inside[begin] == '/') return begin + 1 == inside.size();
    const size_t equals = inside.find("=\"", begin);
    if (begin == at || equals == std::string::npos) return false;
    const size_t end = inside.find('"', equals + 2);
    if (end == std::string::npos || inside.substr(begin, equals - begin).find_first_of(" \"<&") != std::string::npos)
      return false;
    if (inside.substr(equals + 2, end - equals - 2).find_first_of("<&") != std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

// What makes `xml` no well-formed document, or nothing. Enough of XML for what is written here.
std::string XmlMistake(const std::string& xml) {
  std::vector<std::string> open;
  size_t at = 0;
  while (at < xml.size()) {
    const size_t tag = xml.find('<', at);
    const std::string words = xml.substr(at, tag == std::string::npos ? tag : tag - at);
    if (HasBareAmpersand(words)) return "a bare & in: " + words;
    for (const char c : words) {
      if (static_cast<unsigned char>(c) < ' ' && c != '\n') return "a control character in: " + words;
    }
    if (tag == std::string::npos) break;
    const size_t end = xml.find('>', tag);
    if (end == std::string::npos) return "a tag without an end";
    const std::string inside = xml.substr(tag + 1, end - tag - 1);
    if (!IsTag(inside)) return "tag: " + inside;
    const std::string name = inside.substr(0, inside.find_first_not_of(kSmallLetters));
    if (inside.front() == '/') {
      if (open.empty() || open.back() != inside.substr(1)) return "closes what is not open: " + inside;
      open.pop_back();
    } else if (inside.back() != '/') {
      if (open.empty() && at > 0) return "a second root: " + inside;
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() ? "" : "left open: " + open.back();
}

struct SvgBox {
  double x0, x1, y;
  std::string words;
};

// Where the texts of a picture lie, by a width of letters that most fonts stay below.
std::vector<SvgBox> TextBoxes(const std::string& svg) {
  std::vector<SvgBox> boxes;
  for (size_t at = svg.find("<text "); at != std::string::npos; at = svg.find("<text ", at + 1)) {
    const size_t end = svg.find('>', at), close = svg.find("</text>", end);
    const std::string tag = svg.substr(at, end - at), words = svg.substr(end + 1, close - end - 1);
    const double letter = tag.find("title") != std::string::npos ? 10.5 : 6.8;
    const double width = letter * static_cast<double>(words.size());
    double x0 = NumberIn(tag, " x=\"");
    if (tag.find("end") != std::string::npos) x0 -= width;
    if (tag.find("middle") != std::string::npos) x0 -= width / 2;
    boxes.push_back({x0, x0 + width, NumberIn(tag, " y=\""), words});
  }
  return boxes;
}

std::vector<std::vector<Plan>> ManyCurves() {
  std::vector<Plan> dozen;
  for (int i = 0; i < 12; ++i) dozen.push_back(PlanAt(1'013'300'000 + i * 820'000, i == 11 ? 0.0 : 0.62 * std::exp(-0.3 * i)));
  std::vector<Plan> close = {PlanAt(13'300'000, 0.33), PlanAt(14'000'000, 0.0), PlanAt(200'000'000, 0.0)};
  return {SomePlans(),
          WithSeconds(SomePlans(), 2.6),
          WithSeconds(SomePlans(), 0.004),
          WithSeconds(SomePlans(), 86'400.0),
          WideSpread(),
          dozen,
          WithSeconds(dozen, 600.0),
          close,
          {PlanAt(13'300'000, 0.33), PlanAt(22'300'000, 0.0)},
          {PlanAt(20'000'000, 0.0), PlanAt(30'000'000, 0.0), PlanAt(40'000'000, 0.0)},
          {PlanAt(1'200'000'000'000, 12.5), PlanAt(8'000'000'000'000, 0.0)},
          {PlanAt(22'300'000, 0.1)},
          {}};
}

TEST(CurveText, ATableSaysWhatEachBudgetDoes) {
  const std::vector<std::string> lines = LinesOf(CurveText(WithSeconds(SomePlans(), 2.6), 80));
  ASSERT_GE(lines.size(), 6U);
  EXPECT_EQ(lines[0], " budget  epoch  extra  rows  what is done");
  EXPECT_EQ(lines[1], "13.3 MB  3.5 s  +33 %     8* 13 blocks in 5 segments, 4 slots, run twice");
  EXPECT_EQ(lines[2], "  16 MB  3.3 s  +27 %    64  13 blocks in 5 segments, 4 slots, run twice");
  EXPECT_EQ(lines[4], "22.3 MB  2.6 s   none    64  13 blocks, run once");
}

TEST(CurveText, UnknownSecondsHaveNoColumnAndThePictureShowsExtraTime) {
  const std::string text = CurveText(SomePlans(), 80);
  EXPECT_EQ(LinesOf(text)[0], " budget  extra  rows  what is done");
  EXPECT_NE(text.find("\nextra time\n"), std::string::npos) << text;
  EXPECT_NE(text.find("20 % ┤"), std::string::npos) << text;
  const std::string timed = CurveText(WithSeconds(SomePlans(), 2.6), 80);
  EXPECT_NE(timed.find("\ntime of an epoch\n"), std::string::npos) << timed;
  EXPECT_NE(timed.find("3.0 s ┤"), std::string::npos) << timed;
}

TEST(CurveText, NoLineIsWiderThanTheTerminalOrEndsInABlank) {
  for (const std::vector<Plan>& plans : ManyCurves()) {
    for (const int columns : {40, 41, 57, 80, 132, 250}) {
      for (const std::string& line : LinesOf(CurveText(plans, columns))) {
        EXPECT_LE(ColumnsOf(line), static_cast<size_t>(columns)) << line;
        EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
      }
    }
  }
}

TEST(CurveText, AWidthThatIsUnknownOrTooSmallIsNoAccident) {
  EXPECT_EQ(CurveText(SomePlans(), 0), CurveText(SomePlans(), 80));
  EXPECT_EQ(CurveText(SomePlans(), 7), CurveText(SomePlans(), 40));
}

TEST(CurveText, InANarrowTerminalTheStagesGoBelowTheirRow) {
  const std::string text = CurveText(WithSeconds(SomePlans(), 2.6), 40);
  EXPECT_NE(text.find("  16 MB  3.3 s  +27 %    64\n  13 blocks in 5 segments, 4 slots, run\n  twice\n"), std::string::npos)
      << text;
}

TEST(CurveText, EveryBudgetIsAPointAndArrowsStandUnderTheMarkedOnes) {
  const std::string text = CurveText(SomePlans(), 80);
  EXPECT_EQ(CountOf(text, "●"), 4U) << text;
  EXPECT_EQ(CountOf(text, "○"), 2U) << text;  // one, and what it means
  EXPECT_EQ(CountOf(text, "▲"), 2U) << text;
  EXPECT_EQ(ColumnOf(text, "▲ smallest 13.3 MB"), ColumnOf(text, "○")) << text;
  const std::vector<std::string> lines = LinesOf(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(" 0 % ┤")) continue;  // the row where full speed begins
    EXPECT_EQ(ColumnsOf(lines[i].substr(0, lines[i].find("●"))), ColumnOf(text, "▲ full speed 22.3 MB")) << text;
    return;
  }
  FAIL() << text;
}

TEST(CurveText, ArrowsThatWouldTouchHaveALineEach) {
  const std::string text = CurveText({PlanAt(13'300'000, 0.33), PlanAt(14'000'000, 0.0), PlanAt(40'000'000, 0.0)}, 80);
  const std::vector<std::string> lines = LinesOf(text);
  size_t with_arrow = 0;
  for (const std::string& line : lines) with_arrow += line.find("▲") != std::string::npos;
  EXPECT_EQ(with_arrow, 2U) << text;
}

TEST(CurveText, ASmallestBudgetAtFullSpeedIsSaidOnce) {
  const std::string text = CurveText({PlanAt(20'000'000, 0.0), PlanAt(30'000'000, 0.0)}, 80);
  EXPECT_NE(text.find("▲ smallest, full speed 20 MB\n"), std::string::npos) << text;
  EXPECT_EQ(CountOf(text, "▲"), 1U) << text;
}

TEST(CurveText, BudgetsThatHaveNoPointAreToldInWords) {
  std::vector<Plan> plans = {PlanAt(16'000'000, 0.27), PlanAt(18'000'000, 0.11)};
  for (Plan& plan : plans) {
    plan.min_bytes = 13'250'000;
    plan.full_speed_bytes = 22'300'000;
  }
  const std::string text = CurveText(plans, 80);
  EXPECT_NE(text.find("\nsmallest budget 13.3 MB; full speed from 22.3 MB\n"), std::string::npos) << text;
  EXPECT_EQ(CountOf(text, "▲"), 0U) << text;
  plans.insert(plans.begin(), PlanAt(13'250'000, 0.33));
  plans[0].min_bytes = 13'250'000;
  EXPECT_EQ(CurveText(plans, 80).find("smallest budget"), std::string::npos);
  EXPECT_NE(CurveText(plans, 80).find("▲ smallest 13.3 MB"), std::string::npos);
}

TEST(CurveText, OnlyPlansWithSmallerRowGroupsAreMarkedAndExplained) {
  std::vector<Plan> plans = SomePlans();
  EXPECT_NE(CurveText(plans, 120).find("* row groups are smaller than the job's own"), std::string::npos);
  plans[0].rounding_only_change = false;
  EXPECT_EQ(CurveText(plans, 120).find('*'), std::string::npos);
  EXPECT_EQ(CurveText(plans, 120).find("○"), std::string::npos);
}

TEST(CurveText, BudgetsFarApartHaveALogarithmicAxis) {
  const std::string wide = CurveText(WideSpread(), 80);
  EXPECT_NE(wide.find("memory budget, logarithmic"), std::string::npos) << wide;
  EXPECT_NE(wide.find("100 MB      300 MB"), std::string::npos) << wide;
  EXPECT_EQ(CurveText({PlanAt(10'000'000, 0.3), PlanAt(80'000'000, 0.0)}, 80).find("logarithmic"), std::string::npos);
  EXPECT_NE(CurveText({PlanAt(10'000'000, 0.3), PlanAt(80'100'000, 0.0)}, 80).find("logarithmic"), std::string::npos);
}

TEST(CurveText, BudgetsNearEachOtherKeepTheirOwnNames) {
  const std::string text = CurveText({PlanAt(1'013'300'000, 0.3), PlanAt(1'014'120'000, 0.0)}, 80);
  EXPECT_NE(text.find("1013.3 MB  +30 %"), std::string::npos) << text;
  EXPECT_NE(text.find("1014.2 MB   none"), std::string::npos) << text;
}

TEST(CurveText, StagesToldWithTheSameWordsAreToldOnce) {
  std::vector<Plan> plans = SomePlans();
  plans[1].stages = {plans[1].stages[0],
                     plans[1].stages[0],
                     {.layers = {"dense"}, .blocks = 1, .segment_blocks = 1, .slots = 1, .spilled = true, .repeats = 0},
                     {.layers = {"gru"}, .blocks = 9, .segment_blocks = 1, .slots = 2, .repeats = 3}};
  const std::string text = CurveText(plans, 200);
  EXPECT_NE(text.find("  2 stages of 13 blocks in 5 segments, 4 slots, run twice; 1 block, 1 slot in a file, runs once; "
                      "9 blocks in 9 segments, 2 slots, up to 4 runs\n"),
            std::string::npos)
      << text;
}

TEST(CurveText, OnePointIsASentence) {
  const std::string text = CurveText(WithSeconds({PlanAt(22'300'000, 0.1)}, 2.0), 80);
  EXPECT_NE(text.find("\nonly 22.3 MB was planned: 2.2 s (+10 %)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("┤"), std::string::npos) << text;
  EXPECT_EQ(CurveText({PlanAt(22'300'000, 0.1), PlanAt(22'300'000, 0.1)}, 80), CurveText({PlanAt(22'300'000, 0.1)}, 80));
}

TEST(Curve, PlansThatDoNotFitAreLeftOut) {
  std::vector<Plan> plans = SomePlans();
  Plan refused = PlanAt(9'000'000, 0.0);
  refused.feasible = false;
  plans.insert(plans.begin(), refused);
  EXPECT_EQ(CurveText(plans, 80), CurveText(SomePlans(), 80));
  EXPECT_EQ(CurveSvg(plans), CurveSvg(SomePlans()));
  EXPECT_EQ(CurveJson(plans), CurveJson(SomePlans()));
}

TEST(Curve, WhereNothingFitsTheSmallestBudgetIsNamed) {
  Plan refused = PlanAt(9'000'000, 0.0);
  refused.feasible = false;
  refused.min_bytes = 13'250'000;
  EXPECT_EQ(CurveText({refused}, 80), "none of the budgets fits; the smallest that works is 13.3 MB\n");
  EXPECT_NE(CurveSvg({refused}).find("the smallest that works is 13.3 MB</text>"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(CurveJson({refused})), nlohmann::json::parse(R"({"curve": []})"));
}

TEST(Curve, TimesThatAreNoNumbersAreNoAccident) {
  std::vector<Plan> plans = SomePlans();
  plans[1].extra_time = std::numeric_limits<double>::quiet_NaN();
  plans[2].extra_time = std::numeric_limits<double>::infinity();
  plans[3].extra_time = -1.0;
  EXPECT_EQ(CountOf(CurveText(plans, 80), "●"), 4U);
  EXPECT_EQ(XmlMistake(CurveSvg(plans)), "");
  EXPECT_EQ(CurveSvg(plans).find("=\"nan"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(CurveJson(plans))["curve"][1]["extra_time"].is_null());
}

TEST(CurveJson, HasTheDocumentedKeysAndNoOthers) {
  const auto json = nlohmann::json::parse(CurveJson(WithSeconds(SomePlans(), 2.0)));
  const auto keys = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
  };
  EXPECT_EQ(keys(json), (std::set<std::string>{"curve"}));
  ASSERT_EQ(json["curve"].size(), 5U);
  EXPECT_EQ(keys(json["curve"][0]),
            (std::set<std::string>{"budget_bytes", "peak_bytes", "seconds_per_epoch", "extra_time", "recompute_factor",
                                   "group_rows", "groups_abreast", "rounding_only_change", "stages"}));
  EXPECT_EQ(keys(json["curve"][0]["stages"][0]),
            (std::set<std::string>{"layers", "segment_blocks", "slots", "spilled", "repeats"}));
  EXPECT_EQ(json["curve"][0]["budget_bytes"], 13'300'000);
  EXPECT_EQ(json["curve"][0]["peak_bytes"], 13'299'000);
  EXPECT_EQ(json["curve"][0]["rounding_only_change"], true);
  EXPECT_EQ(json["curve"][3]["seconds_per_epoch"], 2.0);
  EXPECT_EQ(json["curve"][1]["stages"][0]["slots"], 4);
}

TEST(CurveSvg, IsOneWellFormedPictureThatAsksForNothing) {
  for (const std::vector<Plan>& plans : ManyCurves()) {
    const std::string svg = CurveSvg(plans);
    EXPECT_EQ(XmlMistake(svg), "") << svg;
    EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg;
    EXPECT_EQ(CountOf(svg, "http"), 1U) << "only the name of the language may be an address";
    for (const char* refused : {"<script", "href", "url(", "@import", "@font-face", "nan", "inf"}) {
      EXPECT_EQ(svg.find(refused), std::string::npos) << refused << "\n" << svg;
    }
    EXPECT_EQ(CountOf(svg, "prefers-color-scheme: dark"), 1U);
  }
}

TEST(CurveSvg, TheCheckOfXmlSeesMistakes) {
  EXPECT_EQ(XmlMistake("<a b=\"c\"><d/>e &amp; f</a>"), "");
  for (const char* wrong :
       {"<a>", "</a>", "<a></b>", "<a>b & c</a>", "<a><b></a></b>", "<a b=c></a>", "<a>\x01</a>", "<a <b></a>"}) {
    EXPECT_NE(XmlMistake(wrong), "") << wrong;
  }
}

TEST(CurveSvg, TextsKeepApartAndInsideThePicture) {
  for (const std::vector<Plan>& plans : ManyCurves()) {
    const std::string svg = CurveSvg(plans);
    const std::vector<SvgBox> boxes = TextBoxes(svg);
    EXPECT_EQ(boxes.size(), CountOf(svg, "<text"));
    for (size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_GE(boxes[i].x0, 4.0) << boxes[i].words;
      EXPECT_LE(boxes[i].x1, 716.0) << boxes[i].words;
      EXPECT_LE(boxes[i].y, 410.0) << boxes[i].words;
      for (size_t j = 0; j < i; ++j) {
        const bool clear = boxes[i].x1 < boxes[j].x0 || boxes[j].x1 < boxes[i].x0 || std::abs(boxes[i].y - boxes[j].y) > 11.0;
        EXPECT_TRUE(clear) << boxes[i].words << " | " << boxes[j].words;
      }
    }
  }
}

TEST(CurveSvg, ShowsPointsTicksAndBothMarks) {
  const std::string svg = CurveSvg(WithSeconds(SomePlans(), 2.6));
  EXPECT_EQ(CountOf(svg, "<circle class=\"point\""), 4U);
  EXPECT_EQ(CountOf(svg, "<circle class=\"small\""), 2U);  // one, and what it means
  for (const char* words : {">Time of an epoch by memory budget</text>", ">smallest: 13.3 MB, 3.5 s (+33 %)</text>",
                            ">full speed: 22.3 MB, 2.6 s</text>", ">14 MB</text>", ">3.0 s</text>",
                            "16 MB: 3.3 s (+27 %); 64 rows together; lstm: 13 blocks in 5 segments, 4 slots, run twice</title>",
                            "<desc id=\"plimsoll-curve-about\">13.3 MB: 3.5 s (+33 %); 16 MB: 3.3 s (+27 %);"}) {
    EXPECT_NE(svg.find(words), std::string::npos) << words << "\n" << svg;
  }
}

TEST(CurveSvg, ABudgetTwiceAsLargeLiesTwiceAsFarUnlessTheAxisIsLogarithmic) {
  const auto across = [](const std::vector<Plan>& plans) {
    const std::string svg = CurveSvg(plans);
    std::vector<double> xs;
    const std::string point = "<circle class=\"point\" cx=\"";
    for (size_t at = svg.find(point); at != std::string::npos; at = svg.find(point, at + 1)) {
      xs.push_back(NumberIn(svg.substr(at), point));
    }
    return xs;
  };
  const auto linear = across({PlanAt(10'000'000, 0.4), PlanAt(20'000'000, 0.2), PlanAt(50'000'000, 0.0)});
  ASSERT_EQ(linear.size(), 3U);
  EXPECT_NEAR((linear[2] - linear[0]) / (linear[1] - linear[0]), 4.0, 0.01);
  const auto log = across({PlanAt(10'000'000, 0.4), PlanAt(100'000'000, 0.2), PlanAt(1'000'000'000, 0.0)});
  ASSERT_EQ(log.size(), 3U);
  EXPECT_NEAR((log[2] - log[0]) / (log[1] - log[0]), 2.0, 0.01);
}

TEST(CurveSvg, NamesOfTheUserAreEscaped) {
  std::vector<Plan> plans = SomePlans();
  plans[1].stages[0].layers = {"a<b>&\"c\"", "\xff\x01"};
  const std::string svg = CurveSvg(plans);
  EXPECT_EQ(XmlMistake(svg), "");
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;&quot;c&quot;, \xEF\xBF\xBD : 13 blocks"), std::string::npos) << svg;
  EXPECT_NO_THROW(static_cast<void>(CurveJson(plans)));
}

}  // namespace
}  // namespace plimsoll
