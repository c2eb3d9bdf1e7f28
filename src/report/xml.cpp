#include "report/xml.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace plimsoll {

using Json = nlohmann::ordered_json;

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

}  // namespace plimsoll
