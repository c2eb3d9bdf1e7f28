// layer_kinds: what more than one part asks about a layer of the job.
#pragma once

#include <variant>

#include "plimsoll/options.h"

namespace plimsoll {

// LSTM, GRU and SimpleRNN: every option that they share has the same name in each.
template <typename Options>
concept RecurrentOptions = requires(Options options) {
  options.units;
  options.return_sequences;
  options.use_bias;
  options.activation;
};

inline bool IsRecurrent(const LayerKind& kind) {
  return std::visit([]<typename Options>(const Options&) { return RecurrentOptions<Options>; }, kind);
}

}  // namespace plimsoll
