// spec: reads the layer list once from front to back and decides what the job left open.
//   The builder below carries what every layer gives (its width, and whether there is one row a step or one a sample).
//   A resolved recurrent layer keeps the user's meaning in return_sequences (false: a NAME_last node follows); the node itself
//   always gives one row a step.
#include "model/spec.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
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
#include "layers/custom.h"
#include "model/layer_kinds.h"
#include "plimsoll/custom.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxWidth = 65536;
constexpr int64_t kMaxIds = std::numeric_limits<int32_t>::max();
constexpr std::string_view kStateOfData = "data";

const char* TypeName(const LayerKind& kind) {
  constexpr const char* kNames[] = {
      "Embedding", "LSTM",  "GRU", "SimpleRNN", "Pooling", "Dense",   "Activation", "LayerNormalization",
      "Dropout",   "Merge", "CRF", "Custom",    "Conv1D",  "Masking", "CTC"};  // as the variant lists them
  static_assert(std::variant_size_v<LayerKind> == std::size(kNames));
  return kNames[kind.index()];
}

Loss LossOf(const Job& job) {
  if (job.train.loss != Loss::Auto) return job.train.loss;
  if (!job.layers.empty() && std::holds_alternative<CRFOptions>(job.layers.back().kind)) return Loss::Crf;
  if (!LearnsClasses(job.task)) return Loss::MeanSquaredError;
  return HasClassTargets(job) ? Loss::SparseCategoricalCrossentropy : Loss::BinaryCrossentropy;
}

// The type as the user has written it, in lower case.
std::string DefaultName(const LayerKind& kind) {
  if (const auto* merge = std::get_if<MergeOptions>(&kind)) {
    constexpr const char* kNames[] = {"concatenate", "add", "multiply"};  // as MergeMode lists them
    return kNames[static_cast<size_t>(merge->mode)];
  }
  if (const auto* dropout = std::get_if<DropoutOptions>(&kind); dropout != nullptr && dropout->spatial)
    return "spatialdropout1d";
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

// What a layer reads: a layer before it, by number, or kModelInput; or of that layer the State that it ends with.
struct Input {
  int layer = kModelInput;
  bool state = false;
  bool operator==(const Input&) const = default;
};

constexpr std::string_view kStateSuffix = "_state";

bool TurnsRound(const LayerKind& kind) {
  return std::visit(
      []<typename Options>(const Options& options) {
        if constexpr (RecurrentOptions<Options>) return options.go_backwards;
        return false;
      },
      kind);
}

size_t HeadOf(const Job& job) {
  const size_t count = job.layers.size();
  const bool crf = count > 1 && std::holds_alternative<CRFOptions>(job.layers.back().kind);
  return count - (crf ? 2 : 1);
}

// An output that the job asks for: the Dense that gives it, its targets and its loss.
struct AskedOutput {
  size_t layer = 0;
  TargetShape target;
  Loss loss = Loss::Auto;
  double weight = 1.0;
  bool classify = false;
  bool per_step() const { return target.per_step || loss == Loss::Ctc; }  // rows of the layer
};

class SpecBuilder {
 public:
  SpecBuilder(const Job& job, const SampleShape& shape)
      : job_(job),
        shape_(shape),
        layer_count_(job.layers.size()),
        head_(HeadOf(job)),
        vocabulary_(std::max(job.data.vocabulary, shape.vocabulary)) {}

  Result<Spec> Build();
  Status CheckSeveral();

 private:
  Status CheckLayers() const;
  Status CheckTask() const;
  Status CheckLoss() const;
  Status CheckCtc() const;
  Status NameLayers();
  void FindOutput();
  Status FindSeveral();
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
  Result<size_t> FindTable(const DenseOptions& asked) const;
  Status Add(const CTCOptions& asked);
  Status CtcIsNoLayer(size_t layer) const;
  Status AddLoss();
  Status CheckHead(const AskedOutput& output, int64_t units, Activation activation) const;
  Status CheckRows(const AskedOutput& output) const;
  Status CheckLearns() const;
  Status AppendPooled(const std::string& name, PoolingMode mode, int64_t width);
  Status PlaceState(const std::string& initial, bool stateful, bool go_backwards, int64_t width);
  Status CheckState() const;
  Status CheckLazy() const;

  bool several() const { return !job_.outputs.empty(); }
  // What the job asks of a layer's output; null: nothing.
  const AskedOutput* OutputAt(size_t layer) const {
    const auto found =
        std::find_if(asked_.begin(), asked_.end(), [&](const AskedOutput& output) { return output.layer == layer; });
    return found == asked_.end() ? nullptr : &*found;
  }
  // Some way along the graph leads from the first layer to a reader of it for which `wanted` holds.
  template <typename Wanted>
  bool AnyReader(size_t layer, const Wanted& wanted) const;
  bool ReturnsState(size_t layer) const;
  bool IsRead(const Input& output) const;  // by any layer
  // What input number `which` of the layer that is being added gives.
  Seen InputSeen(size_t which) const;
  void Append(std::string name, const LayerKind& kind, int64_t width);
  Status CheckOrder() const;
  Status CheckWidth(const char* key, int64_t width) const;
  Status CheckBias(Initializer start, bool use_bias) const;
  // The factors of the layer's penalties, by their keys.
  using Penalties = std::vector<std::pair<const char*, double>>;
  Status CheckPenalties(const Penalties& penalties) const;
  template <typename Options>
  Status CheckBiasPenalties(const Options& asked) const {
    if (asked.use_bias || (asked.bias_l1 == 0.0 && asked.bias_l2 == 0.0)) return Status::Ok();
    return Refuse("a penalty on the bias of a layer with use_bias = false", "leave one of the two out");
  }
  Status CheckRate(const char* key, double rate) const;
  Status CheckFirstInTime() const;
  Status CheckDirection() const;
  Status CheckNormalization(const LSTMOptions& asked) const;
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
  std::vector<std::string> names_;          // of the job's layers
  std::vector<AskedOutput> asked_;          // as the job lists them
  std::vector<std::vector<Input>> inputs_;  // of the job's layers
  std::vector<Seen> outputs_;               // of the job's layers so far
  std::vector<Seen> states_;                // of the same: what NAME_state gives; only where a layer has return_state
  size_t at_ = 0;                           // the layer that is being added
  Seen in_;                                 // its first input
  Seen out_;                                // what it gives
  Spec spec_;
};

Result<Spec> SpecBuilder::Build() {
  PLIMSOLL_CHECK(shape_.width >= 1 && shape_.target_width >= 1,
                 "the data must have been opened before a model is made for them");
  PLIMSOLL_RETURN_IF_ERROR(CheckLayers());
  if (several()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSeveral());
    PLIMSOLL_RETURN_IF_ERROR(FindSeveral());
  } else {
    PLIMSOLL_RETURN_IF_ERROR(CheckTask());
    PLIMSOLL_RETURN_IF_ERROR(CheckLoss());
    PLIMSOLL_RETURN_IF_ERROR(NameLayers());
    FindOutput();
  }
  PLIMSOLL_RETURN_IF_ERROR(FindInputs());
  PLIMSOLL_RETURN_IF_ERROR(CheckEnds());

  spec_.id_input = shape_.ids;
  spec_.input_width = shape_.ids ? 1 : shape_.width;
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

  for (const AskedOutput& output : asked_) PLIMSOLL_RETURN_IF_ERROR(CheckRows(output));
  PLIMSOLL_RETURN_IF_ERROR(CheckState());
  PLIMSOLL_RETURN_IF_ERROR(CheckLearns());
  PLIMSOLL_RETURN_IF_ERROR(CheckLazy());
  PLIMSOLL_RETURN_IF_ERROR(CheckOrder());
  PLIMSOLL_RETURN_IF_ERROR(CheckDirection());
  if (spec_.truncate > 0 &&
      std::none_of(spec_.nodes.begin(), spec_.nodes.end(), [](const Node& node) { return IsRecurrent(node.kind); }))
    return Status::Usage(fmt::format("train.truncate = {}, but no layer is recurrent", spec_.truncate), "leave it out");
  for (const AskedOutput& output : asked_) {
    const Seen& seen = outputs_[several() ? output.layer : layer_count_ - 1];  // the last layer may be a CRF
    spec_.outputs.push_back({.node = seen.node,
                             .loss = output.loss == Loss::CategoricalCrossentropy ? Loss::SparseCategoricalCrossentropy
                                                                                  : output.loss,  // ids since they were read
                             .weight = output.weight,
                             .per_step = output.target.per_step,
                             .width = seen.width});
  }
  PLIMSOLL_RETURN_IF_ERROR(AddLoss());
  return std::move(spec_);
}

Status SpecBuilder::CheckLayers() const {
  if (job_.data.vocabulary < 0 || job_.data.vocabulary > kMaxIds)
    return Status::Usage(fmt::format("data.vocabulary = {}, wanted 1 to {}, or 0", job_.data.vocabulary, kMaxIds),
                         "leave data.vocabulary out to take it from the data");
  if (!job_.layers.empty()) return Status::Ok();
  return Status::Usage("the model has no layers; wanted at least a Dense as the last one",
                       fmt::format("for example:\n[model]\nlayers = [{}{{type = \"LSTM\", units = 64}}, {{type = \"Dense\"}}]",
                                   shape_.ids ? "{type = \"Embedding\", output_dim = 64}, " : ""));
}

Status SpecBuilder::CheckTask() const {
  if (HasClassTargets(job_) && !shape_.target_classes)
    return Status::Usage(
        fmt::format("task \"{}\" needs class numbers as targets, but the data's targets are values", TaskName(job_.task)),
        "set task = \"regress\", or give whole class numbers as targets");
  if (!HasClassTargets(job_) && shape_.target_classes)
    return Status::Usage(
        fmt::format("task \"{}\" needs values as targets, but the data's targets are class numbers", TaskName(job_.task)),
        "set task = \"classify\", or give values as targets");
  return Status::Ok();
}

Status SpecBuilder::CheckLoss() const {
  const TrainOptions& train = job_.train;
  const Loss loss = LossOf(job_);
  const bool entropy_of_classes = loss == Loss::SparseCategoricalCrossentropy || loss == Loss::CategoricalCrossentropy;
  const bool classes = entropy_of_classes || loss == Loss::Crf || loss == Loss::Ctc;
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
  if (classes != HasClassTargets(job_))
    return Status::Usage(
        fmt::format("train.loss does not go with task \"{}\"; wanted {}", TaskName(job_.task),
                    HasClassTargets(job_) ? "sparse_categorical_crossentropy"
                                          : "mean_squared_error, mean_absolute_error, huber or binary_crossentropy"),
        "leave train.loss out, or change the task");
  if ((loss == Loss::Custom) != (train.custom_loss != nullptr))
    return Status::Usage(train.custom_loss != nullptr ? "a loss was brought along, but train.loss is another one"
                                                      : "train.loss = \"custom\", but this program brings no loss along",
                         "only the program that a loss was written for can use it: train.loss and train.custom_loss");
  PLIMSOLL_RETURN_IF_ERROR(CheckCtc());
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

// Its targets are sequences of labels that no other loss takes.
Status SpecBuilder::CheckCtc() const {
  const bool ctc = LossOf(job_) == Loss::Ctc;
  if (ctc != (shape_.longest_target > 0))
    return Status::Usage(
        ctc ? "train.loss = \"ctc\" needs a sequence of labels for each sample, but the data have other targets"
            : "the data's targets are sequences of labels without a step of their own, which need loss \"ctc\"",
        ctc ? "see docs/training.md for the targets of ctc, or choose another loss" : "set train.loss = \"ctc\"");
  if (ctc && std::any_of(job_.layers.begin(), job_.layers.end(), [](const auto& layer) { return TurnsRound(layer.kind); }))
    return Status::Usage("loss \"ctc\" with go_backwards = true: the labels would have to be spelled from their end",
                         "leave go_backwards out");
  if (ctc && job_.train.custom_metric != nullptr)
    return Status::Usage("a metric was brought along, but with loss \"ctc\" no target belongs to an output",
                         "leave one of them out");
  return Status::Ok();
}

// As Keras counts: lstm, lstm_1, lstm_2. A name that the user gave to some layer is not used for another.
Status SpecBuilder::NameLayers() {
  std::set<std::string> taken;
  for (const LayerOptions& layer : job_.layers) taken.insert(layer.name);
  std::map<std::string, int> counters;
  for (const LayerOptions& layer : job_.layers) {
    std::string name = layer.name;
    while (name.empty()) {
      const std::string base = DefaultName(layer.kind);
      const int count = counters[base]++;
      const std::string next = count == 0 ? base : fmt::format("{}_{}", base, count);
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

// Of a job that lists none: the last Dense with the job's own task and loss.
void SpecBuilder::FindOutput() {
  asked_.push_back(
      {.layer = head_, .target = shape_.Target(0), .loss = LossOf(job_), .weight = 1.0, .classify = HasClassTargets(job_)});
}

// What is wrong with the list of outputs whatever the data are.
Status SpecBuilder::CheckSeveral() {
  PLIMSOLL_RETURN_IF_ERROR(NameLayers());
  const TrainOptions& train = job_.train;
  if (train.loss != Loss::Auto || train.custom_loss != nullptr)
    return Status::Usage("train.loss beside [[outputs]], each of which has its own", "write loss on the outputs instead");
  if (!train.class_weight.empty())
    return Status::Usage("train.class_weight beside [[outputs]]: of which one it would be is not said", "leave it out");
  if (train.custom_metric != nullptr)
    return Status::Usage("a metric was brought along, but it judges a job with one output", "leave it out, or [[outputs]]");
  for (size_t i = 0; i < job_.outputs.size(); ++i) {
    const OutputOptions& wanted = job_.outputs[i];
    const std::string called = fmt::format("outputs[{}]", i);
    const auto named = std::find(names_.begin(), names_.end(), wanted.layer);
    if (named == names_.end()) {
      const std::vector<std::string_view> known(names_.begin(), names_.end());
      return Status::Usage(
          fmt::format("{}: layer = \"{}\", but no layer is called so{}", called, wanted.layer, DidYouMean(wanted.layer, known)),
          fmt::format("the names are {}", fmt::join(known, ", ")));
    }
    const auto layer = static_cast<size_t>(named - names_.begin());
    if (OutputAt(layer) != nullptr)
      return Status::Usage(fmt::format("{}: {} is an output already", called, Called(layer)),
                           "give each output a Dense of its own; they may read the same layer");
    if (!std::holds_alternative<DenseOptions>(job_.layers[layer].kind))
      return Status::Usage(fmt::format("{}: {} cannot be an output, wanted a Dense", called, Called(layer)),
                           "add {type = \"Dense\"} behind it and name that");
    if (!(wanted.loss_weight > 0.0))  // so written that NaN is refused
      return Status::Usage(fmt::format("{}: loss_weight = {}, wanted more than 0", called, wanted.loss_weight),
                           "leave the output out instead");
    if (wanted.loss == Loss::Crf || wanted.loss == Loss::Ctc || wanted.loss == Loss::Custom)
      return Status::Usage(fmt::format("{}: a CRF, ctc and a loss of the program's own are for a job with one output", called),
                           "choose another loss, or leave [[outputs]] out");
    asked_.push_back({.layer = layer});
  }
  return Status::Ok();
}

// Behind CheckSeveral: what the data have for each.
Status SpecBuilder::FindSeveral() {
  PLIMSOLL_CHECK(shape_.several == job_.outputs.size(), "the data were opened with the targets of the job's outputs");
  const TrainOptions& train = job_.train;
  bool entropy = false, huber = false;
  for (size_t i = 0; i < job_.outputs.size(); ++i) {
    const OutputOptions& wanted = job_.outputs[i];
    const TargetShape target = shape_.Target(i);
    const std::string called = fmt::format("outputs[{}]", i);
    const Loss automatic = target.are_classes ? Loss::SparseCategoricalCrossentropy : Loss::MeanSquaredError;
    const Loss loss = wanted.loss == Loss::Auto ? automatic : wanted.loss;
    if ((loss == Loss::SparseCategoricalCrossentropy || loss == Loss::CategoricalCrossentropy) != target.are_classes)
      return Status::Usage(fmt::format("{}: its loss does not go with its targets, which are {}", called,
                                       target.are_classes ? "class numbers" : "values"),
                           "leave loss out");
    asked_[i] = {
        .layer = asked_[i].layer, .target = target, .loss = loss, .weight = wanted.loss_weight, .classify = target.are_classes};
    entropy = entropy || target.are_classes || loss == Loss::BinaryCrossentropy;
    huber = huber || loss == Loss::Huber;
  }
  if (train.label_smoothing > 0.0 && !entropy)
    return Status::Usage(
        fmt::format("train.label_smoothing = {}: a setting of the crossentropies alone", train.label_smoothing),
        "leave it out, or choose another loss");
  if (train.huber_delta != TrainOptions().huber_delta && !huber)
    return Status::Usage(fmt::format("train.huber_delta = {}: a setting of loss huber alone", train.huber_delta),
                         "leave it out, or write loss = \"huber\" on an output");
  return Status::Ok();
}

// The layers that each layer reads, by number. A layer is listed behind all that it reads, so no cycle can be.
Status SpecBuilder::FindInputs() {
  for (at_ = 0; at_ < layer_count_; ++at_) {
    const std::vector<std::string>& asked = job_.layers[at_].inputs;
    std::vector<Input>& found = inputs_.emplace_back();
    if (asked.empty()) found.push_back({static_cast<int>(at_) - 1});
    static_assert(kModelInput == -1, "the layer before the first is the batch itself");
    for (const std::string& name : asked) {
      if (name == kInputName) {
        found.push_back({kModelInput});
        continue;
      }
      auto named = std::find(names_.begin(), names_.end(), name);
      const bool state = named == names_.end() && name.ends_with(kStateSuffix);
      if (state) named = std::find(names_.begin(), names_.end(), name.substr(0, name.size() - kStateSuffix.size()));
      if (state && named != names_.end() && !ReturnsState(static_cast<size_t>(named - names_.begin())))
        return Refuse(fmt::format("it reads \"{}\", but \"{}\" does not return its State", name, *named),
                      fmt::format("set return_state = true on \"{}\"", *named));
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
      found.push_back({static_cast<int>(number), state});
    }
    const bool merges = std::holds_alternative<MergeOptions>(job_.layers[at_].kind);
    if (merges && found.size() < 2)
      return Refuse(fmt::format("it has {} input, wanted two or more", found.size()),
                    "name the layers that it reads: inputs = [\"lstm\", \"dense\"]");
    if (!merges && found.size() > 1)
      return Refuse(fmt::format("it has {} inputs, wanted one", found.size()),
                    "put {type = \"Concatenate\", inputs = [...]} before it");
  }
  for (at_ = 0; at_ < layer_count_; ++at_) {
    const bool read = AnyReader(at_, [](size_t) { return true; });
    const bool given = several() ? OutputAt(at_) != nullptr : at_ + 1 == layer_count_;
    if (!read && !given)
      return Refuse(several() ? "no layer reads what it gives, and it is no output" : "no layer reads what it gives",
                    "name it among the inputs of a layer behind it, or remove it");
    if (read && given)
      return Refuse("it is an output, but a layer reads it",
                    "add a Dense of its own for the output, beside what reads this one");
  }
  for (at_ = 0; at_ < layer_count_; ++at_)
    if (ReturnsState(at_) && !IsRead({static_cast<int>(at_), /*state=*/true}))
      return Refuse(fmt::format("return_state = true, but no layer reads \"{}{}\"", names_[at_], kStateSuffix),
                    "name it among the inputs of a layer behind it, or leave return_state out");
  return Status::Ok();
}

Status SpecBuilder::CheckInputs() const {
  const std::vector<Input>& inputs = inputs_[at_];
  const bool reads_data =
      std::any_of(inputs.begin(), inputs.end(), [](const Input& input) { return input.layer == kModelInput; });
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
  if (std::holds_alternative<CTCOptions>(job_.layers[head_].kind)) return CtcIsNoLayer(head_);
  if (!several() && !std::holds_alternative<DenseOptions>(job_.layers[head_].kind))
    return Status::Usage(fmt::format("{} is the last layer; the last layer must be a Dense, which gives the {}", Called(head_),
                                     HasClassTargets(job_) ? "classes" : "values"),
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
  PLIMSOLL_RETURN_IF_ERROR(CheckBiasPenalties(asked));
  int64_t width = asked.units;
  if constexpr (requires { asked.proj_size; }) {
    if (asked.proj_size < 0 || asked.proj_size >= asked.units)
      return Refuse(fmt::format("proj_size = {} with units = {}, wanted less than units, or 0", asked.proj_size, asked.units),
                    "leave proj_size out, or make units larger");
    if (asked.proj_size > 0) width = asked.proj_size;
  }
  if constexpr (std::is_same_v<Options, LSTMOptions>) PLIMSOLL_RETURN_IF_ERROR(CheckNormalization(asked));
  if (asked.go_backwards) PLIMSOLL_RETURN_IF_ERROR(CheckFirstInTime());
  spec_.reversed = spec_.reversed || asked.go_backwards;
  const auto reads_steps = [this](size_t layer) {
    const AskedOutput* output = OutputAt(layer);
    return KnowsTime(job_.layers[layer].kind) || (output != nullptr && output->per_step());
  };
  const bool sequences = asked.return_sequences.value_or(AnyReader(at_, reads_steps));
  const std::string& name = names_[at_];
  Options resolved = asked;
  resolved.return_sequences = sequences;
  Append(name, resolved, width);
  const int64_t state_width = width + (std::is_same_v<Options, LSTMOptions> ? asked.units : 0);
  PLIMSOLL_RETURN_IF_ERROR(PlaceState(asked.initial_state, asked.stateful, asked.go_backwards, state_width));
  const Seen steps = out_;
  const bool read = at_ + 1 == layer_count_ || IsRead({static_cast<int>(at_)});
  if (read && !sequences) PLIMSOLL_RETURN_IF_ERROR(AppendPooled(name + "_last", PoolingMode::Last, width));
  const Seen own = out_;
  out_ = steps;
  states_.resize(at_ + 1);
  if (asked.return_state) {
    PLIMSOLL_RETURN_IF_ERROR(AppendPooled(name + std::string(kStateSuffix), PoolingMode::State, state_width));
    states_[at_] = out_;
  }
  out_ = own;
  return Status::Ok();
}

// A node that an option of the recurrent layer asks for, on the layer's own steps.
Status SpecBuilder::AppendPooled(const std::string& name, PoolingMode mode, int64_t width) {
  const auto clash = std::find(names_.begin(), names_.end(), name);
  if (clash != names_.end())
    return Refuse(fmt::format("its {} called \"{}\", but so is {}", mode == PoolingMode::State ? "State is" : "last state is",
                              name, Called(static_cast<size_t>(clash - names_.begin()))),
                  "give one of them another name");
  spec_.nodes.push_back({.name = name,
                         .kind = PoolingOptions{.mode = mode},
                         .inputs = {out_.node},
                         .in_width = out_.width,
                         .width = width,
                         .per_step = false,
                         .implied = true});
  out_ = {.node = static_cast<int>(spec_.nodes.size()) - 1, .width = width, .per_step = false, .pooled_by = at_};
  return Status::Ok();
}

// What the State of the layer just appended begins with, where that is not zeros.
Status SpecBuilder::PlaceState(const std::string& initial, bool stateful, bool go_backwards, int64_t width) {
  if (!initial.empty() && initial != kStateOfData)
    return Refuse(fmt::format("initial_state = \"{}\", wanted \"{}\" or nothing", initial, kStateOfData),
                  "give every sample its own in an array `initial_state`, or leave it out to begin with zeros");
  if (initial.empty() && !stateful) return Status::Ok();
  if (!initial.empty() && stateful)
    return Refuse("initial_state and stateful both say what State begins with", "leave one of the two out");
  if (stateful && go_backwards)
    return Refuse("stateful = true, but with go_backwards what a sequence ends with is not what follows it",
                  "leave one of the two out");
  if (spec_.state_width > 0 && spec_.carried != stateful)
    return Refuse("it is stateful and another layer has initial_state, or the other way round",
                  "let State of all layers come from one of the two");
  spec_.nodes.back().state_place = spec_.state_width;
  spec_.state_width += width;
  spec_.carried = stateful;
  return Status::Ok();
}

// Last of all: what the data have to begin with goes to the layers that want it, and nothing is left.
Status SpecBuilder::CheckState() const {
  const int64_t wanted = spec_.carried ? 0 : spec_.state_width;
  if (shape_.state_width == wanted) return Status::Ok();
  if (wanted == 0)
    return Status::Usage(
        fmt::format("the data have an initial_state of {} values a sample, but no layer reads it", shape_.state_width),
        "set initial_state = \"data\" on a recurrent layer, or leave the array out");
  std::string parts;
  for (const Node& node : spec_.nodes) {
    if (node.state_place < 0) continue;
    const auto* lstm = std::get_if<LSTMOptions>(&node.kind);
    parts += fmt::format("{}\"{}\" h {}{}", parts.empty() ? "" : ", ", node.name, node.width,
                         lstm != nullptr ? fmt::format(" and c {}", lstm->units) : "");
  }
  return Status::Usage(
      fmt::format("the data have {} of initial_state a sample, but the layers want {}: {}",
                  shape_.state_width == 0 ? "none" : fmt::format("{} values", shape_.state_width), wanted, parts),
      fmt::format("give an array initial_state of shape (samples, {})", wanted));
}

Status SpecBuilder::Add(const PoolingOptions& asked) {
  if (!in_.per_step)
    return Refuse(fmt::format("a Pooling needs one row a step, but {} gives one row a sample", Called(in_.pooled_by)),
                  UndoPooling(in_.pooled_by));
  int64_t width = in_.width;
  if (asked.mode == PoolingMode::State) {
    const bool recurrent = in_.node != kModelInput && IsRecurrent(spec_.nodes[static_cast<size_t>(in_.node)].kind);
    if (!recurrent)
      return Refuse("mode = \"state\" on a layer that reads no recurrent one", "let it read an LSTM, GRU or SimpleRNN");
    if (const auto* lstm = std::get_if<LSTMOptions>(&spec_.nodes[static_cast<size_t>(in_.node)].kind)) width += lstm->units;
  }
  out_.per_step = false;
  out_.pooled_by = at_;
  Append(names_[at_], asked, width);
  return Status::Ok();
}

Status SpecBuilder::Add(const DenseOptions& asked) {
  const AskedOutput* output = OutputAt(at_);
  int64_t units = asked.units;
  int table = kNoTable;
  if (!asked.tied_to.empty()) {
    const Result<size_t> found = FindTable(asked);
    if (!found.ok()) return found.status();
    table = outputs_[found.value()].node;
    units = std::get<EmbeddingOptions>(spec_.nodes[static_cast<size_t>(table)].kind).input_dim;
  }
  if (output != nullptr && units == 0) {
    units = output->classify ? output->target.classes : output->target.width;
    if (units == 0)
      return Refuse("units = 0 takes the number of classes, which is not known; wanted a number", "set units on this layer");
  }
  if (units == 0)
    return Refuse(fmt::format("units = 0, wanted 1 to {}; only {} its width from the task", kMaxWidth,
                              several() ? "an output takes" : "the last layer takes"),
                  "set units on this layer");
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("units", units));
  if (output != nullptr) {
    PLIMSOLL_RETURN_IF_ERROR(CheckHead(*output, units, asked.activation));
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
  if (output != nullptr && output->loss == Loss::BinaryCrossentropy)
    resolved.activation = Activation::Linear;  // the loss applies it
  Append(names_[at_], resolved, units);
  spec_.nodes.back().table = table;
  return Status::Ok();
}

// The Embedding that a Dense is tied to. One tensor serves both, so all that is said about it must be said once.
Result<size_t> SpecBuilder::FindTable(const DenseOptions& asked) const {
  const auto named = std::find(names_.begin(), names_.end(), asked.tied_to);
  const auto number = static_cast<size_t>(named - names_.begin());
  if (number == names_.size() || !std::holds_alternative<EmbeddingOptions>(job_.layers[number].kind)) {
    const std::string is = number == names_.size() ? "no layer is called so" : fmt::format("that is {}", Called(number));
    return Refuse(fmt::format("tied_to = \"{}\", but {}; wanted an Embedding", asked.tied_to, is),
                  "name the Embedding whose table is to be the kernel, or leave tied_to out");
  }
  if (number > at_)
    return Refuse(fmt::format("tied_to = \"{}\", which is listed behind it", asked.tied_to), "list the Embedding first");
  const auto& table = std::get<EmbeddingOptions>(spec_.nodes[static_cast<size_t>(outputs_[number].node)].kind);
  if (in_.width != table.output_dim)
    return Refuse(fmt::format("its input is {} wide, but the vectors of {}, to which it is tied, are {} wide", in_.width,
                              Called(number), table.output_dim),
                  fmt::format("put {{type = \"Dense\", units = {}}} before it, or change output_dim", table.output_dim));
  if (asked.units != 0 && asked.units != table.input_dim)
    return Refuse(
        fmt::format("units = {}, but {}, to which it is tied, has {} ids", asked.units, Called(number), table.input_dim),
        "leave units out, or set input_dim of the Embedding to the same");
  if (const AskedOutput* output = OutputAt(at_); output != nullptr && output->target.classes > table.input_dim)
    return Refuse(fmt::format("the targets have {} classes, but {}, to which it is tied, has {} ids", output->target.classes,
                              Called(number), table.input_dim),
                  fmt::format("set input_dim of the Embedding to {} or more", output->target.classes));
  if (job_.layers[number].trainable != job_.layers[at_].trainable)
    return Refuse(fmt::format("trainable = {}, but {} of {}, to which it is tied", job_.layers[at_].trainable,
                              job_.layers[number].trainable, Called(number)),
                  "set trainable alike on both");
  if (asked.kernel_initializer != DenseOptions{}.kernel_initializer)
    return Refuse("kernel_initializer on a layer that has no kernel of its own",
                  "leave it out; embeddings_initializer says what the table begins with");
  if (asked.kernel_l1 > 0.0 || asked.kernel_l2 > 0.0)
    return Refuse("a penalty on the kernel of a layer that has none of its own",
                  "write embeddings_l1 or embeddings_l2 on the Embedding");
  return number;
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
  PLIMSOLL_RETURN_IF_ERROR(CheckBiasPenalties(asked));
  Append(names_[at_], asked, asked.filters);
  return Status::Ok();
}

// The data were read with it; there is nothing left to do.
Status SpecBuilder::Add(const MaskingOptions&) {
  if (at_ == 0) return Status::Ok();
  return Refuse("a Masking says how the data are read and can only be the first layer", "list it first, or leave it out");
}

Status SpecBuilder::Add(const CTCOptions&) { return CtcIsNoLayer(at_); }

Status SpecBuilder::CtcIsNoLayer(size_t layer) const {
  return Status::Usage(fmt::format("{}: CTC is a loss and not a layer to list", Called(layer)),
                       "leave it out, and set train.loss = \"ctc\"");
}

// Last of all nodes: what the loss ctc carries along the steps is State, as a layer's is.
Status SpecBuilder::AddLoss() {
  if (spec_.output().loss != Loss::Ctc) return Status::Ok();
  const Node& head = spec_.nodes[static_cast<size_t>(out_.node)];
  const std::string name = head.name + "_ctc";
  if (const auto clash = std::find(names_.begin(), names_.end(), name); clash != names_.end())
    return Status::Usage(fmt::format("{} has the name that the loss of \"{}\" has",
                                     Called(static_cast<size_t>(clash - names_.begin())), head.name),
                         "give one of them another name");
  spec_.nodes.push_back({.name = name,
                         .kind = CTCOptions{.longest = shape_.longest_target},
                         .inputs = {out_.node},
                         .in_width = out_.width,
                         .width = 2 * shape_.longest_target + 1,
                         .implied = true});
  spec_.outputs.front().node = static_cast<int>(spec_.nodes.size()) - 1;
  return Status::Ok();
}

Status SpecBuilder::Add(const CustomOptions& asked) {
  if (asked.layer == nullptr)
    return Refuse(fmt::format("this program has no layer \"{}\"", asked.function),
                  "only the program that a custom layer was written for can run it; see docs/extend.md");
  const int64_t width = asked.layer->Width(in_.width);
  PLIMSOLL_RETURN_IF_ERROR(CheckWidth("Width()", width));
  const std::vector<CustomTensor> tensors = asked.layer->Weights(in_.width);
  if (tensors.size() > Custom::kMostTensors)
    return Refuse(fmt::format("Weights() gives {} tensors, wanted at most {}", tensors.size(), Custom::kMostTensors),
                  "join some");
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

Status SpecBuilder::CheckHead(const AskedOutput& output, int64_t units, Activation activation) const {
  const TargetShape& target = output.target;
  if (output.classify) {
    if (units < target.classes && output.loss == Loss::Ctc)
      return Refuse(
          fmt::format("units = {}, but the targets have labels up to {}, and 0 is the blank", units, target.classes - 1),
          fmt::format("set units to {} or more, or leave it out", target.classes));
    if (units < target.classes)
      return Refuse(
          fmt::format("units = {}, but the targets have {} classes (0 to {})", units, target.classes, target.classes - 1),
          fmt::format("set units to {} or more, or leave it out", target.classes));
    if (!job_.train.class_weight.empty() && static_cast<int64_t>(job_.train.class_weight.size()) != units)
      return Refuse(fmt::format("units = {}, but train.class_weight has {} numbers", units, job_.train.class_weight.size()),
                    "give a number for each class");
    if (activation != Activation::Linear && activation != Activation::Softmax)
      return Refuse(fmt::format("activation \"{}\" on the last Dense of a classify task, wanted linear or softmax",
                                ActivationName(activation)),
                    "leave the activation out; the loss applies the softmax");
    return Status::Ok();
  }
  if (units != target.width)
    return Refuse(fmt::format("units = {}, but a target of the data has {} value(s)", units, target.width),
                  fmt::format("set units to {}, or leave it out", target.width));
  if (output.loss == Loss::BinaryCrossentropy && activation != Activation::Linear && activation != Activation::Sigmoid)
    return Refuse(fmt::format("activation \"{}\" on the last Dense before binary_crossentropy, wanted linear or sigmoid",
                              ActivationName(activation)),
                  "leave the activation out; the loss applies the sigmoid");
  if (activation == Activation::Softmax)
    return Refuse("activation \"softmax\" on the last Dense of a regress task, wanted linear, relu, tanh or sigmoid",
                  "leave the activation out, or set task = \"classify\"");
  return Status::Ok();
}

// Last of all: an output has as many rows as it has targets; for loss ctc one a step.
Status SpecBuilder::CheckRows(const AskedOutput& output) const {
  const Seen& given = outputs_[output.layer];
  const std::string whose = several() ? fmt::format("\"{}\" has", names_[output.layer]) : "the data have";
  if (given.per_step == output.per_step()) return Status::Ok();
  if (!given.per_step)
    return Status::Usage(fmt::format("{} gives one row a sample, but {}", Called(given.pooled_by),
                                     output.loss == Loss::Ctc ? "loss \"ctc\" reads one a step" : whose + " one target a step"),
                         UndoPooling(given.pooled_by));
  // The last recurrent layer can only have stayed per step because the job says so.
  for (size_t layer = layer_count_; layer-- > 0 && !several();)
    if (IsRecurrent(job_.layers[layer].kind))
      return Status::Usage(
          fmt::format("{} has return_sequences = true and gives one row a step, but the data have one target a sample",
                      Called(layer)),
          "add {type = \"Pooling\"} behind it, or leave return_sequences out");
  return Status::Usage(
      fmt::format("{} gives one row a step, but {} one target a sample", Called(several() ? output.layer : layer_count_ - 1),
                  whose),
      several() ? "let it read a {type = \"Pooling\"}" : "add {type = \"Pooling\"} or {type = \"LSTM\"} before it");
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
    if (node.table != kNoTable)
      return Status::Usage(
          fmt::format("train.optimizer = \"lazy_adam\" with \"{}\" tied to the Embedding: every id of it has a gradient",
                      node.name),
          "write \"adam\", or leave tied_to out");
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
    for (const Input& input : inputs_[reader])
      if (input.layer != kModelInput && reached[static_cast<size_t>(input.layer)]) reached[reader] = true;
    if (reached[reader] && wanted(reader)) return true;
  }
  return false;
}

Seen SpecBuilder::InputSeen(size_t which) const {
  const Input& input = inputs_[at_][which];
  if (input.layer == kModelInput) return {.width = spec_.input_width};
  return (input.state ? states_ : outputs_)[static_cast<size_t>(input.layer)];
}

bool SpecBuilder::ReturnsState(size_t layer) const {
  return std::visit(
      []<typename Options>(const Options& options) {
        if constexpr (RecurrentOptions<Options>) return options.return_state;
        return false;
      },
      job_.layers[layer].kind);
}

bool SpecBuilder::IsRead(const Input& output) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const std::vector<Input>& inputs) {
    return std::find(inputs.begin(), inputs.end(), output) != inputs.end();
  });
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
  for (const AskedOutput& output : asked_) {
    const int number = outputs_[output.layer].node;
    const Node& node = spec_.nodes[static_cast<size_t>(number)];
    if (several() && number < last.base() - spec_.nodes.begin())
      return Status::Usage(
          fmt::format("layer \"{}\" is an output, but \"{}\", which reads steps, is listed behind it", node.name, last->name),
          fmt::format("list \"{}\" behind all layers that read steps", node.name));
  }
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

// So what knows time, and what has a target at every step, has to stand behind the layer that turns it round.
Status SpecBuilder::CheckDirection() const {
  if (!spec_.reversed) return Status::Ok();
  std::vector<bool> behind;
  for (size_t n = 0; n < spec_.nodes.size(); ++n) {
    const Node& node = spec_.nodes[n];
    behind.push_back(TurnsRound(node.kind) || std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
                       return input != kModelInput && behind[static_cast<size_t>(input)];
                     }));
    const bool is_output = std::any_of(asked_.begin(), asked_.end(), [&](const AskedOutput& output) {
      return output.per_step() && outputs_[output.layer].node == static_cast<int>(n);
    });
    if (behind[n] || (!KnowsTime(node.kind) && !is_output)) continue;
    return Status::Usage(
        fmt::format("go_backwards = true, but layer \"{}\" does not stand behind the layer that has it: all of a model walks a "
                    "sequence in one direction",
                    node.name),
        "leave go_backwards out, or let that layer read what it gives");
  }
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

Status SpecBuilder::CheckNormalization(const LSTMOptions& asked) const {
  if (!asked.layer_normalization) {
    if (asked.epsilon == LSTMOptions{}.epsilon) return Status::Ok();
    return Refuse(fmt::format("epsilon = {} on a layer that normalises nothing", asked.epsilon),
                  "set layer_normalization = true, or leave epsilon out");
  }
  const auto refuse_with = [this](const char* key) {
    return Refuse(fmt::format("{} together with layer_normalization", key), "leave one of the two out");
  };
  if (asked.proj_size > 0) return refuse_with("proj_size");
  if (asked.dropout > 0.0) return refuse_with("dropout");
  if (asked.recurrent_dropout > 0.0) return refuse_with("recurrent_dropout");
  return Status::Ok();
}

std::string SpecBuilder::UndoPooling(size_t layer) const {
  if (ReturnsState(layer)) return fmt::format("read \"{}\" itself and not what it returns at the end", names_[layer]);
  if (std::holds_alternative<PoolingOptions>(job_.layers[layer].kind)) return fmt::format("remove {}", Called(layer));
  return fmt::format("leave return_sequences out on {}, or set it to true", Called(layer));
}

}  // namespace

Result<Spec> MakeSpec(const Job& job, const SampleShape& shape) { return SpecBuilder(job, shape).Build(); }

Status CheckOutputs(const Job& job) {
  const SampleShape unknown;
  return job.outputs.empty() ? Status::Ok() : SpecBuilder(job, unknown).CheckSeveral();
}

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
    if (lstm->layer_normalization) {
      for (const char* name : {"norm_ih_weight", "norm_ih_bias", "norm_hh_weight", "norm_hh_bias"})
        add(name, {4 * lstm->units});
      for (const char* name : {"norm_c_weight", "norm_c_bias"}) add(name, {lstm->units});
    }
  } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
    add_recurrent(3, gru->reset_after, *gru);
  } else if (const auto* rnn = std::get_if<SimpleRNNOptions>(&node.kind)) {
    add_recurrent(1, false, *rnn);
  } else if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
    if (node.table == kNoTable) add("weight", {node.width, node.in_width}, dense->kernel_l1, dense->kernel_l2);
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
