// xml: text inside of SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Names come from the user: what XML cannot hold is replaced, what it gives a meaning is escaped.
std::string XmlText(const std::string& text);
std::string SvgText(std::string_view style, double x, double y, const std::string& text);
std::string SvgLine(std::string_view style, double x0, double y0, double x1, double y1);

}  // namespace plimsoll
