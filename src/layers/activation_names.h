// activation_names: Keras's name of each activation; what job files, messages and descriptions call them.
#pragma once

#include <array>
#include <string_view>

#include "plimsoll/options.h"

namespace plimsoll {

struct ActivationEntry {
  std::string_view name;
  Activation activation;
};
inline constexpr std::array kActivationNames = {
    ActivationEntry{"linear", Activation::Linear},
    ActivationEntry{"relu", Activation::Relu},
    ActivationEntry{"tanh", Activation::Tanh},
    ActivationEntry{"sigmoid", Activation::Sigmoid},
    ActivationEntry{"softmax", Activation::Softmax},
    ActivationEntry{"hard_sigmoid", Activation::HardSigmoid},
    ActivationEntry{"softsign", Activation::Softsign},
    ActivationEntry{"elu", Activation::Elu},
    ActivationEntry{"leaky_relu", Activation::LeakyRelu},
};

constexpr std::string_view ActivationName(Activation activation) {
  for (const ActivationEntry& entry : kActivationNames) {
    if (entry.activation == activation) return entry.name;
  }
  return "unknown";
}

}  // namespace plimsoll
