#include "report/arena_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/bytes.h"
#include "report/run_record.h"
#include "report/xml.h"

namespace plimsoll {
namespace {

constexpr double kWidth = 400.0;
constexpr double kLeft = 62.0;
constexpr double kTop = 34.0;
constexpr double kTall = 300.0;
constexpr double kLetter = 6.2;
constexpr size_t kMostBuffers = 2000;
constexpr size_t kMostListed = 24;
constexpr std::array<const char*, 7> kMoments = {"Read", "Forward", "Replay", "Head", "Back", "Update", "Save"};
constexpr std::array<const char*, 7> kLives = {"param", "grad", "moment", "state", "tape", "scratch", "data"};
constexpr std::array<const char*, 7> kLifeWords = {"weights", "gradient", "optimizer", "state", "tape", "workspace", "data"};

struct Placed {
  std::string name;
  size_t life = 5;
  double bytes = 0.0, offset = 0.0;
  int first = 0, last = 6;
};

std::vector<Placed> BuffersOf(const nlohmann::json& plan) {
  std::vector<Placed> buffers;
  const auto listed = plan.find("buffers");
  if (listed == plan.end() || !listed->is_array()) return buffers;
  for (const nlohmann::json& buffer : *listed) {
    Placed placed{.name = "?",
                  .bytes = std::clamp(NumberOf(buffer, "bytes"), 0.0, 1e15),
                  .offset = std::clamp(NumberOf(buffer, "offset"), 0.0, 1e15),
                  .first = static_cast<int>(std::clamp(NumberOf(buffer, "first"), 0.0, 6.0)),
                  .last = static_cast<int>(std::clamp(NumberOf(buffer, "last"), 0.0, 6.0))};
    if (buffer.contains("name") && buffer["name"].is_string()) placed.name = buffer["name"];
    for (size_t life = 0; life < kLives.size(); ++life) {
      if (buffer.contains("life") && buffer["life"] == kLives[life]) placed.life = life;
    }
    if (placed.bytes > 0.0 && placed.last >= placed.first) buffers.push_back(std::move(placed));
    if (buffers.size() == kMostBuffers) break;
  }
  return buffers;
}

}  // namespace

std::string ArenaMapSvg(const nlohmann::json& plan) {
  const std::vector<Placed> buffers = BuffersOf(plan);
  double end = 1.0;
  for (const Placed& buffer : buffers) end = std::max(end, buffer.offset + buffer.bytes);
  const double moment = (kWidth - 4.0 - kLeft) / 7.0;
  std::string svg;
  auto out = std::back_inserter(svg);
  for (size_t i = 0; i < kMoments.size(); ++i) {
    svg += SvgText("class=\"tick\" text-anchor=\"middle\"", kLeft + moment * (static_cast<double>(i) + 0.5), kTop - 12.0,
                   kMoments[i]);
  }
  fmt::format_to(out, "<rect class=\"ground\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", kLeft, kTop,
                 7 * moment, kTall);
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double y = kTop + kTall * quarter / 4.0;
    svg += SvgLine("axis", kLeft - 4.0, y, kLeft, y);
    svg += SvgText("class=\"tick\" text-anchor=\"end\"", kLeft - 7.0, y + 4.0,
                   PrettyBytes(static_cast<int64_t>(end * quarter / 4.0)));
  }
  for (const Placed& buffer : buffers) {
    const double x = kLeft + moment * buffer.first, width = moment * (buffer.last - buffer.first + 1);
    const double y = kTop + kTall * buffer.offset / end, tall = kTall * buffer.bytes / end;
    fmt::format_to(out,
                   "<rect class=\"life{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\"><title>{}: {}, {} to {}"
                   "</title></rect>\n",
                   buffer.life, x + 0.5, y, width - 1.0, std::max(0.3, tall - (tall > 4.0 ? 0.6 : 0.0)), XmlText(buffer.name),
                   PrettyBytes(static_cast<int64_t>(buffer.bytes)), kMoments[static_cast<size_t>(buffer.first)],
                   kMoments[static_cast<size_t>(buffer.last)]);
    if (tall < 14.0) continue;
    const auto room = static_cast<size_t>((width - 8.0) / kLetter);
    std::string name = buffer.name;
    if (name.size() > room) {
      const size_t dot = name.find('.');
      if (dot != std::string::npos) name = name.substr(dot + 1);
    }
    if (name.size() <= room) {
      svg += SvgText("class=\"inside\" text-anchor=\"middle\"", x + width / 2, y + tall / 2 + 4.0, name);
    }
  }
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Map of the arena\">\n{}</svg>\n", kWidth,
                     kTop + kTall + 10.0, svg);
}

std::string ArenaList(const nlohmann::json& plan) {
  std::vector<Placed> buffers = BuffersOf(plan);
  std::stable_sort(buffers.begin(), buffers.end(), [](const Placed& a, const Placed& b) { return a.bytes > b.bytes; });
  if (buffers.size() > kMostListed) buffers.resize(kMostListed);
  std::string list = "<details><summary>The largest buffers</summary>\n<table>\n";
  for (const Placed& buffer : buffers) {
    fmt::format_to(std::back_inserter(list), "<tr><td><i class=\"life{}\"></i>{}</td><td>{}</td><td>{} to {}</td></tr>\n",
                   buffer.life, XmlText(buffer.name), PrettyBytes(static_cast<int64_t>(buffer.bytes)),
                   kMoments[static_cast<size_t>(buffer.first)], kMoments[static_cast<size_t>(buffer.last)]);
  }
  return list + "</table></details>\n";
}

std::string ArenaLegend(const nlohmann::json& plan) {
  std::array<bool, 7> there = {};
  for (const Placed& buffer : BuffersOf(plan)) there[buffer.life] = true;
  std::string legend;
  for (size_t life = 0; life < kLives.size(); ++life) {
    if (there[life]) legend += fmt::format("<span><i class=\"life{}\"></i>{}</span>", life, kLifeWords[life]);
  }
  return legend;
}

}  // namespace plimsoll
