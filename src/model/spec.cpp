// spec: reads the layer list once from front to back and decides what the job left open.
//   The builder below carries what every layer gives (its width, and whether there is one row a step or one a sample).
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
#include "base/suggest.h"
#include "kernels/crf.h"
#include "layers/activation_names.h"
#include "model/layer_kinds.h"
#include "plimsoll/custom.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxWidth = 65536;
constexpr int64_t kMaxIds = std::numeric_limits<int32_t>::max();

const char* TypeName(const LayerKind& kind) {
  constexpr const char* kNames[] = {
      "Embedding",          "LSTM",    "GRU",   "SimpleRNN", "Pooling", "Dense",  "Activation",
      "LayerNormalization", "Dropout", "Merge", "CRF",       "Custom",  "Conv1D", "Masking"};  // as the variant lists them
  static_assert(std::variant_size_v<LayerKind> == std::size(kNames));
  return kNames[kind.index()];
}

Loss LossOf(const Job& job) {
  if (job.train.loss != Loss::Auto) return job.train.loss;
  if (!job.layers.empty() && std::holds_alternative<CRFOptions>(job.layers.back().kind)) return Loss::Crf;
  return job.task == Task::Classify ? Loss::SparseCategoricalCrossentropy : Loss::MeanSquaredError;
}

std::string LowerCaseName(const LayerKind& kind) {
  std::string name = TypeName(kind);
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

// What a layer gives to its readers.
struct Seen {
  int node = kModelInput;
  int64_t width = 0;
  bool per_step = true;
  size_t pooled_by = 0;  // the layer that went from steps to one row a sample; valid when !per_step
};

size_t HeadOf(const Job& job) {
  const size_t count = job.layers.size();
  const bool crf = count > 1 && std::holds_alternative<CRFOptions>(job.layers.back().kind);
  return count - (crf ? 2 : 1);
}

class SpecBuilder {
 public:
  SpecBuilder(const Job& job, const SampleShape& shape)
      : job_(job),
        shape_(shape),
        layer_count_(job.layers.size()),
        head_(HeadOf(job)),
        vocabulary_(std::max(job.data.vocabulary, shape.vocabulary)) {}

  Result<Spec> Build();

 private:
  Status CheckTask() const;
  Status CheckLoss() const;
  Status NameLayers();
  Status FindInputs();
  Status CheckEnds() const;
  Status CheckInputs() const;
  Status Add(const EmbeddingOptions& asked);
  template <RecurrentOptions Options>
  Status Add(const Options& asked);
  Status Add(const PoolingOptions& asked);
  Status Add(const DenseOptions& asked);
  Status Add(const ActivationOptions& asked);
  Status Add(const LayerNormalizationOptions& asked);
  Status Add(const DropoutOptions& asked);
  Status Add(const MergeOptions& asked);
  Status Add(const CRFOptions& asked);
  Status Add(const CustomOptions& asked);
  Status Add(const Conv1DOptions& asked);
  Status Add(const MaskingOptions& asked);
  Status CheckHead(int64_t units, Activation activation) const;
  Status CheckRows() const;
  Status CheckLearns() const;
  Status CheckLazy() const;

  // Some way along the graph leads from the first layer to a reader of it for which `wanted` holds.
  template <typename Wanted>
  bool AnyReader(size_t layer, const Wanted& wanted) const;
  // What input number `which` of the layer that is being added gives.
  Seen InputSeen(size_t which) const;
  void Append(std::string name, const LayerKind& kind, int64_t width);
  Status CheckOrder() const;
  Status CheckWidth(const char* key, int64_t width) const;
  Status CheckBias(Initializer start, bool use_bias) const;
  // The factors of the layer's penalties, by their keys.
  using Penalties = std::vector<std::pair<const char*, double>>;
  Status CheckPenalties(const Penalties& penalties) const;
  Status CheckRate(const char* key, double rate) const;
  Status CheckFirstInTime() const;
  // "layer 2 "lstm_1" (LSTM)": how messages call a layer.
  std::string Called(size_t layer) const {
    return fmt::format("layer {} \"{}\" ({})", layer + 1, names_[layer], TypeName(job_.layers[layer].kind));
  }
  Status Refuse(const std::string& what, std::string hint) const {
    return Status::Usage(fmt::format("{}: {}", Called(at_), what), std::move(hint));
  }
  // How to undo the pooling that a layer does.
  std::string UndoPooling(size_t layer) const;

  const Job& job_;
  const SampleShape& shape_;
  const size_t layer_count_;
  const size_t head_;  // the Dense that gives the outputs: the last layer, or the one before a CRF
  const int64_t vocabulary_;
  std::vector<std::string> names_;        // of the job's layers
  std::vector<std::vector<int>> inputs_;  // of the job's layers: numbers of layers before them, or kModelInput
  std::vector<Seen> outputs_;             // of the job's layers so far
  size_t at_ = 0;                         // the layer that is being added
  Seen in_;                               // its first input
  Seen out_;                              // what it gives
  Spec spec_;
};

Result<Spec> SpecBuilder::Build() {
  PLIMSOLL_CHECK(shape_.width >= 1 && shape_.target_width >= 1,
                 "the data must have been opened before a model is made for them");
  PLIMSOLL_RETURN_IF_ERROR(CheckTask());
  PLIMSOLL_RETURN_IF_ERROR(CheckLoss());
  PLIMSOLL_RETURN_IF_ERROR(NameLayers());
  PLIMSOLL_RETURN_IF_ERROR(FindInputs());
  PLIMSOLL_RETURN_IF_ERROR(CheckEnds());

  spec_.id_input = shape_.ids;
  spec_.input_width = shape_.ids ? 1 : shape_.width;
  spec_.per_step_targets = shape_.target_per_step;
  spec_.loss = LossOf(job_);
  if (spec_.loss == Loss::CategoricalCrossentropy)
    spec_.loss = Loss::SparseCategoricalCrossentropy;  // ids since they were read
  spec_.weighted = shape_.weighted;
  spec_.class_weight.assign(job_.train.class_weight.begin(), job_.train.class_weight.end());
  spec_.label_smoothing = job_.train.label_smoothing;
  spec_.huber_delta = job_.train.huber_delta;
  spec_.truncate = job_.train.truncate;
  spec_.custom_loss = job_.train.custom_loss;
  for (at_ = 0; at_ < layer_count_; ++at_) {
    PLIMSOLL_RETURN_IF_ERROR(CheckInputs());
    in_ = out_ = InputSeen(0);
    PLIMSOLL_RETURN_IF_ERROR(std::visit([this](const auto& asked) { return Add(asked); }, job_.layers[at_].kind));
    outputs_.push_back(out_);
  }

  PLIMSOLL_RETURN_IF_ERROR(CheckRows());
  PLIMSOLL_RETURN_IF_ERROR(CheckLearns());
  PLIMSOLL_RETURN_IF_ERROR(CheckLazy());
  PLIMSOLL_RETURN_IF_ERROR(CheckOrder());
  spec_.output_width = out_.width;
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
  const bool entropy_of_classes = loss == Loss::SparseCategoricalCrossentropy || loss == Loss::CategoricalCrossentropy;
  const bool classes = entropy_of_classes || loss == Loss::Crf;
  if (!train.class_weight.empty() && !entropy_of_classes)
    return Status::Usage("train.class_weight: a setting of the categorical crossentropies alone", "leave it out");
  if (shape_.weighted && loss == Loss::Crf)
    return Status::Usage("the samples have weights, but a CRF counts all of them alike", "leave the weights out, or the CRF");
  const bool crf = !job_.layers.empty() && std::holds_alternative<CRFOptions>(job_.layers.back().kind);
  if ((loss == Loss::Crf) != crf)
    return Status::Usage(crf ? "the last layer is a CRF, which is its own loss; wanted train.loss = \"crf\""
                             : "train.loss = \"crf\", but the last layer is no CRF",
                         crf ? "leave train.loss out" : "add {type = \"CRF\"} behind the last Dense");
  if (crf && !(shape_.target_classes && shape_.target_per_step))
    return Status::Usage(fmt::format("a CRF needs a tag at every step, but the data have {}",
                                     shape_.target_classes ? "one class a sample" : "values as targets"),
                         "give y as whole numbers of shape (samples, steps), or remove the CRF");
  if (classes != (job_.task == Task::Classify))
    return Status::Usage(
        fmt::format("train.loss does not go with task \"{}\"; wanted {}", job_.task == Task::Classify ? "classify" : "regress",
                    job_.task == Task::Classify ? "sparse_categorical_crossentropy"
                                                : "mean_squared_error, mean_absolute_error, huber or binary_crossentropy"),
        "leave train.loss out, or change the task");
  if ((loss == Loss::Custom) != (train.custom_loss != nullptr))
    return Status::Usage(train.custom_loss != nullptr ? "a loss was brought along, but train.loss is another one"
                                                      : "train.loss = \"custom\", but this program brings no loss along",
                         "only the program that a loss was written for can use it: train.loss and train.custom_loss");
  if (train.custom_metric != nullptr && loss == Loss::Crf)
    return Status::Usage("a metric was brought along, but a CRF gives no outputs that it could judge", "leave one of them out");
  const bool entropy = entropy_of_classes || loss == Loss::BinaryCrossentropy;
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
  if (const auto data = std::find(names_.begin(), names_.end(), kInputName); data != names_.end())
    return Status::Usage(fmt::format("{} has the name that stands for the data among inputs",
                                     Called(static_cast<size_t>(data - names_.begin()))),
                         "give it another name, or leave the name out");
  for (size_t later = 1; later < layer_count_; ++later)
    for (size_t earlier = 0; earlier < later; ++earlier)
      if (names_[earlier] == names_[later])
        return Status::Usage(fmt::format("{} has the name of {}; wanted a name of its own", Called(later), Called(earlier)),
                             "give one of them another name, or leave the name out");
  return Status::Ok();
}

// The layers that each layer reads, by number. A layer is listed behind all that it reads, so no cycle can be.
Status SpecBuilder::FindInputs() {
  for (at_ = 0; at_ < layer_count_; ++at_) {
    const std::vector<std::string>& asked = job_.layers[at_].inputs;
    std::vector<int>& found = inputs_.emplace_back();
    if (asked.empty()) found.push_back(static_cast<int>(at_) - 1);
    static_assert(kModelInput == -1, "the layer before the first is the batch itself");
    for (const std::string& name : asked) {
      if (name == kInputName) {
        found.push_back(kModelInput);
        continue;
      }
      const auto named = std::find(names_.begin(), names_.end(), name);
      if (named == names_.end()) {
        std::vector<std::string_view> known(names_.begin(), names_.end());
        known.emplace_back(kInputName);
        return Refuse(fmt::format("it reads \"{}\", but no layer is called so{}", name, DidYouMean(name, known)),
                      fmt::format("the names are {}", fmt::join(known, ", ")));
      }
      const auto number = static_cast<size_t>(named - names_.begin());
      if (number >= at_)
        return Refuse(fmt::format("it reads \"{}\", which is {}", name, number == at_ ? "itself" : "listed behind it"),
                      "a layer reads layers listed before it, so that the graph has no cycle; change inputs, or list it later");
      found.push_back(static_cast<int>(number));
    }
    const bool merges = std::holds_alternative<MergeOptions>(job_.layers[at_].kind);
    if (merges && found.size() < 2)
      return Refuse(fmt::format("it has {} input, wanted two or more", found.size()),
                    "name the layers that it reads: inputs = [\"lstm\", \"dense\"]");
    if (!merges && found.size() > 1)
      return Refuse(fmt::format("it has {} inputs, wanted one", found.size()),
                    "put {type = \"Concatenate\", inputs = [...]} before it");
  }
  for (at_ = 0; at_ + 1 < layer_count_; ++at_)
    if (!AnyReader(at_, [](size_t) { return true; }))
      return Refuse("no layer reads what it gives", "name it among the inputs of a layer behind it, or remove it");
  return Status::Ok();
}

Status SpecBuilder::CheckInputs() const {
  const std::vector<int>& inputs = inputs_[at_];
  const bool reads_data = std::find(inputs.begin(), inputs.end(), kModelInput) != inputs.end();
  if (shape_.ids && reads_data && !std::holds_alternative<EmbeddingOptions>(job_.layers[at_].kind))
    return Refuse("it reads the data, which are ids; only an Embedding does", "let it read the Embedding instead");
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
  if (!std::holds_alternative<DenseOptions>(job_.layers[head_].kind))
    return Status::Usage(fmt::format("{} is the last layer; the last layer must be a Dense, which gives the {}", Called(head_),
                                     job_.task == Task::Classify ? "classes" : "values"),
                         "add {type = \"Dense\"} behind it; its width comes from the task");
  return Status::Ok();
}

Status SpecBuilder::Add(const EmbeddingOptions& asked) {
  if (in_.node != kModelInput)
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
  if (!asked.weights.empty() && asked.embeddings_initializer != EmbeddingOptions{}.embeddings_initializer)
    return Refuse("weights and embeddings_initializer both say what the table begins with", "leave one of them out");
  if (!asked.weights.empty() && !job_.init_from.empty())
    return Refuse("weights and init_from both say what the table begins with", "leave one of them out");
  PLIMSOLL_RETURN_IF_ERROR(CheckPenalties({{"embeddings_l1", asked.embeddings_l1}, {"embeddings_l2", asked.embeddings_l2}}));
  spec_.vocabulary = spec_.vocabulary == 0 ? ids : std::min(spec_.vocabulary, ids);
  EmbeddingOptions resolved = asked;
  resolved.input_dim = ids;
  Append(names_[at_], resolved, asked.output_dim);
  return Status::Ok();
}

template <RecurrentOptions Options>
Status SpecBuilder::Add(const Options& asked) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("units", asked.units));
  if (!in_.per_step)
    return Refuse(fmt::format("a recurrent layer needs one row a step, but {} gives one row a sample", Called(in_.pooled_by)),
                  UndoPooling(in_.pooled_by));
  PLIMSOLL_RETURN_IF_ERROR(CheckRate("dropout", asked.dropout));
  PLIMSOLL_RETURN_IF_ERROR(CheckRate("recurrent_dropout", asked.recurrent_dropout));
  bool softmax = asked.activation == Activation::Softmax;
  if constexpr (requires { asked.recurrent_activation; }) {
    softmax = softmax || asked.recurrent_activation == Activation::Softmax;
  }
  if (softmax)
    return Refuse("\"softmax\" inside a recurrent layer, wanted a function of one number", "tanh and sigmoid are usual");
  PLIMSOLL_RETURN_IF_ERROR(CheckBias(asked.bias_initializer, asked.use_bias));
  PLIMSOLL_RETURN_IF_ERROR(CheckPenalties({{"kernel_l1", asked.kernel_l1},
                                           {"kernel_l2", asked.kernel_l2},
                                           {"recurrent_l1", asked.recurrent_l1},
                                           {"recurrent_l2", asked.recurrent_l2},
                                           {"bias_l1", asked.bias_l1},
                                           {"bias_l2", asked.bias_l2}}));
  if (!asked.use_bias && (asked.bias_l1 > 0.0 || asked.bias_l2 > 0.0))
    return Refuse("a penalty on the bias of a layer with use_bias = false", "leave one of the two out");
  int64_t width = asked.units;
  if constexpr (requires { asked.proj_size; }) {
    if (asked.proj_size < 0 || asked.proj_size >= asked.units)
      return Refuse(fmt::format("proj_size = {} with units = {}, wanted less than units, or 0", asked.proj_size, asked.units),
                    "leave proj_size out, or make units larger");
    if (asked.proj_size > 0) width = asked.proj_size;
  }
  if (asked.go_backwards) PLIMSOLL_RETURN_IF_ERROR(CheckFirstInTime());
  spec_.reversed = spec_.reversed || asked.go_backwards;
  const auto reads_steps = [this](size_t layer) { return KnowsTime(job_.layers[layer].kind); };
  const bool sequences = asked.return_sequences.value_or(shape_.target_per_step || AnyReader(at_, reads_steps));
  const std::string& name = names_[at_];
  Options resolved = asked;
  resolved.return_sequences = sequences;
  Append(name, resolved, width);
  if (sequences) return Status::Ok();

  const std::string last_name = name + "_last";
  const auto clash = std::find(names_.begin(), names_.end(), last_name);
  if (clash != names_.end())
    return Refuse(fmt::format("its last state is called \"{}\", but so is {}", last_name,
                              Called(static_cast<size_t>(clash - names_.begin()))),
                  "give one of them another name");
  spec_.nodes.push_back({.name = last_name,
                         .kind = PoolingOptions{.mode = PoolingMode::Last},
                         .inputs = {out_.node},
                         .in_width = out_.width,
                         .width = out_.width,
                         .per_step = false});
  out_ = {.node = out_.node + 1, .width = out_.width, .per_step = false, .pooled_by = at_};
  return Status::Ok();
}

Status SpecBuilder::Add(const PoolingOptions& asked) {
  if (!in_.per_step)
    return Refuse(fmt::format("a Pooling needs one row a step, but {} gives one row a sample", Called(in_.pooled_by)),
                  UndoPooling(in_.pooled_by));
  out_.per_step = false;
  out_.pooled_by = at_;
  Append(names_[at_], asked, in_.width);
  return Status::Ok();
}

Status SpecBuilder::Add(const DenseOptions& asked) {
  const bool is_head = at_ == head_;
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
  PLIMSOLL_RETURN_IF_ERROR(CheckBias(asked.bias_initializer, true));
  PLIMSOLL_RETURN_IF_ERROR(CheckPenalties({{"kernel_l1", asked.kernel_l1},
                                           {"kernel_l2", asked.kernel_l2},
                                           {"bias_l1", asked.bias_l1},
                                           {"bias_l2", asked.bias_l2}}));
  DenseOptions resolved = asked;
  resolved.units = units;
  if (is_head && LossOf(job_) == Loss::BinaryCrossentropy) resolved.activation = Activation::Linear;  // the loss applies it
  Append(names_[at_], resolved, units);
  return Status::Ok();
}

Status SpecBuilder::Add(const ActivationOptions& asked) {
  if (asked.activation == Activation::Softmax)
    return Refuse("activation \"softmax\" is for the last Dense of a classify task", "use another one on this layer");
  Append(names_[at_], asked, in_.width);
  return Status::Ok();
}

Status SpecBuilder::Add(const LayerNormalizationOptions& asked) {
  Append(names_[at_], asked, in_.width);
  return Status::Ok();
}

Status SpecBuilder::Add(const DropoutOptions& asked) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRate("rate", asked.rate));
  Append(names_[at_], asked, in_.width);
  return Status::Ok();
}

Status SpecBuilder::Add(const MergeOptions& asked) {
  int64_t width = 0;
  for (size_t which = 0; which < inputs_[at_].size(); ++which) {
    const Seen input = InputSeen(which);
    if (input.per_step != in_.per_step)
      return Refuse(fmt::format("{} gives one row a sample, another of its inputs one row a step",
                                Called(input.per_step ? in_.pooled_by : input.pooled_by)),
                    "let all of its inputs give one row a step (return_sequences = true), or pool each of them");
    if (asked.mode != MergeMode::Concatenate && input.width != in_.width)
      return Refuse(fmt::format("its inputs are {} and {} wide, wanted the same width", in_.width, input.width),
                    "put a Dense before one of them, or use Concatenate");
    width = asked.mode == MergeMode::Concatenate ? width + input.width : input.width;
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("the sum of its inputs' widths", width));
  Append(names_[at_], asked, width);
  return Status::Ok();
}

Status SpecBuilder::Add(const Conv1DOptions& asked) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("filters", asked.filters));
  if (!in_.per_step)
    return Refuse(fmt::format("a convolution needs one row a step, but {} gives one row a sample", Called(in_.pooled_by)),
                  UndoPooling(in_.pooled_by));
  if (asked.activation == Activation::Softmax)
    return Refuse("activation \"softmax\" is for the last Dense of a classify task", "use another one on this layer");
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("kernel_size times the width of its input", asked.kernel_size * in_.width));
  PLIMSOLL_RETURN_IF_ERROR(CheckBias(asked.bias_initializer, asked.use_bias));
  PLIMSOLL_RETURN_IF_ERROR(CheckPenalties({{"kernel_l1", asked.kernel_l1},
                                           {"kernel_l2", asked.kernel_l2},
                                           {"bias_l1", asked.bias_l1},
                                           {"bias_l2", asked.bias_l2}}));
  if (!asked.use_bias && (asked.bias_l1 > 0.0 || asked.bias_l2 > 0.0))
    return Refuse("a penalty on the bias of a layer with use_bias = false", "leave one of the two out");
  Append(names_[at_], asked, asked.filters);
  return Status::Ok();
}

// The data were read with it; there is nothing left to do.
Status SpecBuilder::Add(const MaskingOptions&) {
  if (at_ == 0) return Status::Ok();
  return Refuse("a Masking says how the data are read and can only be the first layer", "list it first, or leave it out");
}

Status SpecBuilder::Add(const CustomOptions& asked) {
  if (asked.layer == nullptr)
    return Refuse(fmt::format("this program has no layer \"{}\"", asked.function),
                  "only the program that a custom layer was written for can run it; see docs/extend.md");
  const int64_t width = asked.layer->Width(in_.width);
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("Width()", width));
  const std::vector<CustomTensor> tensors = asked.layer->Weights(in_.width);
  constexpr size_t kMostTensors = 16;
  if (tensors.size() > kMostTensors)
    return Refuse(fmt::format("Weights() gives {} tensors, wanted at most {}", tensors.size(), kMostTensors), "join some");
  for (const CustomTensor& tensor : tensors) {
    const bool known = (tensor.shape.size() == 1 || tensor.shape.size() == 2) &&
                       std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t extent) { return extent >= 1; });
    const auto same =
        std::count_if(tensors.begin(), tensors.end(), [&](const CustomTensor& other) { return other.name == tensor.name; });
    if (!known || tensor.name.empty() || same != 1)
      return Refuse(
          fmt::format("Weights() gives \"{}\", wanted a name of its own and one or two dimensions above 0", tensor.name),
          "name each tensor, and give its shape");
  }
  Append(names_[at_], asked, width);
  return Status::Ok();
}

Status SpecBuilder::Add(const CRFOptions& asked) {
  if (at_ + 1 != layer_count_ || in_.node != outputs_[head_].node)
    return Refuse("a CRF is the last layer and reads the Dense before it", "list it behind the Dense that gives the tags");
  if (in_.width > kMostTags)
    return Refuse(fmt::format("{} tags, wanted at most {}", in_.width, kMostTags), "use a softmax over so many: leave it out");
  Append(names_[at_], asked, in_.width);
  return Status::Ok();
}

Status SpecBuilder::CheckHead(int64_t units, Activation activation) const {
  if (job_.task == Task::Classify) {
    if (units < shape_.classes)
      return Refuse(
          fmt::format("units = {}, but the targets have {} classes (0 to {})", units, shape_.classes, shape_.classes - 1),
          fmt::format("set units to {} or more, or leave it out", shape_.classes));
    if (!job_.train.class_weight.empty() && static_cast<int64_t>(job_.train.class_weight.size()) != units)
      return Refuse(fmt::format("units = {}, but train.class_weight has {} numbers", units, job_.train.class_weight.size()),
                    "give a number for each class");
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
  if (out_.per_step == shape_.target_per_step) return Status::Ok();
  if (!out_.per_step)
    return Status::Usage(fmt::format("{} gives one row a sample, but the data have one target a step", Called(out_.pooled_by)),
                         UndoPooling(out_.pooled_by));
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

Status SpecBuilder::CheckLearns() const {
  const bool learns = std::any_of(spec_.nodes.begin(), spec_.nodes.end(),
                                  [](const Node& node) { return node.trainable && !CanonicalTensors(node).empty(); });
  if (learns) return Status::Ok();
  return Status::Usage("every layer with weights has trainable = false: nothing would learn",
                       "leave trainable out on one of them");
}

// lazy_adam has rows to leave alone, and no penalty that moves them all.
Status SpecBuilder::CheckLazy() const {
  if (job_.train.optimizer != OptimizerKind::LazyAdam) return Status::Ok();
  bool found = false;
  for (const Node& node : spec_.nodes) {
    const auto* table = std::get_if<EmbeddingOptions>(&node.kind);
    if (table == nullptr || !node.trainable) continue;
    found = true;
    if (table->embeddings_l1 > 0.0 || table->embeddings_l2 > 0.0)
      return Status::Usage("train.optimizer = \"lazy_adam\" with a penalty on the Embedding, which moves every row",
                           "write \"adam\", or leave embeddings_l1 and embeddings_l2 out");
  }
  if (found) return Status::Ok();
  return Status::Usage("train.optimizer = \"lazy_adam\" in a model without an Embedding that learns", "write \"adam\"");
}

template <typename Wanted>
bool SpecBuilder::AnyReader(size_t layer, const Wanted& wanted) const {
  std::vector<bool> reached(layer_count_, false);
  reached[layer] = true;
  for (size_t reader = layer + 1; reader < layer_count_; ++reader) {
    for (const int input : inputs_[reader])
      if (input != kModelInput && reached[static_cast<size_t>(input)]) reached[reader] = true;
    if (reached[reader] && wanted(reader)) return true;
  }
  return false;
}

Seen SpecBuilder::InputSeen(size_t which) const {
  const int input = inputs_[at_][which];
  return input == kModelInput ? Seen{.width = spec_.input_width} : outputs_[static_cast<size_t>(input)];
}

void SpecBuilder::Append(std::string name, const LayerKind& kind, int64_t width) {
  std::vector<int> inputs;
  for (size_t which = 0; which < inputs_[at_].size(); ++which) inputs.push_back(InputSeen(which).node);
  const bool merges = std::holds_alternative<MergeOptions>(kind);
  out_.node = static_cast<int>(spec_.nodes.size());
  out_.width = width;
  spec_.nodes.push_back({.name = std::move(name),
                         .kind = kind,
                         .inputs = std::move(inputs),
                         .in_width = merges ? width : in_.width,
                         .width = width,
                         .trainable = job_.layers[at_].trainable,
                         .per_step = out_.per_step});
}

// The body is what is listed up to the last layer that knows time; it runs on steps. What runs on pooled rows is the head.
Status SpecBuilder::CheckOrder() const {
  const auto last =
      std::find_if(spec_.nodes.rbegin(), spec_.nodes.rend(), [](const Node& node) { return KnowsTime(node.kind); });
  const auto pooled = std::find_if(spec_.nodes.begin(), last.base(), [](const Node& node) {
    return !node.per_step && !std::holds_alternative<PoolingOptions>(node.kind);
  });
  if (pooled == last.base()) return Status::Ok();
  return Status::Usage(fmt::format("layer \"{}\" has one row a sample, but \"{}\", which reads steps, is listed behind it",
                                   pooled->name, last->name),
                       fmt::format("list \"{}\" behind \"{}\"", pooled->name, last->name));
}

Status SpecBuilder::CheckWidth(const char* key, int64_t width) const {
  if (width >= 1 && width <= kMaxWidth) return Status::Ok();
  return Refuse(fmt::format("{} = {}, wanted 1 to {}", key, width, kMaxWidth), fmt::format("set {} within that range", key));
}

Status SpecBuilder::CheckRate(const char* key, double rate) const {
  if (rate >= 0.0 && rate < 1.0) return Status::Ok();  // so written that NaN is refused
  return Refuse(fmt::format("{} = {}, wanted at least 0 and less than 1", key, rate),
                fmt::format("{} is the share of values set to zero, for example 0.2", key));
}

// All layers walk a sequence together, block by block: which way is decided where it is read.
Status SpecBuilder::CheckFirstInTime() const {
  for (size_t layer = 0; layer < layer_count_; ++layer)
    if (std::holds_alternative<MergeOptions>(job_.layers[layer].kind))
      return Refuse(
          fmt::format("go_backwards = true, but {} joins ways that would walk a sequence in both directions", Called(layer)),
          "leave go_backwards out, or the merge");
  for (size_t layer = 0; layer < at_; ++layer)
    if (IsRecurrent(job_.layers[layer].kind))
      return Refuse(
          fmt::format("go_backwards = true, but {} comes before it: all recurrent layers walk a sequence together, in "
                      "one direction, which the first of them decides",
                      Called(layer)),
          fmt::format("set go_backwards on {}, or leave it out", Called(layer)));
  return Status::Ok();
}

Status SpecBuilder::CheckBias(Initializer start, bool use_bias) const {
  if (start == Initializer::Orthogonal || start == Initializer::Identity)
    return Refuse("bias_initializer \"orthogonal\" and \"identity\" are for matrices, and a bias is a vector",
                  "\"zeros\" is usual");
  if (!use_bias && start != Initializer::Zeros)
    return Refuse("bias_initializer on a layer with use_bias = false", "leave one of the two out");
  return Status::Ok();
}

Status SpecBuilder::CheckPenalties(const Penalties& penalties) const {
  for (const auto& [key, factor] : penalties) {
    if (!(factor >= 0.0))  // so written that NaN is refused
      return Refuse(fmt::format("{} = {}, wanted at least 0", key, factor), "a small number such as 1e-4 is usual");
    if (factor > 0.0 && !job_.layers[at_].trainable)
      return Refuse(fmt::format("{} = {} on a layer with trainable = false, whose weights do not change", key, factor),
                    fmt::format("leave {} out", key));
  }
  return Status::Ok();
}

std::string SpecBuilder::UndoPooling(size_t layer) const {
  if (std::holds_alternative<PoolingOptions>(job_.layers[layer].kind)) return fmt::format("remove {}", Called(layer));
  return fmt::format("leave return_sequences out on {}, or set it to true", Called(layer));
}

}  // namespace

Result<Spec> MakeSpec(const Job& job, const SampleShape& shape) { return SpecBuilder(job, shape).Build(); }

std::vector<TensorShape> CanonicalTensors(const Node& node) {
  std::vector<TensorShape> tensors;
  const auto add = [&](const char* name, std::vector<int64_t> shape, double l1 = 0.0, double l2 = 0.0) {
    tensors.push_back({node.name + "." + name, std::move(shape), l1, l2});
  };
  const auto add_recurrent = [&](int64_t gates, bool two_biases, const auto& options) {
    const int64_t rows = gates * options.units;
    add("weight_ih", {rows, node.in_width}, options.kernel_l1, options.kernel_l2);
    add("weight_hh", {rows, node.width}, options.recurrent_l1, options.recurrent_l2);
    if (!options.use_bias) return;
    add(two_biases ? "bias_ih" : "bias", {rows}, options.bias_l1, options.bias_l2);
    if (two_biases) add("bias_hh", {rows}, options.bias_l1, options.bias_l2);
  };
  if (const auto* embedding = std::get_if<EmbeddingOptions>(&node.kind)) {
    add("weight", {embedding->input_dim, node.width}, embedding->embeddings_l1, embedding->embeddings_l2);
  } else if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
    add_recurrent(4, false, *lstm);
    if (lstm->proj_size > 0) add("weight_hr", {lstm->proj_size, lstm->units});
  } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
    add_recurrent(3, gru->reset_after, *gru);
  } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
    add_recurrent(1, false, *rnn);
  } else if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
    add("weight", {node.width, node.in_width}, dense->kernel_l1, dense->kernel_l2);
    add("bias", {node.width}, dense->bias_l1, dense->bias_l2);
  } else if (std::holds_alternative<LayerNormalizationOptions>(node.kind)) {
    add("weight", {node.width});
    add("bias", {node.width});
  } else if (const auto* convolution = std::get_if<Conv1DOptions>(&node.kind)) {
    add("weight", {node.width, convolution->kernel_size * node.in_width}, convolution->kernel_l1, convolution->kernel_l2);
    if (convolution->use_bias) add("bias", {node.width}, convolution->bias_l1, convolution->bias_l2);
  } else if (const auto* custom = std::get_if<CustomOptions>(&node.kind)) {
    for (CustomTensor& tensor : custom->layer->Weights(node.in_width)) add(tensor.name.c_str(), std::move(tensor.shape));
  } else if (std::holds_alternative<CRFOptions>(node.kind)) {
    add("transitions", {node.width, node.width});
    add("start", {node.width});
    add("end", {node.width});
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
