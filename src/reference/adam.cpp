#include "reference/adam.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace plimsoll {
namespace {

// What every gradient is multiplied by, so that the norm of all of them together is at most clip_norm.
template <typename T>
T ClipScale(const std::vector<ReferenceTensor<T>>& gradients, double clip_norm) {
  if (clip_norm <= 0.0) return T(1);
  double sum = 0.0;
  for (const ReferenceTensor<T>& gradient : gradients)
    for (const T value : gradient.values) sum += static_cast<double>(value) * static_cast<double>(value);
  const double norm = std::sqrt(sum);
  return norm > clip_norm ? static_cast<T>(clip_norm / norm) : T(1);
}

}  // namespace

template <typename T>
void ReferenceAdam<T>::Update(std::vector<ReferenceTensor<T>>& weights, const std::vector<ReferenceTensor<T>>& gradients) {
  PLIMSOLL_CHECK(weights.size() == gradients.size(), "every weight needs its gradient");
  if (updates_ == 0) {
    for (const ReferenceTensor<T>& weight : weights) {
      m_.emplace_back(weight.values.size());
      v_.emplace_back(weight.values.size());
    }
  }
  PLIMSOLL_CHECK(m_.size() == weights.size(), "the same tensors must come at every update");
  ++updates_;
  const auto t = static_cast<double>(updates_);
  const T alpha = static_cast<T>(options_.learning_rate * std::sqrt(1.0 - std::pow(options_.beta_2, t)) /
                                 (1.0 - std::pow(options_.beta_1, t)));
  const T rest_1 = static_cast<T>(1.0 - options_.beta_1);
  const T rest_2 = static_cast<T>(1.0 - options_.beta_2);
  const T epsilon = static_cast<T>(options_.epsilon);
  const T scale = ClipScale(gradients, options_.clip_norm);
  for (size_t i = 0; i < weights.size(); ++i) {
    PLIMSOLL_CHECK(weights[i].values.size() == gradients[i].values.size() && weights[i].values.size() == m_[i].size(),
                   "a weight and its gradient must have the same size at every update");
    for (size_t e = 0; e < weights[i].values.size(); ++e) {
      const T g = gradients[i].values[e] * scale;
      T& m = m_[i][e];
      T& v = v_[i][e];
      m += rest_1 * (g - m);
      v += rest_2 * (g * g - v);
      weights[i].values[e] -= alpha * m / (std::sqrt(v) + epsilon);
    }
  }
}

template class ReferenceAdam<float>;
template class ReferenceAdam<double>;

}  // namespace plimsoll
