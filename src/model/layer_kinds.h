// layer_kinds: what more than one part asks about a layer of the job.
#pragma once

#include <type_traits>
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
  options.dropout;
  options.recurrent_dropout;
  options.go_backwards;
};

// Types whose layers learn something.
template <typename Options>
concept WeightedOptions = RecurrentOptions<Options> || std::is_same_v<Options, EmbeddingOptions> ||
    std::is_same_v<Options, DenseOptions> || std::is_same_v<Options, LayerNormalizationOptions> ||
    std::is_same_v<Options, CRFOptions> || std::is_same_v<Options, CustomOptions> || std::is_same_v<Options, Conv1DOptions>;

inline bool IsRecurrent(const LayerKind& kind) {
  return std::visit([]<typename Options>(const Options&) { return RecurrentOptions<Options>; }, kind);
}

// A CTC is put behind the last Dense by its loss: a job that lists one is refused.
inline bool CanBeListed(const LayerKind& kind) { return !std::holds_alternative<CTCOptions>(kind); }

// Its output at a step depends on other steps than that one.
inline bool KnowsTime(const LayerKind& kind) {
  return IsRecurrent(kind) || std::holds_alternative<PoolingOptions>(kind) || std::holds_alternative<CRFOptions>(kind) ||
         std::holds_alternative<Conv1DOptions>(kind) || std::holds_alternative<CTCOptions>(kind);
}

}  // namespace plimsoll
