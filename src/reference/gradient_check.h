// gradient_check: compares gradients with central differences of the reference loss, in double.
//   in:    a Spec with weights, a batch, and the gradients that somebody claims
//   out:   a verdict for every tensor:  norm(claimed - numeric) <= tolerance * max(norm(claimed), norm(numeric))
//   A tensor whose two norms are both below excuse_below proves nothing: it is listed as excused, never as passed.
// Large tensors are checked at a random choice of elements; norms are over the elements checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.h"
#include "reference/reference.h"

namespace plimsoll {

struct GradientCheckOptions {
  double epsilon = 1e-6;  // a weight is moved this far to both sides
  double tolerance = 1e-6;
  double excuse_below = 1e-8;
  int64_t elements_per_tensor = 64;  // at most; each costs two forward passes over the batch
  uint64_t seed = 1;                 // of the choice
};

enum class GradientVerdict { Passed, Failed, Excused };

struct TensorGradientCheck {
  std::string tensor;
  int64_t elements = 0;
  int64_t checked = 0;
  double claimed_norm = 0.0;
  double numeric_norm = 0.0;
  double difference_norm = 0.0;
  GradientVerdict verdict = GradientVerdict::Failed;
};

struct GradientReport {
  std::vector<TensorGradientCheck> tensors;
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t excused = 0;
  // Something was proved and nothing was refuted.
  bool ok() const { return failed == 0 && passed > 0; }
};

GradientReport CheckGradients(const Spec& spec, const std::vector<ReferenceTensor<double>>& weights,
                              const std::vector<ReferenceSample<double>>& batch, const ReferenceDropout& dropout,
                              const std::vector<ReferenceTensor<double>>& claimed, const GradientCheckOptions& options = {});

std::string GradientReportText(const GradientReport& report);  // a line for every tensor

}  // namespace plimsoll
