// power_probe: which generation a run would go on from, for each snapshot folder that is named on a line of stdin.
//   out: a line each: the generation, or 0 where there is none to go on from; how many were passed over
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "train/resume.h"

int main() {
  for (std::string folder; std::getline(std::cin, folder);) {
    const plimsoll::Result<plimsoll::ResumePoint> point = plimsoll::FindResumePoint(folder, "");
    if (point.ok()) {
      fmt::print("{} {}\n", point.value().generation, point.value().passed_over.size());
    } else {
      fmt::print("0 0\n");
    }
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
