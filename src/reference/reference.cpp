// reference: one sample at a time through the nodes, loss, and the same nodes in reverse.
#include "reference/reference.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

#include "base/check.h"
#include "model/layer_kinds.h"
#include "plimsoll/custom.h"
#include "reference/conv1d.h"
#include "reference/crf.h"
#include "reference/dense.h"
#include "reference/dropout.h"
#include "reference/embedding.h"
#include "reference/gru.h"
#include "reference/loss.h"
#include "reference/lstm.h"
#include "reference/merge.h"
#include "reference/normalize.h"
#include "reference/pooling.h"
#include "reference/rnn.h"
#include "reference/rows.h"

namespace plimsoll {
namespace {

using namespace reference;

template <typename T>
using Tensors = std::vector<ReferenceTensor<T>>;

template <typename Options>
CellFunctions FunctionsOf(const Options& options) {
  return {.outer = options.activation, .gate = options.recurrent_activation};
}

template <typename T>
Rows<T> Scaled(const Rows<T>& rows, const std::vector<T>& scales) {
  Rows<T> scaled(rows.count, rows.width);
  for (int64_t r = 0; r < rows.count; ++r)
    for (int64_t w = 0; w < rows.width; ++w) scaled.row(r)[w] = rows.row(r)[w] * ScaleAt(scales, w);
  return scaled;
}

// Which of an LSTM's tensors are its bias and its projection. One that it does not have lies behind all of them.
struct LstmTensors {
  explicit LstmTensors(const LSTMOptions& options)
      : bias(options.use_bias ? 2 : 4),
        projection(options.proj_size == 0 ? 4
                   : options.use_bias     ? 3
                                          : 2) {}
  size_t bias, projection;
};

// Where the tensors of each node begin in canonical order, and where the last ones end.
std::vector<size_t> FirstTensors(const Spec& spec) {
  std::vector<size_t> first;
  size_t next = 0;
  for (const Node& node : spec.nodes) {
    first.push_back(next);
    next += CanonicalTensors(node).size();
  }
  first.push_back(next);
  return first;
}

template <typename T>
void CheckWeights(const Spec& spec, const Tensors<T>& weights) {
  const std::vector<TensorShape> wanted = CanonicalTensors(spec);
  PLIMSOLL_CHECK(weights.size() == wanted.size(), "weights must be the canonical tensors of the spec");
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t elements = 1;
    for (const int64_t extent : wanted[i].shape) elements *= extent;
    PLIMSOLL_CHECK(weights[i].name == wanted[i].name && weights[i].shape == wanted[i].shape,
                   "weights must have the names and shapes of the canonical tensors");
    PLIMSOLL_CHECK(static_cast<int64_t>(weights[i].values.size()) == elements,
                   "a weight must have as many values as its shape says");
  }
}

template <typename T>
int64_t ItemCount(const Spec& spec, const ReferenceSample<T>& sample) {
  return spec.per_step_targets ? sample.steps : 1;
}

template <typename T>
void CheckSample(const Spec& spec, const ReferenceSample<T>& sample) {
  PLIMSOLL_CHECK(sample.steps >= 1, "a sample must have at least one step");
  const int64_t items = ItemCount(spec, sample);
  if (spec.id_input) {
    PLIMSOLL_CHECK(static_cast<int64_t>(sample.ids.size()) == sample.steps, "a sample must have one id a step");
    for (const int32_t id : sample.ids) PLIMSOLL_CHECK(id >= 0 && id < spec.vocabulary, "ids must lie within the vocabulary");
  } else {
    PLIMSOLL_CHECK(static_cast<int64_t>(sample.features.size()) == sample.steps * spec.input_width,
                   "a sample must have one row of features a step");
  }
  if (spec.class_targets()) {
    PLIMSOLL_CHECK(static_cast<int64_t>(sample.classes.size()) == items, "a sample must have one class an item");
    for (const int32_t c : sample.classes)
      PLIMSOLL_CHECK(c >= 0 && c < spec.output_width, "classes must lie within the outputs");
  } else {
    PLIMSOLL_CHECK(static_cast<int64_t>(sample.values.size()) == items * spec.output_width,
                   "a sample must have one row of values an item");
  }
}

// One sample on its way through the model.
template <typename T>
class SamplePass {
 public:
  SamplePass(const Spec& spec, const Tensors<T>& weights, const ReferenceSample<T>& sample, const ReferenceDropout& dropout)
      : spec_(spec), weights_(weights), sample_(sample), dropout_(dropout), first_tensors_(FirstTensors(spec)) {
    CheckSample(spec, sample);
    const auto step_of = [&](int64_t t) { return spec.reversed ? sample.steps - 1 - t : t; };
    if (spec.id_input) {
      for (int64_t t = 0; t < sample.steps; ++t) ids_.push_back(sample.ids[static_cast<size_t>(step_of(t))]);
      return;
    }
    features_ = Rows<T>(sample.steps, spec.input_width);
    for (int64_t t = 0; t < sample.steps; ++t)
      for (int64_t w = 0; w < spec.input_width; ++w)
        features_.row(t)[w] = sample.features[static_cast<size_t>(step_of(t) * spec.input_width + w)];
  }

  void Forward();
  T LossSum();                           // over the items; leaves the gradient of the last node's output for Backward
  void Backward(Tensors<T>& gradients);  // adds to them
  const Rows<T>& output() const { return outputs_.back(); }

 private:
  const Rows<T>& InputOf(const Node& node, size_t which = 0) const {
    const int input = node.inputs[which];
    return input == kModelInput ? features_ : outputs_[static_cast<size_t>(input)];
  }
  std::vector<const Rows<T>*> InputsOf(const Node& node) const {
    std::vector<const Rows<T>*> ins;
    for (size_t i = 0; i < node.inputs.size(); ++i) ins.push_back(&InputOf(node, i));
    return ins;
  }
  // A bias that a layer does not have is empty.
  bool Has(size_t node, size_t which) const { return first_tensors_[node] + which < first_tensors_[node + 1]; }
  const std::vector<T>& Weight(size_t node, size_t which) const {
    return Has(node, which) ? weights_[first_tensors_[node] + which].values : none_;
  }
  std::vector<const T*> CustomWeights(size_t node) const {
    std::vector<const T*> weights;
    for (size_t i = 0; Has(node, i); ++i) weights.push_back(Weight(node, i).data());
    return weights;
  }
  static CustomForward<T> CustomRows(const Rows<T>& in, Rows<T>& out, const std::vector<const T*>& weights) {
    return {.rows = in.count,
            .inputs = in.width,
            .width = out.width,
            .x = in.values.data(),
            .x_stride = in.width,
            .y = out.values.data(),
            .y_stride = out.width,
            .weights = weights};
  }
  CrfScores<T> ScoresOf(size_t node) const { return {Weight(node, 0), Weight(node, 1), Weight(node, 2)}; }
  DropoutPlace PlaceOf(size_t node, bool spatial) const {
    return {.seed = dropout_.seed,
            .update = dropout_.update,
            .layer = static_cast<uint32_t>(node),
            .sample = static_cast<uint64_t>(sample_.number),
            .spatial = spatial};
  }
  DropoutPlace PlaceOf(size_t node) const { return PlaceOf(node, std::get<DropoutOptions>(spec_.nodes[node].kind).spatial); }
  // Inside a recurrent layer: of x, and of h before its products. Empty for all other layers.
  std::vector<T> InputScales(size_t node) const {
    return ScalesOf(node, 0, spec_.nodes[node].in_width, [](const auto& options) { return options.dropout; });
  }
  std::vector<T> StateScales(size_t node) const {
    return ScalesOf(node, 1, spec_.nodes[node].width, [](const auto& options) { return options.recurrent_dropout; });
  }
  template <typename RateOf>
  std::vector<T> ScalesOf(size_t node, int64_t step, int64_t width, const RateOf& rate_of) const {
    double rate = 0.0;
    std::visit(
        [&]<typename Options>(const Options& options) {
          if constexpr (RecurrentOptions<Options>) rate = dropout_.on ? rate_of(options) : 0.0;
        },
        spec_.nodes[node].kind);
    return RecurrentScales<T>(rate, PlaceOf(node, false), step, width);
  }
  double DropoutRate(const Node& node) const { return dropout_.on ? std::get<DropoutOptions>(node.kind).rate : 0.0; }

  const Spec& spec_;
  const Tensors<T>& weights_;
  const ReferenceSample<T>& sample_;
  const ReferenceDropout& dropout_;
  const std::vector<size_t> first_tensors_;
  std::vector<int32_t> ids_;             // the model's input, in the order in which it is read
  Rows<T> features_;                     // the same where it is not ids
  std::vector<Rows<T>> outputs_;         // a node each
  std::vector<Rows<T>> masked_;          // a node each: the input of a recurrent layer with dropout; empty for all others
  std::vector<LstmTape<T>> lstm_tapes_;  // a node each; empty for all but LSTM
  std::vector<GruTape<T>> gru_tapes_;    // the same of GRU
  const std::vector<T> none_;
  Rows<T> d_last_;
};

template <typename T>
void SamplePass<T>::Forward() {
  lstm_tapes_.resize(spec_.nodes.size());
  gru_tapes_.resize(spec_.nodes.size());
  masked_.resize(spec_.nodes.size());
  for (size_t n = 0; n < spec_.nodes.size(); ++n) {
    const Node& node = spec_.nodes[n];
    if (const std::vector<T> scales = InputScales(n); !scales.empty()) masked_[n] = Scaled(InputOf(node), scales);
    const Rows<T>& in = masked_[n].count > 0 ? masked_[n] : InputOf(node);
    const std::vector<T> h_scale = StateScales(n);
    Rows<T> out(node.per_step ? sample_.steps : 1, node.width);
    if (std::holds_alternative<EmbeddingOptions>(node.kind)) {
      EmbeddingForward(out, ids_, Weight(n, 0));
    } else if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
      const auto [bias, projection] = LstmTensors(*lstm);
      LstmForward(out, lstm_tapes_[n], in, Weight(n, 0), Weight(n, 1), Weight(n, bias), FunctionsOf(*lstm),
                  Weight(n, projection), h_scale);
    } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
      GruForward(out, gru_tapes_[n], in, Weight(n, 0), Weight(n, 1), Weight(n, 2), Weight(n, 3), gru->reset_after,
                 FunctionsOf(*gru), h_scale);
    } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
      RnnForward(out, in, Weight(n, 0), Weight(n, 1), Weight(n, 2), rnn->activation, h_scale);
    } else if (const auto* activation = std::get_if<ActivationOptions>(&node.kind)) {
      for (size_t i = 0; i < in.values.size(); ++i) out.values[i] = Activate(in.values[i], activation->activation);
    } else if (const auto* normalization = std::get_if<LayerNormalizationOptions>(&node.kind)) {
      NormalizeForward(out, in, Weight(n, 0), Weight(n, 1), static_cast<T>(normalization->epsilon));
    } else if (const auto* pooling = std::get_if<PoolingOptions>(&node.kind)) {
      PoolingForward(out, in, pooling->mode);
    } else if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
      DenseForward(out, in, Weight(n, 0), Weight(n, 1), dense->activation);
    } else if (const auto* merge = std::get_if<MergeOptions>(&node.kind)) {
      MergeForward(out, InputsOf(node), merge->mode);
    } else if (const auto* convolution = std::get_if<Conv1DOptions>(&node.kind)) {
      Conv1DForward(out, in, Weight(n, 0), Weight(n, 1), {convolution->kernel_size, convolution->dilation_rate},
                    convolution->activation);
    } else if (const auto* custom = std::get_if<CustomOptions>(&node.kind)) {
      const std::vector<const T*> weights = CustomWeights(n);
      custom->layer->Forward(CustomRows(in, out, weights));
    } else if (std::holds_alternative<CRFOptions>(node.kind)) {
      out = CrfAlphas(in, ScoresOf(n), /*normal=*/true);
    } else {
      DropoutForward(out, in, DropoutRate(node), PlaceOf(n));
    }
    outputs_.push_back(std::move(out));
  }
}

template <typename T>
T SamplePass<T>::LossSum() {
  const Rows<T>& out = output();
  d_last_ = Rows<T>(out.count, out.width);
  if (spec_.loss == Loss::Crf) {
    const size_t last = spec_.nodes.size() - 1;
    return CrfLoss(InputOf(spec_.nodes[last]), ScoresOf(last), sample_.classes);
  }
  T total = 0;
  for (int64_t r = 0; r < out.count; ++r) {
    T sum = 0, weight = sample_.weight;
    const auto smoothing = static_cast<T>(spec_.label_smoothing), delta = static_cast<T>(spec_.huber_delta);
    if (spec_.class_targets()) {
      const auto own = static_cast<size_t>(sample_.classes[static_cast<size_t>(r)]);
      if (!spec_.class_weight.empty()) weight *= static_cast<T>(spec_.class_weight[own]);
      total += weight * CrossEntropy(d_last_.row(r), out.row(r), sample_.classes[static_cast<size_t>(r)], out.width, smoothing);
      for (int64_t u = 0; u < out.width; ++u) d_last_.row(r)[u] *= weight;
      continue;
    }
    const T* targets = sample_.values.data() + r * out.width;
    if (spec_.loss == Loss::MeanAbsoluteError) {
      sum += MeanAbsoluteError(d_last_.row(r), out.row(r), targets, out.width);
    } else if (spec_.loss == Loss::Huber) {
      sum += Huber(d_last_.row(r), out.row(r), targets, out.width, delta);
    } else if (spec_.loss == Loss::Custom) {
      sum += spec_.custom_loss->Of(out.row(r), targets, out.width, d_last_.row(r));
    } else if (spec_.loss == Loss::BinaryCrossentropy) {
      sum += BinaryCrossEntropy(d_last_.row(r), out.row(r), targets, out.width, smoothing);
    } else {
      sum += MeanSquaredError(d_last_.row(r), out.row(r), targets, out.width);
    }
    total += weight * sum;
    for (int64_t u = 0; u < out.width; ++u) d_last_.row(r)[u] *= weight;
  }
  return total;
}

template <typename T>
void SamplePass<T>::Backward(Tensors<T>& gradients) {
  std::vector<Rows<T>> d_outputs;
  for (const Rows<T>& out : outputs_) d_outputs.emplace_back(out.count, out.width);
  d_outputs.back() = d_last_;
  for (size_t n = spec_.nodes.size(); n-- > 0;) {
    const Node& node = spec_.nodes[n];
    const bool masked = masked_[n].count > 0;
    const Rows<T>& in = masked ? masked_[n] : InputOf(node);
    const Rows<T>& out = outputs_[n];
    const std::vector<T> h_scale = StateScales(n);
    const Rows<T>& d_out = d_outputs[n];
    Rows<T> d_features(features_.count, features_.width);  // nobody wants it; layers write it all the same
    Rows<T>& d_below = node.inputs[0] == kModelInput ? d_features : d_outputs[static_cast<size_t>(node.inputs[0])];
    Rows<T> d_masked(masked_[n].count, masked_[n].width);
    Rows<T>& d_in = masked ? d_masked : d_below;
    std::vector<T> none;
    auto gradient = [&](size_t which) -> std::vector<T>& {
      return Has(n, which) ? gradients[first_tensors_[n] + which].values : none;
    };
    if (std::holds_alternative<EmbeddingOptions>(node.kind)) {
      EmbeddingBackward(gradient(0), d_out, ids_);
    } else if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
      const auto [bias, projection] = LstmTensors(*lstm);
      LstmBackward(d_in, gradient(0), gradient(1), gradient(bias), d_out, in, out, lstm_tapes_[n], Weight(n, 0), Weight(n, 1),
                   FunctionsOf(*lstm), Weight(n, projection), &gradient(projection), h_scale, spec_.truncate);
    } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
      GruBackward(d_in, gradient(0), gradient(1), gradient(2), gradient(3), d_out, in, out, gru_tapes_[n], Weight(n, 0),
                  Weight(n, 1), gru->reset_after, FunctionsOf(*gru), h_scale, spec_.truncate);
    } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
      RnnBackward(d_in, gradient(0), gradient(1), gradient(2), d_out, in, out, Weight(n, 0), Weight(n, 1), rnn->activation,
                  h_scale, spec_.truncate);
    } else if (const auto* activation = std::get_if<ActivationOptions>(&node.kind)) {
      for (size_t i = 0; i < out.values.size(); ++i) {
        d_in.values[i] += d_out.values[i] * ActivationSlope(out.values[i], activation->activation);
      }
    } else if (const auto* normalization = std::get_if<LayerNormalizationOptions>(&node.kind)) {
      NormalizeBackward(d_in, gradient(0), gradient(1), d_out, in, Weight(n, 0), static_cast<T>(normalization->epsilon));
    } else if (const auto* pooling = std::get_if<PoolingOptions>(&node.kind)) {
      PoolingBackward(d_in, d_out, in, pooling->mode);
    } else if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
      DenseBackward(d_in, gradient(0), gradient(1), d_out, in, out, Weight(n, 0), dense->activation);
    } else if (const auto* merge = std::get_if<MergeOptions>(&node.kind)) {
      std::vector<Rows<T>*> d_ins;
      for (const int input : node.inputs) {
        d_ins.push_back(input == kModelInput ? nullptr : &d_outputs[static_cast<size_t>(input)]);
      }
      MergeBackward(d_ins, d_out, InputsOf(node), merge->mode);
    } else if (const auto* convolution = std::get_if<Conv1DOptions>(&node.kind)) {
      Conv1DBackward(d_in, gradient(0), gradient(1), d_out, in, out, Weight(n, 0),
                     {convolution->kernel_size, convolution->dilation_rate}, convolution->activation);
    } else if (const auto* custom = std::get_if<CustomOptions>(&node.kind)) {
      const std::vector<const T*> weights = CustomWeights(n);
      std::vector<T*> d_weights;
      for (size_t i = 0; Has(n, i); ++i) d_weights.push_back(gradient(i).data());
      Rows<T> given = out, own(in.count, in.width);
      custom->layer->Backward(CustomBackward<T>{.forward = CustomRows(in, given, weights),
                                                .d_y = d_out.values.data(),
                                                .d_y_stride = d_out.width,
                                                .d_x = own.values.data(),
                                                .d_x_stride = own.width,
                                                .d_weights = d_weights});
      for (size_t i = 0; i < own.values.size(); ++i) d_in.values[i] += own.values[i];
    } else if (std::holds_alternative<CRFOptions>(node.kind)) {
      CrfBackward(d_in, gradient(0), gradient(1), gradient(2), in, ScoresOf(n), sample_.classes);
    } else {
      DropoutBackward(d_in, d_out, DropoutRate(node), PlaceOf(n));
    }
    if (masked) {
      const Rows<T> scaled = Scaled(d_masked, InputScales(n));
      for (size_t i = 0; i < scaled.values.size(); ++i) d_below.values[i] += scaled.values[i];
    }
  }
}

template <typename T>
int64_t CountItems(const Spec& spec, const std::vector<ReferenceSample<T>>& batch) {
  PLIMSOLL_CHECK(!batch.empty(), "a batch must have at least one sample");
  int64_t items = 0;
  for (const ReferenceSample<T>& sample : batch) items += ItemCount(spec, sample);
  return items;
}

// l1 sum |w| + l2 sum w^2 over all tensors with such a factor.
template <typename T>
T Penalty(const Spec& spec, const Tensors<T>& weights) {
  const std::vector<TensorShape> tensors = CanonicalTensors(spec);
  T sum = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (const T weight : weights[i].values) {
      sum += static_cast<T>(tensors[i].l1) * std::abs(weight) + static_cast<T>(tensors[i].l2) * weight * weight;
    }
  }
  return sum;
}

template <typename T>
void AddPenaltyGradients(Tensors<T>& gradients, const Spec& spec, const Tensors<T>& weights) {
  const std::vector<TensorShape> tensors = CanonicalTensors(spec);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const T l1 = static_cast<T>(tensors[i].l1), l2 = static_cast<T>(tensors[i].l2);
    for (size_t e = 0; e < weights[i].values.size(); ++e) {
      const T weight = weights[i].values[e];
      const T sign = weight > T(0) ? T(1) : weight < T(0) ? T(-1) : T(0);
      gradients[i].values[e] += l1 * sign + T(2) * l2 * weight;
    }
  }
}

}  // namespace

template <typename T>
ReferenceResult<T> ReferenceStep(const Spec& spec, const std::vector<ReferenceTensor<T>>& weights,
                                 const std::vector<ReferenceSample<T>>& batch, const ReferenceDropout& dropout) {
  CheckWeights(spec, weights);
  ReferenceResult<T> result;
  for (const ReferenceTensor<T>& weight : weights)
    result.gradients.push_back({weight.name, weight.shape, std::vector<T>(weight.values.size())});
  for (const ReferenceSample<T>& sample : batch) {
    SamplePass<T> pass(spec, weights, sample, dropout);
    pass.Forward();
    result.loss += pass.LossSum();
    pass.Backward(result.gradients);
    result.outputs.push_back(pass.output().values);
  }
  const T items = static_cast<T>(CountItems(spec, batch));
  result.loss = result.loss / items + Penalty(spec, weights);
  for (ReferenceTensor<T>& gradient : result.gradients)
    for (T& value : gradient.values) value /= items;
  AddPenaltyGradients(result.gradients, spec, weights);
  return result;
}

template <typename T>
T ReferenceLoss(const Spec& spec, const std::vector<ReferenceTensor<T>>& weights, const std::vector<ReferenceSample<T>>& batch,
                const ReferenceDropout& dropout) {
  CheckWeights(spec, weights);
  T sum = 0;
  for (const ReferenceSample<T>& sample : batch) {
    SamplePass<T> pass(spec, weights, sample, dropout);
    pass.Forward();
    sum += pass.LossSum();
  }
  return sum / static_cast<T>(CountItems(spec, batch)) + Penalty(spec, weights);
}

template ReferenceResult<float> ReferenceStep(const Spec&, const std::vector<ReferenceTensor<float>>&,
                                              const std::vector<ReferenceSample<float>>&, const ReferenceDropout&);
template ReferenceResult<double> ReferenceStep(const Spec&, const std::vector<ReferenceTensor<double>>&,
                                               const std::vector<ReferenceSample<double>>&, const ReferenceDropout&);
template float ReferenceLoss(const Spec&, const std::vector<ReferenceTensor<float>>&,
                             const std::vector<ReferenceSample<float>>&, const ReferenceDropout&);
template double ReferenceLoss(const Spec&, const std::vector<ReferenceTensor<double>>&,
                              const std::vector<ReferenceSample<double>>&, const ReferenceDropout&);

}  // namespace plimsoll
