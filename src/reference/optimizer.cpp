#include "reference/optimizer.h"

#include <algorithm>
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

// The same for one tensor alone.
template <typename T>
T TensorScale(const ReferenceTensor<T>& gradient, double clip_tensor_norm) {
  return ClipScale(std::vector<ReferenceTensor<T>>{gradient}, clip_tensor_norm);
}

}  // namespace

template <typename T>
void ReferenceOptimizer<T>::Update(std::vector<ReferenceTensor<T>>& weights, const std::vector<ReferenceTensor<T>>& gradients,
                                   double learning_rate, const std::vector<std::vector<bool>>& rows) {
  PLIMSOLL_CHECK(weights.size() == gradients.size(), "every weight needs its gradient");
  if (updates_ == 0) {
    const bool adagrad = options_.optimizer == OptimizerKind::Adagrad;
    for (const ReferenceTensor<T>& weight : weights) {
      m_.emplace_back(weight.values.size());
      v_.emplace_back(weight.values.size(), static_cast<T>(adagrad ? options_.initial_accumulator_value : 0.0));
    }
  }
  PLIMSOLL_CHECK(m_.size() == weights.size(), "the same tensors must come at every update");
  ++updates_;
  const auto t = static_cast<double>(updates_);
  const T alpha =
      static_cast<T>(learning_rate * std::sqrt(1.0 - std::pow(options_.beta_2, t)) / (1.0 - std::pow(options_.beta_1, t)));
  const T rate = static_cast<T>(learning_rate);
  const T rest_1 = static_cast<T>(1.0 - options_.beta_1);
  const T rest_2 = static_cast<T>(1.0 - options_.beta_2);
  const T rest_rho = static_cast<T>(1.0 - options_.rho);
  const T momentum = static_cast<T>(options_.momentum);
  const T epsilon = static_cast<T>(options_.epsilon);
  const T decay = static_cast<T>(learning_rate * options_.weight_decay);
  const T scale = ClipScale(gradients, options_.clip_norm);
  const T bound = static_cast<T>(options_.clip_value);
  for (size_t i = 0; i < weights.size(); ++i) {
    PLIMSOLL_CHECK(weights[i].values.size() == gradients[i].values.size() && weights[i].values.size() == m_[i].size(),
                   "a weight and its gradient must have the same size at every update");
    const bool bias = weights[i].shape.size() == 1;
    const T tensor_scale = TensorScale(gradients[i], options_.clip_tensor_norm);
    const size_t columns = bias ? 1 : static_cast<size_t>(weights[i].shape[1]);
    for (size_t e = 0; e < weights[i].values.size(); ++e) {
      if (!rows.empty() && !rows[i].empty() && !rows[i][e / columns]) continue;
      T g = gradients[i].values[e] * scale * tensor_scale;
      if (bound > T(0)) g = std::clamp(g, -bound, bound);
      T& w = weights[i].values[e];
      T& m = m_[i][e];
      T& v = v_[i][e];
      switch (options_.optimizer) {
        case OptimizerKind::Adam:
        case OptimizerKind::AdamW:
        case OptimizerKind::LazyAdam:
          if (options_.optimizer == OptimizerKind::AdamW && !bias) w -= decay * w;
          m += rest_1 * (g - m);
          v += rest_2 * (g * g - v);
          w -= alpha * m / (std::sqrt(v) + epsilon);
          break;
        case OptimizerKind::Sgd:
          m = momentum * m - rate * g;  // without momentum: -rate g
          w += options_.nesterov ? momentum * m - rate * g : m;
          break;
        case OptimizerKind::RmsProp:
          v += rest_rho * (g * g - v);
          w -= rate * g / std::sqrt(v + epsilon);
          break;
        case OptimizerKind::Adagrad:
          v += g * g;
          w -= rate * g / std::sqrt(v + epsilon);
          break;
      }
    }
  }
}

template class ReferenceOptimizer<float>;
template class ReferenceOptimizer<double>;

}  // namespace plimsoll
