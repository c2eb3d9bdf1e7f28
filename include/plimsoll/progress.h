// progress: a listener that shows a run to a person, or to a program that reads lines.
//   in:    what a run tells its Observer
//   out:   a bar where the descriptor is a terminal, else plain lines without escapes; or JSON, one object a line
//   never: allocates in Step or Epoch, blocks a run on a reader that has gone, or takes ownership of the descriptor
#pragma once

#include <memory>

#include "plimsoll/observer.h"

namespace plimsoll {

enum class ProgressFormat {
  Auto,  // Bar on a terminal, else Line
  Bar,   // one line that is drawn again, at most ten times a second
  Line,  // a line each `line_seconds` at most, and one at each epoch's end
  Json,  // as Line, one object a line
  None,
};
enum class ColorMode { Auto, Never, Always };

struct ProgressOptions {
  int fd = 2;  // not owned; stays open for as long as the listener lives
  ProgressFormat format = ProgressFormat::Auto;
  ColorMode color = ColorMode::Auto;  // Auto: on a terminal, unless NO_COLOR is set
  double line_seconds = 5.0;          // Line and Json: least time between two lines inside an epoch
};

std::unique_ptr<Observer> MakeProgress(const ProgressOptions& options);

}  // namespace plimsoll
