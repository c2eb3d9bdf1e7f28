// page_style: the style sheet of a report.
#pragma once

namespace plimsoll {

extern const char* const kPageStyle;

}  // namespace plimsoll
