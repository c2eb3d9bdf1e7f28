#include "reference/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"

namespace plimsoll {
namespace {

// `wanted` different numbers of [0, elements), by Floyd's method: every choice is equally likely.
std::set<int64_t> ChooseElements(int64_t elements, int64_t wanted, RandomSequence random) {
  std::set<int64_t> chosen;
  for (int64_t last = elements - wanted; last < elements; ++last) {
    const auto candidate = static_cast<int64_t>(random.Below(static_cast<uint64_t>(last) + 1));
    if (!chosen.insert(candidate).second) chosen.insert(last);
  }
  return chosen;
}

GradientVerdict Judge(const TensorGradientCheck& check, const GradientCheckOptions& options) {
  if (check.claimed_norm < options.excuse_below && check.numeric_norm < options.excuse_below) return GradientVerdict::Excused;
  // Norms that are not finite end here too: a comparison with NaN is false, and infinity would allow every difference.
  const double allowed = options.tolerance * std::max(check.claimed_norm, check.numeric_norm);
  const bool agrees = std::isfinite(allowed) && check.difference_norm <= allowed;
  return agrees ? GradientVerdict::Passed : GradientVerdict::Failed;
}

const char* VerdictName(GradientVerdict verdict) {
  switch (verdict) {
    case GradientVerdict::Passed:
      return "passed";
    case GradientVerdict::Failed:
      return "FAILED";
    case GradientVerdict::Excused:
      return "excused";
  }
  return "unknown";
}

}  // namespace

GradientReport CheckGradients(const Spec& spec, const std::vector<ReferenceTensor<double>>& weights,
                              const std::vector<ReferenceSample<double>>& batch, const ReferenceDropout& dropout,
                              const std::vector<ReferenceTensor<double>>& claimed, const GradientCheckOptions& options) {
  PLIMSOLL_CHECK(claimed.size() == weights.size(), "every weight needs a claimed gradient");
  PLIMSOLL_CHECK(options.elements_per_tensor >= 1 && options.epsilon > 0.0,
                 "a check without elements or distance proves nothing");
  std::vector<ReferenceTensor<double>> moved = weights;
  GradientReport report;
  for (size_t i = 0; i < weights.size(); ++i) {
    PLIMSOLL_CHECK(claimed[i].values.size() == weights[i].values.size(), "a claimed gradient must have the size of its weight");
    TensorGradientCheck check;
    check.tensor = weights[i].name;
    check.elements = static_cast<int64_t>(weights[i].values.size());
    check.checked = std::min(check.elements, options.elements_per_tensor);
    double claimed_sum = 0.0, numeric_sum = 0.0, difference_sum = 0.0;
    for (const int64_t element : ChooseElements(check.elements, check.checked, RandomSequence(options.seed, i))) {
      const auto e = static_cast<size_t>(element);
      const double here = weights[i].values[e];
      const double above = here + options.epsilon, below = here - options.epsilon;
      moved[i].values[e] = above;
      const double loss_above = ReferenceLoss(spec, moved, batch, dropout);
      moved[i].values[e] = below;
      const double loss_below = ReferenceLoss(spec, moved, batch, dropout);
      moved[i].values[e] = here;
      const double numeric = (loss_above - loss_below) / (above - below);  // the distance as it was rounded
      const double difference = claimed[i].values[e] - numeric;
      claimed_sum += claimed[i].values[e] * claimed[i].values[e];
      numeric_sum += numeric * numeric;
      difference_sum += difference * difference;
    }
    check.claimed_norm = std::sqrt(claimed_sum);
    check.numeric_norm = std::sqrt(numeric_sum);
    check.difference_norm = std::sqrt(difference_sum);
    check.verdict = Judge(check, options);
    report.passed += check.verdict == GradientVerdict::Passed;
    report.failed += check.verdict == GradientVerdict::Failed;
    report.excused += check.verdict == GradientVerdict::Excused;
    report.tensors.push_back(check);
  }
  return report;
}

std::string GradientReportText(const GradientReport& report) {
  std::string text;
  for (const TensorGradientCheck& check : report.tensors)
    text += fmt::format("{:8} {:24} {} of {} elements, claimed {:.6e}, numeric {:.6e}, difference {:.1e}\n",
                        VerdictName(check.verdict), check.tensor, check.checked, check.elements, check.claimed_norm,
                        check.numeric_norm, check.difference_norm);
  return text;
}

}  // namespace plimsoll
