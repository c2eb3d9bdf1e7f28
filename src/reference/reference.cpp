// reference: one sample at a time through the nodes, loss, and the same nodes in reverse.
#include "reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

#include "base/check.h"
#include "model/layer_kinds.h"
#include "plimsoll/custom.h"
#include "reference/conv1d.h"
#include "reference/crf.h"
#include "reference/ctc.h"
#include "reference/dense.h"
#include "reference/dropout.h"
#include "reference/embedding.h"
#include "reference/gru.h"
#include "reference/loss.h"
#include "reference/lstm.h"
#include "reference/merge.h"
#include "reference/normalize.h"
#include "reference/normalized_lstm.h"
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

// The same of one with layer_normalization, whose six vectors begin at `norm`.
struct NormalizedTensors {
  explicit NormalizedTensors(const LSTMOptions& options) : bias(options.use_bias ? 2 : 8), norm(options.use_bias ? 3 : 2) {}
  size_t bias, norm;
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
int64_t ItemCount(const ModelOutput& output, const ReferenceSample<T>& sample) {
  return output.per_step ? sample.steps : 1;
}

template <typename T>
void CheckSample(const Spec& spec, const ReferenceSample<T>& sample) {
  PLIMSOLL_CHECK(sample.steps >= 1, "a sample must have at least one step");
  if (spec.id_input) {
    PLIMSOLL_CHECK(static_cast<int64_t>(sample.ids.size()) == sample.steps, "a sample must have one id a step");
    for (const int32_t id : sample.ids) PLIMSOLL_CHECK(id >= 0 && id < spec.vocabulary, "ids must lie within the vocabulary");
  } else {
    PLIMSOLL_CHECK(static_cast<int64_t>(sample.features.size()) == sample.steps * spec.input_width,
                   "a sample must have one row of features a step");
  }
  PLIMSOLL_CHECK(sample.targets.size() == spec.outputs.size(), "a sample must have targets for every output");
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const ModelOutput& output = spec.outputs[i];
    const ReferenceTargets<T>& targets = sample.targets[i];
    const int64_t items = ItemCount(output, sample);
    if (output.loss == Loss::Ctc) {
      PLIMSOLL_CHECK(!targets.classes.empty() && CtcStepsOf(targets.classes) <= sample.steps,
                     "a sample must have labels, and steps enough for them");
      for (const int32_t c : targets.classes)
        PLIMSOLL_CHECK(c >= 1 && c < output.width, "labels must lie within the outputs, and none is the blank");
    } else if (output.class_targets()) {
      PLIMSOLL_CHECK(static_cast<int64_t>(targets.classes.size()) == items, "a sample must have one class an item");
      for (const int32_t c : targets.classes) PLIMSOLL_CHECK(c >= 0 && c < output.width, "classes must lie within the outputs");
    } else {
      PLIMSOLL_CHECK(static_cast<int64_t>(targets.values.size()) == items * output.width,
                     "a sample must have one row of values an item");
    }
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
  // Over the items of all outputs, each times its scale; leaves the gradients of the outputs for Backward.
  T LossSum(const std::vector<T>& scales);
  void Backward(Tensors<T>& gradients);  // adds to them
  // Of each output; of CTC what it reads.
  std::vector<T> outputs() const {
    std::vector<T> all;
    for (const ModelOutput& output : spec_.outputs) {
      const auto node = static_cast<size_t>(output.node);
      const std::vector<T>& values = output.loss == Loss::Ctc ? InputOf(spec_.nodes[node]).values : outputs_[node].values;
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

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
  // Where a Dense finds its kernel and its bias: both in itself, or the kernel in the table that it is tied to.
  size_t KernelNode(size_t node) const {
    const int table = spec_.nodes[node].table;
    return table == kNoTable ? node : static_cast<size_t>(table);
  }
  size_t DenseBias(size_t node) const { return spec_.nodes[node].table == kNoTable ? 1 : 0; }
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
  // What State begins with: h, and then c; empty: zeros.
  std::vector<T> StartOf(const Node& node) const {
    if (node.state_place < 0 || sample_.start.empty()) return {};
    const auto* lstm = std::get_if<LSTMOptions>(&node.kind);
    const auto begin = sample_.start.begin() + node.state_place;
    return {begin, begin + node.width + (lstm != nullptr ? lstm->units : 0)};
  }
  // What a pooling of State reads beside h; null: nothing.
  const Rows<T>* CellsRead(const Node& node) const {
    if (std::get<PoolingOptions>(node.kind).mode != PoolingMode::State) return nullptr;
    const auto of = static_cast<size_t>(node.inputs[0]);
    const Rows<T>& cells = NormalizedLstm(spec_.nodes[of]) != nullptr ? normalized_tapes_[of].cells : lstm_tapes_[of].cells;
    return cells.count > 0 ? &cells : nullptr;
  }
  // Null: not an LSTM with layer_normalization.
  static const LSTMOptions* NormalizedLstm(const Node& node) {
    const auto* lstm = std::get_if<LSTMOptions>(&node.kind);
    return lstm != nullptr && lstm->layer_normalization ? lstm : nullptr;
  }
  NormalizedLstmWeights<T> NormalizedWeights(size_t n) const {
    const auto [bias, norm] = NormalizedTensors(*NormalizedLstm(spec_.nodes[n]));
    return {Weight(n, 0),        Weight(n, 1),        Weight(n, bias),     Weight(n, norm),    Weight(n, norm + 1),
            Weight(n, norm + 2), Weight(n, norm + 3), Weight(n, norm + 4), Weight(n, norm + 5)};
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
  T LossOf(size_t number);
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
  std::vector<NormalizedLstmTape<T>> normalized_tapes_;  // the same of LSTM with layer_normalization
  const std::vector<T> none_;
  std::vector<Rows<T>> d_losses_;  // an output each
};

template <typename T>
void SamplePass<T>::Forward() {
  lstm_tapes_.resize(spec_.nodes.size());
  gru_tapes_.resize(spec_.nodes.size());
  normalized_tapes_.resize(spec_.nodes.size());
  masked_.resize(spec_.nodes.size());
  for (size_t n = 0; n < spec_.nodes.size(); ++n) {
    const Node& node = spec_.nodes[n];
    if (const std::vector<T> scales = InputScales(n); !scales.empty()) masked_[n] = Scaled(InputOf(node), scales);
    const Rows<T>& in = masked_[n].count > 0 ? masked_[n] : InputOf(node);
    const std::vector<T> h_scale = StateScales(n);
    Rows<T> out(node.per_step ? sample_.steps : 1, node.width);
    if (std::holds_alternative<EmbeddingOptions>(node.kind)) {
      EmbeddingForward(out, ids_, Weight(n, 0));
    } else if (const LSTMOptions* normalized = NormalizedLstm(node)) {
      NormalizedLstmForward(out, normalized_tapes_[n], in, NormalizedWeights(n), static_cast<T>(normalized->epsilon),
                            FunctionsOf(*normalized), StartOf(node));
    } else if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
      const auto [bias, projection] = LstmTensors(*lstm);
      LstmForward(out, lstm_tapes_[n], in, Weight(n, 0), Weight(n, 1), Weight(n, bias), FunctionsOf(*lstm),
                  Weight(n, projection), h_scale, StartOf(node));
    } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
      GruForward(out, gru_tapes_[n], in, Weight(n, 0), Weight(n, 1), Weight(n, 2), Weight(n, 3), gru->reset_after,
                 FunctionsOf(*gru), h_scale, StartOf(node));
    } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
      RnnForward(out, in, Weight(n, 0), Weight(n, 1), Weight(n, 2), rnn->activation, h_scale, StartOf(node));
    } else if (const auto* activation = std::get_if<ActivationOptions>(&node.kind)) {
      for (size_t i = 0; i < in.values.size(); ++i) out.values[i] = Activate(in.values[i], activation->activation);
    } else if (const auto* normalization = std::get_if<LayerNormalizationOptions>(&node.kind)) {
      NormalizeForward(out, in, Weight(n, 0), Weight(n, 1), static_cast<T>(normalization->epsilon));
    } else if (const auto* pooling = std::get_if<PoolingOptions>(&node.kind)) {
      PoolingForward(out, in, pooling->mode);
      if (const Rows<T>* cells = CellsRead(node); cells != nullptr)
        std::copy_n(cells->row(cells->count - 1), cells->width, out.row(0) + in.width);
    } else if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
      DenseForward(out, in, Weight(KernelNode(n), 0), Weight(n, DenseBias(n)), dense->activation);
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
    } else if (std::holds_alternative<CTCOptions>(node.kind)) {
      out = {};  // the loss is all that it gives
    } else {
      DropoutForward(out, in, DropoutRate(node), PlaceOf(n));
    }
    outputs_.push_back(std::move(out));
  }
}

template <typename T>
T SamplePass<T>::LossSum(const std::vector<T>& scales) {
  T sum = 0;
  for (size_t i = 0; i < spec_.outputs.size(); ++i) {
    sum += scales[i] * LossOf(i);
    for (T& value : d_losses_[i].values) value *= scales[i];
  }
  return sum;
}

template <typename T>
T SamplePass<T>::LossOf(size_t number) {
  const ModelOutput& output = spec_.outputs[number];
  const ReferenceTargets<T>& wanted = sample_.targets[number];
  const Rows<T>& out = outputs_[static_cast<size_t>(output.node)];
  Rows<T>& d_out = d_losses_.emplace_back(out.count, out.width);
  if (output.loss == Loss::Crf) {
    const auto last = static_cast<size_t>(output.node);
    return CrfLoss(InputOf(spec_.nodes[last]), ScoresOf(last), wanted.classes);
  }
  if (output.loss == Loss::Ctc) {
    return sample_.weight * CtcLoss(InputOf(spec_.nodes[static_cast<size_t>(output.node)]), wanted.classes);
  }
  T total = 0;
  for (int64_t r = 0; r < out.count; ++r) {
    T sum = 0, weight = sample_.weight;
    const auto smoothing = static_cast<T>(spec_.label_smoothing), delta = static_cast<T>(spec_.huber_delta);
    if (output.class_targets()) {
      const int32_t own = wanted.classes[static_cast<size_t>(r)];
      if (!spec_.class_weight.empty()) weight *= static_cast<T>(spec_.class_weight[static_cast<size_t>(own)]);
      total += weight * CrossEntropy(d_out.row(r), out.row(r), own, out.width, smoothing);
      for (int64_t u = 0; u < out.width; ++u) d_out.row(r)[u] *= weight;
      continue;
    }
    const T* targets = wanted.values.data() + r * out.width;
    if (output.loss == Loss::MeanAbsoluteError) {
      sum += MeanAbsoluteError(d_out.row(r), out.row(r), targets, out.width);
    } else if (output.loss == Loss::Huber) {
      sum += Huber(d_out.row(r), out.row(r), targets, out.width, delta);
    } else if (output.loss == Loss::Custom) {
      sum += spec_.custom_loss->Of(out.row(r), targets, out.width, d_out.row(r));
    } else if (output.loss == Loss::BinaryCrossentropy) {
      sum += BinaryCrossEntropy(d_out.row(r), out.row(r), targets, out.width, smoothing);
    } else {
      sum += MeanSquaredError(d_out.row(r), out.row(r), targets, out.width);
    }
    total += weight * sum;
    for (int64_t u = 0; u < out.width; ++u) d_out.row(r)[u] *= weight;
  }
  return total;
}

template <typename T>
void SamplePass<T>::Backward(Tensors<T>& gradients) {
  std::vector<Rows<T>> d_outputs;
  for (const Rows<T>& out : outputs_) d_outputs.emplace_back(out.count, out.width);
  for (size_t i = 0; i < spec_.outputs.size(); ++i) d_outputs[static_cast<size_t>(spec_.outputs[i].node)] = d_losses_[i];
  std::vector<std::vector<T>> d_last_cells(spec_.nodes.size());  // of an LSTM whose c somebody has read
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
    } else if (const LSTMOptions* normalized = NormalizedLstm(node)) {
      const auto [bias, norm] = NormalizedTensors(*normalized);
      NormalizedLstmBackward(d_in,
                             {gradient(0), gradient(1), gradient(bias), gradient(norm), gradient(norm + 1), gradient(norm + 2),
                              gradient(norm + 3), gradient(norm + 4), gradient(norm + 5)},
                             d_out, in, out, normalized_tapes_[n], NormalizedWeights(n), static_cast<T>(normalized->epsilon),
                             FunctionsOf(*normalized), spec_.truncate, StartOf(node), d_last_cells[n]);
    } else if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
      const auto [bias, projection] = LstmTensors(*lstm);
      LstmBackward(d_in, gradient(0), gradient(1), gradient(bias), d_out, in, out, lstm_tapes_[n], Weight(n, 0), Weight(n, 1),
                   FunctionsOf(*lstm), Weight(n, projection), &gradient(projection), h_scale, spec_.truncate, StartOf(node),
                   d_last_cells[n]);
    } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
      GruBackward(d_in, gradient(0), gradient(1), gradient(2), gradient(3), d_out, in, out, gru_tapes_[n], Weight(n, 0),
                  Weight(n, 1), gru->reset_after, FunctionsOf(*gru), h_scale, spec_.truncate, StartOf(node));
    } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
      RnnBackward(d_in, gradient(0), gradient(1), gradient(2), d_out, in, out, Weight(n, 0), Weight(n, 1), rnn->activation,
                  h_scale, spec_.truncate, StartOf(node));
    } else if (const auto* activation = std::get_if<ActivationOptions>(&node.kind)) {
      for (size_t i = 0; i < out.values.size(); ++i) {
        d_in.values[i] += d_out.values[i] * ActivationSlope(out.values[i], activation->activation);
      }
    } else if (const auto* normalization = std::get_if<LayerNormalizationOptions>(&node.kind)) {
      NormalizeBackward(d_in, gradient(0), gradient(1), d_out, in, Weight(n, 0), static_cast<T>(normalization->epsilon));
    } else if (const auto* pooling = std::get_if<PoolingOptions>(&node.kind)) {
      PoolingBackward(d_in, d_out, in, pooling->mode);
      if (const Rows<T>* cells = CellsRead(node); cells != nullptr) {
        std::vector<T>& d_cell = d_last_cells[static_cast<size_t>(node.inputs[0])];
        d_cell.resize(static_cast<size_t>(cells->width));
        for (int64_t u = 0; u < cells->width; ++u) d_cell[u] += d_out.row(0)[in.width + u];
      }
    } else if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
      std::vector<T>& d_kernel = gradients[first_tensors_[KernelNode(n)]].values;
      DenseBackward(d_in, d_kernel, gradient(DenseBias(n)), d_out, in, out, Weight(KernelNode(n), 0), dense->activation);
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
      CrfBackward(d_in, gradient(0), gradient(1), gradient(2), in, ScoresOf(n), sample_.targets[0].classes);
    } else if (std::holds_alternative<CTCOptions>(node.kind)) {
      CtcBackward(d_in, in, sample_.targets[0].classes, sample_.weight);
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
int64_t CountItems(const ModelOutput& output, const std::vector<ReferenceSample<T>>& batch) {
  PLIMSOLL_CHECK(!batch.empty(), "a batch must have at least one sample");
  int64_t items = 0;
  for (const ReferenceSample<T>& sample : batch) items += ItemCount(output, sample);
  return items;
}

// What an output's sums are multiplied with before all are divided by the items of the first: its weight, for as many items.
template <typename T>
std::vector<T> OutputScales(const Spec& spec, const std::vector<ReferenceSample<T>>& batch) {
  std::vector<T> scales;
  for (const ModelOutput& output : spec.outputs) {
    const T share = static_cast<T>(CountItems(spec.output(), batch)) / static_cast<T>(CountItems(output, batch));
    scales.push_back(static_cast<T>(output.weight) * share);
  }
  return scales;
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
  const std::vector<T> scales = OutputScales(spec, batch);
  for (const ReferenceSample<T>& sample : batch) {
    SamplePass<T> pass(spec, weights, sample, dropout);
    pass.Forward();
    result.loss += pass.LossSum(scales);
    pass.Backward(result.gradients);
    result.outputs.push_back(pass.outputs());
  }
  const T items = static_cast<T>(CountItems(spec.output(), batch));
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
  const std::vector<T> scales = OutputScales(spec, batch);
  T sum = 0;
  for (const ReferenceSample<T>& sample : batch) {
    SamplePass<T> pass(spec, weights, sample, dropout);
    pass.Forward();
    sum += pass.LossSum(scales);
  }
  return sum / static_cast<T>(CountItems(spec.output(), batch)) + Penalty(spec, weights);
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
