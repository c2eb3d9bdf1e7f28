// spec: reads the layer list once from front to back and decides what the job left open.
//   The builder below carries what the next layer sees (its width, and whether there is one row a step or one a sample).
//   A resolved recurrent layer keeps the user's meaning in return_sequences (false: a NAME_last node follows); the node itself
//   always gives one row a step.
#include "model/spec.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

#include "layers/activation_names.h"
#include "model/layer_kinds.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxWidth = 65536;
constexpr int64_t kMaxIds = std::numeric_limits<int32_t>::max();

const char* TypeName(const LayerKind& kind) {
  constexpr const char* kNames[] = {"Embedding",          "LSTM",   "GRU", "SimpleRNN", "Pooling", "Dense", "Activation",
                                    "LayerNormalization", "Dropout"};  // as the variant lists them
  static_assert(std::variant_size_v<LayerKind> == std::size(kNames));
  return kNames[kind.index()];
}

Loss LossOf(const Job& job) {
  if (job.train.loss != Loss::Auto) return job.train.loss;
  return job.task == Task::Classify ? Loss::SparseCategoricalCrossentropy : Loss::MeanSquaredError;
}

std::string LowerCaseName(const LayerKind& kind) {
  std::string name = TypeName(kind);
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

class SpecBuilder {
 public:
  SpecBuilder(const Job& job, const SampleShape& shape)
      : job_(job),
        shape_(shape),
        layer_count_(job.layers.size()),
        vocabulary_(std::max(job.data.vocabulary, shape.vocabulary)) {}

  Result<Spec> Build();

 private:
  Status CheckTask() const;
  Status CheckLoss() const;
  Status NameLayers();
  Status CheckEnds() const;
  Status Add(const EmbeddingOptions& asked);
  template <RecurrentOptions Options>
  Status Add(const Options& asked);
  Status Add(const PoolingOptions& asked);
  Status Add(const DenseOptions& asked);
  Status Add(const ActivationOptions& asked);
  Status Add(const LayerNormalizationOptions& asked);
  Status Add(const DropoutOptions& asked);
  Status CheckHead(int64_t units, Activation activation) const;
  Status CheckRows() const;

  bool AnyLaterLayerReadsSteps() const;
  void Append(std::string name, const LayerKind& kind, int64_t width);
  Status CheckWidth(const char* key, int64_t width) const;
  // "layer 2 "lstm_1" (LSTM)": how messages call a layer.
  std::string Called(size_t layer) const {
    return fmt::format("layer {} \"{}\" ({})", layer + 1, names_[layer], TypeName(job_.layers[layer].kind));
  }
  Status Refuse(const std::string& what, std::string hint) const {
    return Status::Usage(fmt::format("{}: {}", Called(at_), what), std::move(hint));
  }
  // How to undo the pooling that layer pooled_by_ does.
  std::string UndoPooling() const;

  const Job& job_;
  const SampleShape& shape_;
  const size_t layer_count_;
  const int64_t vocabulary_;
  std::vector<std::string> names_;  // of the job's layers
  size_t at_ = 0;                   // the layer that is being added
  size_t pooled_by_ = 0;            // the layer that went from steps to one row a sample; valid when !per_step_
  int64_t width_ = 0;               // what the next layer sees
  bool per_step_ = true;
  Spec spec_;
};

Result<Spec> SpecBuilder::Build() {
  PLIMSOLL_CHECK(shape_.width >= 1 && shape_.target_width >= 1,
                 "the data must have been opened before a model is made for them");
  PLIMSOLL_RETURN_IF_ERROR(CheckTask());
  PLIMSOLL_RETURN_IF_ERROR(CheckLoss());
  PLIMSOLL_RETURN_IF_ERROR(NameLayers());
  PLIMSOLL_RETURN_IF_ERROR(CheckEnds());

  spec_.id_input = shape_.ids;
  spec_.input_width = shape_.ids ? 1 : shape_.width;
  spec_.per_step_targets = shape_.target_per_step;
  spec_.loss = LossOf(job_);
  spec_.label_smoothing = job_.train.label_smoothing;
  spec_.huber_delta = job_.train.huber_delta;
  width_ = spec_.input_width;
  for (at_ = 0; at_ < layer_count_; ++at_)
    PLIMSOLL_RETURN_IF_ERROR(std::visit([this](const auto& asked) { return Add(asked); }, job_.layers[at_].kind));

  PLIMSOLL_RETURN_IF_ERROR(CheckRows());
  spec_.output_width = width_;
  return std::move(spec_);
}

Status SpecBuilder::CheckTask() const {
  if (job_.layers.empty())
    return Status::Usage(
        "the model has no layers; wanted at least a Dense as the last one",
        fmt::format("for example:\n[model]\nlayers = [{}{{type = \"LSTM\", units = 64}}, {{type = \"Dense\"}}]",
                    shape_.ids ? "{type = \"Embedding\", output_dim = 64}, " : ""));
  if (job_.task == Task::Classify && !shape_.target_classes)
    return Status::Usage("task \"classify\" needs class numbers as targets, but the data's targets are values",
                         "set task = \"regress\", or give whole class numbers as targets");
  if (job_.task == Task::Regress && shape_.target_classes)
    return Status::Usage("task \"regress\" needs values as targets, but the data's targets are class numbers",
                         "set task = \"classify\", or give values as targets");
  if (job_.data.vocabulary < 0 || job_.data.vocabulary > kMaxIds)
    return Status::Usage(fmt::format("data.vocabulary = {}, wanted 1 to {}, or 0", job_.data.vocabulary, kMaxIds),
                         "leave data.vocabulary out to take it from the data");
  return Status::Ok();
}

Status SpecBuilder::CheckLoss() const {
  const TrainOptions& train = job_.train;
  const Loss loss = LossOf(job_);
  if ((loss == Loss::SparseCategoricalCrossentropy) != (job_.task == Task::Classify))
    return Status::Usage(
        fmt::format("train.loss does not go with task \"{}\"; wanted {}", job_.task == Task::Classify ? "classify" : "regress",
                    job_.task == Task::Classify ? "sparse_categorical_crossentropy"
                                                : "mean_squared_error, mean_absolute_error, huber or binary_crossentropy"),
        "leave train.loss out, or change the task");
  const bool entropy = loss == Loss::SparseCategoricalCrossentropy || loss == Loss::BinaryCrossentropy;
  if (train.label_smoothing > 0.0 && !entropy)
    return Status::Usage(
        fmt::format("train.label_smoothing = {}: a setting of the crossentropies alone", train.label_smoothing),
        "leave it out, or choose another loss");
  if (train.huber_delta != TrainOptions().huber_delta && loss != Loss::Huber)
    return Status::Usage(fmt::format("train.huber_delta = {}: a setting of loss huber alone", train.huber_delta),
                         "leave it out, or set train.loss = \"huber\"");
  return Status::Ok();
}

// As Keras counts: lstm, lstm_1, lstm_2. A name that the user gave to some layer is not used for another.
Status SpecBuilder::NameLayers() {
  std::set<std::string> taken;
  for (const LayerOptions& layer : job_.layers) taken.insert(layer.name);
  std::vector<int> counters(std::variant_size_v<LayerKind>, 0);
  for (const LayerOptions& layer : job_.layers) {
    std::string name = layer.name;
    while (name.empty()) {
      const int count = counters[layer.kind.index()]++;
      const std::string next = count == 0 ? LowerCaseName(layer.kind) : fmt::format("{}_{}", LowerCaseName(layer.kind), count);
      if (!taken.contains(next)) name = next;
    }
    names_.push_back(name);
  }
  for (size_t later = 1; later < layer_count_; ++later)
    for (size_t earlier = 0; earlier < later; ++earlier)
      if (names_[earlier] == names_[later])
        return Status::Usage(fmt::format("{} has the name of {}; wanted a name of its own", Called(later), Called(earlier)),
                             "give one of them another name, or leave the name out");
  return Status::Ok();
}

Status SpecBuilder::CheckEnds() const {
  const bool embeds_first = std::holds_alternative<EmbeddingOptions>(job_.layers.front().kind);
  if (shape_.ids && !embeds_first)
    return Status::Usage(fmt::format("{} is the first layer, but the inputs are ids; ids need an Embedding first", Called(0)),
                         "put {type = \"Embedding\", output_dim = 64} before it");
  if (!shape_.ids && embeds_first)
    return Status::Usage(fmt::format("{} looks up ids, but the inputs are features ({} a step)", Called(0), shape_.width),
                         "remove the Embedding, or store the inputs as whole numbers of shape (samples, steps)");
  if (!std::holds_alternative<DenseOptions>(job_.layers.back().kind))
    return Status::Usage(fmt::format("{} is the last layer; the last layer must be a Dense, which gives the {}",
                                     Called(layer_count_ - 1), job_.task == Task::Classify ? "classes" : "values"),
                         "add {type = \"Dense\"} behind it; its width comes from the task");
  return Status::Ok();
}

Status SpecBuilder::Add(const EmbeddingOptions& asked) {
  if (at_ != 0)
    return Refuse("an Embedding looks up ids and can only be the first layer",
                  fmt::format("remove it, or make it a Dense with units = {}", asked.output_dim));
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("output_dim", asked.output_dim));
  if (asked.input_dim < 0 || asked.input_dim > kMaxIds)
    return Refuse(fmt::format("input_dim = {}, wanted 1 to {}, or 0 for the data's vocabulary", asked.input_dim, kMaxIds),
                  "leave input_dim out to take it from the data");
  if (asked.input_dim == 0 && vocabulary_ == 0)
    return Refuse("input_dim = 0 takes the data's vocabulary, which is not known; wanted the number of ids",
                  "set input_dim or data.vocabulary");
  const int64_t ids = asked.input_dim == 0 ? vocabulary_ : asked.input_dim;
  if (shape_.vocabulary > ids)
    return Status::Data(fmt::format("{}: the data hold the id {}, but input_dim = {} allows 0 to {}", Called(at_),
                                    shape_.vocabulary - 1, ids, ids - 1),
                        fmt::format("set input_dim to {} or more, or leave it out", shape_.vocabulary));
  if (job_.data.vocabulary > ids)
    return Refuse(fmt::format("input_dim = {} is smaller than data.vocabulary = {}", ids, job_.data.vocabulary),
                  "make them equal, or leave one of them out");
  spec_.vocabulary = ids;
  Append(names_[at_], EmbeddingOptions{.input_dim = ids, .output_dim = asked.output_dim}, asked.output_dim);
  return Status::Ok();
}

template <RecurrentOptions Options>
Status SpecBuilder::Add(const Options& asked) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("units", asked.units));
  if (!per_step_)
    return Refuse(fmt::format("a recurrent layer needs one row a step, but {} gives one row a sample", Called(pooled_by_)),
                  UndoPooling());
  bool softmax = asked.activation == Activation::Softmax;
  if constexpr (requires { asked.recurrent_activation; }) {
    softmax = softmax || asked.recurrent_activation == Activation::Softmax;
  }
  if (softmax)
    return Refuse("\"softmax\" inside a recurrent layer, wanted a function of one number", "tanh and sigmoid are usual");
  const bool sequences = asked.return_sequences.value_or(shape_.target_per_step || AnyLaterLayerReadsSteps());
  const std::string& name = names_[at_];
  Options resolved = asked;
  resolved.return_sequences = sequences;
  Append(name, resolved, asked.units);
  if (sequences) return Status::Ok();

  const std::string last_name = name + "_last";
  const auto clash = std::find(names_.begin(), names_.end(), last_name);
  if (clash != names_.end())
    return Refuse(fmt::format("its last state is called \"{}\", but so is {}", last_name,
                              Called(static_cast<size_t>(clash - names_.begin()))),
                  "give one of them another name");
  per_step_ = false;
  pooled_by_ = at_;
  Append(last_name, PoolingOptions{.mode = PoolingMode::Last}, width_);
  return Status::Ok();
}

Status SpecBuilder::Add(const PoolingOptions& asked) {
  if (!per_step_)
    return Refuse(fmt::format("a Pooling needs one row a step, but {} gives one row a sample", Called(pooled_by_)),
                  UndoPooling());
  per_step_ = false;
  pooled_by_ = at_;
  Append(names_[at_], asked, width_);
  return Status::Ok();
}

Status SpecBuilder::Add(const DenseOptions& asked) {
  const bool is_head = at_ + 1 == layer_count_;
  int64_t units = asked.units;
  if (is_head && units == 0) {
    units = job_.task == Task::Classify ? shape_.classes : shape_.target_width;
    if (units == 0)
      return Refuse("units = 0 takes the number of classes, which is not known; wanted a number", "set units on this layer");
  }
  if (units == 0)
    return Refuse(fmt::format("units = 0, wanted 1 to {}; only the last layer takes its width from the task", kMaxWidth),
                  "set units on this layer");
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("units", units));
  if (is_head) {
    PLIMSOLL_RETURN_IF_ERROR(CheckHead(units, asked.activation));
  } else if (asked.activation == Activation::Softmax) {
    return Refuse("activation \"softmax\" is for the last Dense of a classify task", "use another one on this layer");
  }
  DenseOptions resolved = asked;
  resolved.units = units;
  if (is_head && LossOf(job_) == Loss::BinaryCrossentropy) resolved.activation = Activation::Linear;  // the loss applies it
  Append(names_[at_], resolved, units);
  return Status::Ok();
}

Status SpecBuilder::Add(const ActivationOptions& asked) {
  if (asked.activation == Activation::Softmax)
    return Refuse("activation \"softmax\" is for the last Dense of a classify task", "use another one on this layer");
  Append(names_[at_], asked, width_);
  return Status::Ok();
}

Status SpecBuilder::Add(const LayerNormalizationOptions& asked) {
  Append(names_[at_], asked, width_);
  return Status::Ok();
}

Status SpecBuilder::Add(const DropoutOptions& asked) {
  if (!(asked.rate >= 0.0 && asked.rate < 1.0))  // so written that NaN is refused
    return Refuse(fmt::format("rate = {}, wanted at least 0 and less than 1", asked.rate),
                  "rate is the share of values set to zero, for example 0.2");
  Append(names_[at_], asked, width_);
  return Status::Ok();
}

Status SpecBuilder::CheckHead(int64_t units, Activation activation) const {
  if (job_.task == Task::Classify) {
    if (units < shape_.classes)
      return Refuse(
          fmt::format("units = {}, but the targets have {} classes (0 to {})", units, shape_.classes, shape_.classes - 1),
          fmt::format("set units to {} or more, or leave it out", shape_.classes));
    if (activation != Activation::Linear && activation != Activation::Softmax)
      return Refuse(fmt::format("activation \"{}\" on the last Dense of a classify task, wanted linear or softmax",
                                ActivationName(activation)),
                    "leave the activation out; the loss applies the softmax");
    return Status::Ok();
  }
  if (units != shape_.target_width)
    return Refuse(fmt::format("units = {}, but a target of the data has {} value(s)", units, shape_.target_width),
                  fmt::format("set units to {}, or leave it out", shape_.target_width));
  if (LossOf(job_) == Loss::BinaryCrossentropy && activation != Activation::Linear && activation != Activation::Sigmoid)
    return Refuse(fmt::format("activation \"{}\" on the last Dense before binary_crossentropy, wanted linear or sigmoid",
                              ActivationName(activation)),
                  "leave the activation out; the loss applies the sigmoid");
  if (activation == Activation::Softmax)
    return Refuse("activation \"softmax\" on the last Dense of a regress task, wanted linear, relu, tanh or sigmoid",
                  "leave the activation out, or set task = \"classify\"");
  return Status::Ok();
}

// Last of all: the model's output has as many rows as the data have targets.
Status SpecBuilder::CheckRows() const {
  if (per_step_ == shape_.target_per_step) return Status::Ok();
  if (!per_step_)
    return Status::Usage(fmt::format("{} gives one row a sample, but the data have one target a step", Called(pooled_by_)),
                         UndoPooling());
  // The last recurrent layer can only have stayed per step because the job says so.
  for (size_t layer = layer_count_; layer-- > 0;)
    if (IsRecurrent(job_.layers[layer].kind))
      return Status::Usage(
          fmt::format("{} has return_sequences = true and gives one row a step, but the data have one target a sample",
                      Called(layer)),
          "add {type = \"Pooling\"} behind it, or leave return_sequences out");
  return Status::Usage(fmt::format("{} gives one row a step, but the data have one target a sample", Called(layer_count_ - 1)),
                       "add {type = \"Pooling\"} or {type = \"LSTM\"} before it");
}

bool SpecBuilder::AnyLaterLayerReadsSteps() const {
  return std::any_of(
      job_.layers.begin() + static_cast<std::ptrdiff_t>(at_) + 1, job_.layers.end(),
      [](const LayerOptions& layer) { return IsRecurrent(layer.kind) || std::holds_alternative<PoolingOptions>(layer.kind); });
}

void SpecBuilder::Append(std::string name, const LayerKind& kind, int64_t width) {
  const int before = static_cast<int>(spec_.nodes.size()) - 1;
  static_assert(kModelInput == -1, "the node before the first is the batch itself");
  spec_.nodes.push_back(
      {.name = std::move(name), .kind = kind, .inputs = {before}, .in_width = width_, .width = width, .per_step = per_step_});
  width_ = width;
}

Status SpecBuilder::CheckWidth(const char* key, int64_t width) const {
  if (width >= 1 && width <= kMaxWidth) return Status::Ok();
  return Refuse(fmt::format("{} = {}, wanted 1 to {}", key, width, kMaxWidth), fmt::format("set {} within that range", key));
}

std::string SpecBuilder::UndoPooling() const {
  if (std::holds_alternative<PoolingOptions>(job_.layers[pooled_by_].kind)) return fmt::format("remove {}", Called(pooled_by_));
  return fmt::format("leave return_sequences out on {}, or set it to true", Called(pooled_by_));
}

}  // namespace

Result<Spec> MakeSpec(const Job& job, const SampleShape& shape) { return SpecBuilder(job, shape).Build(); }

std::vector<TensorShape> CanonicalTensors(const Node& node) {
  std::vector<TensorShape> tensors;
  const auto add = [&](const char* name, std::vector<int64_t> shape) {
    tensors.push_back({node.name + "." + name, std::move(shape)});
  };
  const auto add_recurrent = [&](int64_t gates, bool use_bias, bool two_biases) {
    add("weight_ih", {gates * node.width, node.in_width});
    add("weight_hh", {gates * node.width, node.width});
    if (!use_bias) return;
    add(two_biases ? "bias_ih" : "bias", {gates * node.width});
    if (two_biases) add("bias_hh", {gates * node.width});
  };
  if (const auto* embedding = std::get_if<EmbeddingOptions>(&node.kind)) {
    add("weight", {embedding->input_dim, node.width});
  } else if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
    add_recurrent(4, lstm->use_bias, false);
  } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
    add_recurrent(3, gru->use_bias, gru->reset_after);
  } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
    add_recurrent(1, rnn->use_bias, false);
  } else if (std::holds_alternative<DenseOptions>(node.kind)) {
    add("weight", {node.width, node.in_width});
    add("bias", {node.width});
  } else if (std::holds_alternative<LayerNormalizationOptions>(node.kind)) {
    add("weight", {node.width});
    add("bias", {node.width});
  }
  return tensors;
}

std::vector<TensorShape> CanonicalTensors(const Spec& spec) {
  std::vector<TensorShape> tensors;
  for (const Node& node : spec.nodes) {
    for (TensorShape& tensor : CanonicalTensors(node)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace plimsoll
