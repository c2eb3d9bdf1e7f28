#include "model/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "data/batch.h"
#include "layers/activation.h"
#include "layers/conv1d.h"
#include "layers/custom.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/layer_normalization.h"
#include "layers/merge.h"
#include "layers/normalized_lstm.h"
#include "layers/recurrent.h"
#include "model/layer_kinds.h"

namespace plimsoll {
namespace {

constexpr int64_t kFloat = sizeof(float);

// Makes the layer of a node. `wants_gradient`: a layer that it reads learns. A layer with weights learns where the node is
// trainable. `layers`: those before it.
// table_ids: of the table whose products it looks up.
std::unique_ptr<Layer> MakeLayer(const Spec& spec, int number, int64_t input_stride, bool wants_gradient, int32_t lanes,
                                 int64_t table_ids, const std::vector<std::unique_ptr<Layer>>& layers) {
  const Node& node = spec.nodes[static_cast<size_t>(number)];
  if (const auto* embedding = std::get_if<EmbeddingOptions>(&node.kind)) {
    return std::make_unique<Embedding>(Embedding::Config{
        .ids = embedding->input_dim,
        .width = embedding->output_dim,
        .learns = node.trainable,
        .panels = std::any_of(spec.nodes.begin(), spec.nodes.end(), [&](const Node& other) { return other.table == number; }),
        .table = {.start = embedding->embeddings_initializer, .l1 = embedding->embeddings_l1, .l2 = embedding->embeddings_l2}});
  }
  if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind); lstm != nullptr && lstm->layer_normalization) {
    return std::make_unique<NormalizedLstm>(NormalizedLstm::Config{
        .inputs = node.in_width,
        .units = lstm->units,
        .input_stride = input_stride,
        .input_gradient = wants_gradient,
        .learns = node.trainable,
        .activations = {.outer = lstm->activation, .gate = lstm->recurrent_activation},
        .epsilon = lstm->epsilon,
        .use_bias = lstm->use_bias,
        .forget_one = lstm->unit_forget_bias,
        .truncate = spec.truncate,
        .kernel = {.start = lstm->kernel_initializer, .l1 = lstm->kernel_l1, .l2 = lstm->kernel_l2},
        .recurrent = {.start = lstm->recurrent_initializer, .l1 = lstm->recurrent_l1, .l2 = lstm->recurrent_l2},
        .bias = {.start = lstm->bias_initializer, .l1 = lstm->bias_l1, .l2 = lstm->bias_l2}});
  }
  if (IsRecurrent(node.kind)) {
    Recurrent::Config config{.inputs = node.in_width,
                             .input_stride = input_stride,
                             .input_gradient = wants_gradient,
                             .learns = node.trainable,
                             .number = static_cast<uint32_t>(number),
                             .truncate = spec.truncate,
                             .lanes = lanes,
                             .table_ids = table_ids};
    std::visit(
        [&]<typename Options>(const Options& options) {
          if constexpr (RecurrentOptions<Options>) {
            config.units = options.units;
            config.activations.outer = options.activation;
            config.use_bias = options.use_bias;
            config.kernel = {.start = options.kernel_initializer, .l1 = options.kernel_l1, .l2 = options.kernel_l2};
            config.recurrent = {.start = options.recurrent_initializer, .l1 = options.recurrent_l1, .l2 = options.recurrent_l2};
            config.bias = {.start = options.bias_initializer, .l1 = options.bias_l1, .l2 = options.bias_l2};
            config.dropout = options.dropout;
            config.recurrent_dropout = options.recurrent_dropout;
          }
          if constexpr (requires { options.recurrent_activation; }) config.activations.gate = options.recurrent_activation;
        },
        node.kind);
    if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
      config.forget_one = lstm->unit_forget_bias;
      config.projected = lstm->proj_size;
    } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
      config.cell = gru->reset_after ? Cell::Gru : Cell::GruBefore;
    } else {
      config.cell = Cell::Rnn;
    }
    return std::make_unique<Recurrent>(config);
  }
  if (const auto* pooling = std::get_if<PoolingOptions>(&node.kind)) {
    Pooling::Config config{.mode = pooling->mode, .width = node.in_width, .of_number = node.inputs[0]};
    if (config.of_number != kModelInput) {
      const Layer& read = *layers[static_cast<size_t>(config.of_number)];
      if (config.mode == PoolingMode::State) config.cell = read.state().c;
      if (ReadsLastStep(config.mode) && read.hears_through_state()) config.h = read.state().h;
    }
    return std::make_unique<Pooling>(config);
  }
  if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
    return std::make_unique<Dense>(
        Dense::Config{.inputs = node.in_width,
                      .units = dense->units,
                      .input_stride = input_stride,
                      .activation = dense->activation,
                      .input_gradient = wants_gradient,
                      .learns = node.trainable,
                      .kernel = {.start = dense->kernel_initializer, .l1 = dense->kernel_l1, .l2 = dense->kernel_l2},
                      .bias = {.start = dense->bias_initializer, .l1 = dense->bias_l1, .l2 = dense->bias_l2},
                      .tied_to = dense->tied_to});
  }
  if (const auto* activation = std::get_if<ActivationOptions>(&node.kind)) {
    return std::make_unique<ActivationLayer>(
        ActivationLayer::Config{.activation = activation->activation, .width = node.width});
  }
  if (const auto* normalization = std::get_if<LayerNormalizationOptions>(&node.kind)) {
    return std::make_unique<LayerNormalization>(

        LayerNormalization::Config{.width = node.width, .epsilon = normalization->epsilon, .learns = node.trainable});
  }
  if (const auto* merge = std::get_if<MergeOptions>(&node.kind)) {
    Merge::Config config{.mode = merge->mode, .widths = {}};
    for (const int input : node.inputs) {
      config.widths.push_back(input == kModelInput ? spec.input_width : spec.nodes[static_cast<size_t>(input)].width);
    }
    return std::make_unique<Merge>(std::move(config));
  }
  if (const auto* convolution = std::get_if<Conv1DOptions>(&node.kind)) {
    return std::make_unique<Conv1D>(Conv1D::Config{
        .inputs = node.in_width,
        .filters = node.width,
        .taps = convolution->kernel_size,
        .dilation = convolution->dilation_rate,
        .activation = convolution->activation,
        .use_bias = convolution->use_bias,
        .input_gradient = wants_gradient,
        .learns = node.trainable,
        .kernel = {.start = convolution->kernel_initializer, .l1 = convolution->kernel_l1, .l2 = convolution->kernel_l2},
        .bias = {.start = convolution->bias_initializer, .l1 = convolution->bias_l1, .l2 = convolution->bias_l2}});
  }
  if (const auto* custom = std::get_if<CustomOptions>(&node.kind)) {
    return std::make_unique<Custom>(Custom::Config{
        .layer = custom->layer.get(), .function = custom->function, .inputs = node.in_width, .learns = node.trainable});
  }
  if (std::holds_alternative<CRFOptions>(node.kind))
    return std::make_unique<Crf>(Crf::Config{.tags = node.width, .learns = node.trainable});
  if (const auto* ctc = std::get_if<CTCOptions>(&node.kind))
    return std::make_unique<Ctc>(Ctc::Config{.classes = node.in_width, .longest = ctc->longest});
  const auto& dropout = std::get<DropoutOptions>(node.kind);
  return std::make_unique<Dropout>(Dropout::Config{
      .rate = dropout.rate, .spatial = dropout.spatial, .width = node.width, .number = static_cast<uint32_t>(number)});
}

// Whether a layer of this kind may read ids and look up the products of their vectors: one that masks them may not.
bool CanLookUp(const LayerKind& kind) {
  if (const auto* lstm = std::get_if<LSTMOptions>(&kind)) return lstm->dropout == 0.0 && !lstm->layer_normalization;
  if (const auto* gru = std::get_if<GRUOptions>(&kind)) return gru->dropout == 0.0;
  const auto* rnn = std::get_if<SimpleRNNOptions>(&kind);
  return rnn != nullptr && rnn->dropout == 0.0;
}

int64_t WeightBytes(const Layer& layer) {
  NeedList needs;
  layer.Declare(needs, /*training=*/false);
  for (const Need& need : needs.needs()) {
    if (need.key == kWeights) return need.bytes;
  }
  return 0;
}

// What orthogonal first weights are made in, where no gradient buffer lends its place.
int64_t StartRowsBytes(const Layer& layer) {
  int64_t most = 0;
  for (const WeightTensor& tensor : layer.Weights()) {
    if (tensor.rule.start == Initializer::Orthogonal) most = std::max(most, tensor.rows * tensor.columns * kFloat);
  }
  return most;
}

int64_t RowBytes(int64_t width) { return ActivationStride(width) * kFloat; }

void DeclareBlocks(const Network& network, bool training, NeedList& needs) {
  for (int number = 0; number < network.body_layers(); ++number) {
    const Layer& layer = network.layer(number);
    if (network.pooling(number) != nullptr || !network.runs(number)) continue;
    needs.Scratch(OutputKey(number), "output of " + network.name(number),
                  layer.carries_rows() ? NeedUnit::BlockAndRow : NeedUnit::RowStep, RowBytes(layer.width()),
                  StepMoment::Forward, StepMoment::Backward);
  }
  if (!training) return;
  int buffer = 0;
  for (const int64_t width : network.routes().block_widths()) {
    needs.Scratch(GradientKey(network.layers(), buffer), fmt::format("gradient {} of a block", buffer + 1), NeedUnit::RowStep,
                  RowBytes(width), StepMoment::Head, StepMoment::Backward);
    ++buffer;
  }
}

void DeclareHead(const Network& network, bool training, NeedList& needs) {
  for (int number = network.body_layers(); number < network.layers(); ++number) {
    needs.Scratch(OutputKey(number), "output of " + network.name(number), NeedUnit::SliceRow,
                  RowBytes(network.layer(number).width()), StepMoment::Head, StepMoment::Head);
  }
  needs.Scratch(Losses, "losses", NeedUnit::SliceRow, sizeof(double), StepMoment::Head, StepMoment::Head);
  needs.Scratch(Hits, "hits", NeedUnit::SliceRow, sizeof(double), StepMoment::Head, StepMoment::Head);
  if (network.spec().weighted || !network.spec().class_weight.empty()) {
    needs.Scratch(ItemWeights, "weights of items", NeedUnit::SliceRow, kFloat, StepMoment::Head, StepMoment::Head);
  }
  if (network.spec().output().loss == Loss::Custom) {
    needs.Scratch(LossGradient, "gradient of the loss", NeedUnit::SliceRow, RowBytes(network.spec().output().width),
                  StepMoment::Head, StepMoment::Head);
  }
  if (!training) return;
  int buffer = 0;
  for (const int64_t width : network.routes().slice_widths()) {
    needs.Scratch(GradientKey(network.layers(), buffer), fmt::format("gradient {} of a slice", buffer + 1), NeedUnit::SliceRow,
                  RowBytes(width), StepMoment::Head, StepMoment::Head);
    ++buffer;
  }
}

// What a row group brings along from the data.
void DeclareGroupData(const Network& network, const NeedOptions& options, NeedList& needs) {
  needs.Data(Inputs, options.shape.ids ? "ids" : "features", NeedUnit::RowStep, options.shape.width * kFloat);
  const int64_t labels = options.shape.longest_target;
  for (size_t output = 0; output < options.shape.outputs(); ++output) {
    const TargetShape target = options.shape.Target(output);
    const std::string& of = network.name(network.spec().outputs[output].node);
    needs.Data(TargetsKey(output), options.shape.several == 0 ? "targets" : "targets of " + of,
               target.per_step ? NeedUnit::RowStep : NeedUnit::Row, (labels > 0 ? labels : target.width) * kFloat);
  }
  if (labels > 0) needs.Data(TargetLengths, "lengths of targets", NeedUnit::Row, sizeof(int32_t));
  if (options.shape.weighted) needs.Data(SampleWeights, "weights of samples", NeedUnit::Row, kFloat);
  if (options.shape.state_width > 0) {
    needs.Data(StartState, "State to begin with", NeedUnit::Row, options.shape.state_width * kFloat);
  }
}

void DeclareBatch(const Network& network, const NeedOptions& options, NeedList& needs) {
  const int64_t batch = options.batch_size;
  needs.Data(SampleNumbers, "sample numbers", NeedUnit::Whole, batch * static_cast<int64_t>(sizeof(int64_t)));
  needs.Data(EpochNumbers, "sample numbers in file order", NeedUnit::Whole, batch * static_cast<int64_t>(sizeof(int64_t)));
  needs.Data(Lengths, "lengths", NeedUnit::Whole, batch * static_cast<int64_t>(sizeof(int32_t)));
  if (options.training && options.window > 0)
    needs.Param(WindowNumbers, "sample numbers of a window", options.window * static_cast<int64_t>(sizeof(int64_t)));
  DeclareGroupData(network, options, needs);
  if (network.spec().carried) {
    const int64_t tables = 2 * batch * network.spec().carried_width() * kFloat;
    if (options.training) needs.Param(CarriedState, "State that goes on", tables);
    needs.Param(ScoredState, "State that goes on in scores", tables);
  }
  needs.Scratch(RowBuffer, "row buffer", NeedUnit::Whole, kRowBufferBytes, StepMoment::Read, StepMoment::Read);
}

}  // namespace

int GroupsAbreast(const Network& network, int64_t batch_rows) {
  constexpr int64_t kFewestRows = 8;                     // of a group: products of fewer take as long
  constexpr int64_t kMostWeightBytes = 4 * 1024 * 1024;  // a second gradient is written and read once more at every update
  if (batch_rows < kMostAbreast * kFewestRows || network.weight_bytes() > kMostWeightBytes) return 1;
  // What the program has brought along is called by one thread at a time.
  const auto& nodes = network.spec().nodes;
  const bool own = std::any_of(nodes.begin(), nodes.end(),
                               [](const Node& node) { return std::holds_alternative<CustomOptions>(node.kind); });
  return own || network.spec().custom_loss != nullptr ? 1 : kMostAbreast;
}

bool LookUpPays(int64_t ids, int64_t batch_steps) {
  constexpr int64_t kMostIds = 256;    // the products stay small beside the layer's weights
  constexpr int64_t kStepsOfAnId = 4;  // with fewer, making them costs what it saves
  return ids <= std::min(kMostIds, batch_steps / kStepsOfAnId);
}

Network::Network(Spec spec, int32_t lanes, int64_t batch_steps)
    : spec_(std::move(spec)), nodes_(spec_.nodes), runs_(spec_.nodes.size(), true), lanes_(lanes) {
  LookUpProducts(batch_steps);
  for (size_t i = 0; i < spec_.nodes.size(); ++i) {
    const Node& node = spec_.nodes[i];
    const int number = static_cast<int>(i);
    const bool first = node.inputs[0] == kModelInput;
    const int64_t input_stride = first && !spec_.id_input ? spec_.input_width : ActivationStride(node.in_width);
    const bool learns_below = std::any_of(node.inputs.begin(), node.inputs.end(),
                                          [&](int input) { return input != kModelInput && wants_gradient(input); });
    const bool looks_up = inputs(number) != node.inputs;
    layers_.push_back(
        MakeLayer(spec_, number, input_stride, learns_below, lanes, looks_up ? IdsOf(node.inputs[0]) : 0, layers_));
    wants_gradient_.push_back(learns_below || learns(number));
    if (KnowsTime(node.kind)) body_layers_ = number + 1;
    const bool pools = std::holds_alternative<PoolingOptions>(node.kind);
    poolings_.push_back(pools ? static_cast<const Pooling*>(layers_.back().get()) : nullptr);
    if (std::holds_alternative<CRFOptions>(node.kind)) crf_ = static_cast<const Crf*>(layers_.back().get());
    if (std::holds_alternative<CTCOptions>(node.kind)) ctc_ = static_cast<const Ctc*>(layers_.back().get());
  }
  PLIMSOLL_CHECK(std::any_of(wants_gradient_.begin(), wants_gradient_.end(), [](bool wanted) { return wanted; }),
                 "a model learns something; the spec sees to it");
  for (int number = 0; number < body_layers_; ++number) body_learns_ = body_learns_ || wants_gradient(number);
  head_steps_ = is_own_loss();  // outputs are looked at block by block
  for (int number = body_layers_; number < layers(); ++number) {
    (spec_.nodes[static_cast<size_t>(number)].per_step ? head_steps_ : head_rows_) = true;
  }
  std::vector<bool> by_state;
  for (const Pooling* pooling : poolings_) by_state.push_back(pooling != nullptr && pooling->leaves_gradient_in_state());
  routes_ = GradientRoutes(nodes_, wants_gradient_, by_state, body_layers_);
  PLIMSOLL_CHECK(body_layers_ < layers() || is_own_loss(), "the last layer is a Dense or its own loss; the spec sees to it");
}

// A recurrent layer that alone reads an Embedding of few ids looks up what it makes of their vectors (kernels/recurrent.h).
// Whether it does follows from the job and its data, never from the budget: the gradient's last bits depend on it.
void Network::LookUpProducts(int64_t batch_steps) {
  for (size_t reader = 0; reader < nodes_.size(); ++reader) {
    const int table = nodes_[reader].inputs[0];
    if (table == kModelInput || !is_table(table) || nodes_[reader].inputs.size() > 1) continue;
    if (!LookUpPays(IdsOf(table), batch_steps) || !CanLookUp(nodes_[reader].kind)) continue;
    const auto readers = std::count_if(nodes_.begin(), nodes_.end(), [&](const Node& other) {
      return other.table == table || std::find(other.inputs.begin(), other.inputs.end(), table) != other.inputs.end();
    });
    if (readers > 1) continue;
    nodes_[reader].inputs = {kModelInput};
    nodes_[reader].table = table;
    runs_[static_cast<size_t>(table)] = false;
  }
}

int64_t Network::IdsOf(int table) const {
  return std::get<EmbeddingOptions>(spec_.nodes[static_cast<size_t>(table)].kind).input_dim;
}

bool Network::learns(int number) const {
  return spec_.nodes[static_cast<size_t>(number)].trainable && !layer(number).Weights().empty();
}

bool Network::is_output(int number) const {
  return std::any_of(spec_.outputs.begin(), spec_.outputs.end(),
                     [&](const ModelOutput& output) { return output.node == number; });
}

bool Network::is_table(int number) const {
  return std::holds_alternative<EmbeddingOptions>(spec_.nodes[static_cast<size_t>(number)].kind);
}

EpochWork Network::Work(int64_t rows, int64_t row_steps, int64_t updates) const {
  constexpr double kUpdate = 400.0;  // operations a weight: the optimizer waits for memory
  EpochWork work;
  int64_t weights = 0;
  for (int number = 0; number < layers(); ++number) {
    const LayerWork own = layer(number).Work();
    const bool per_step = number < body_layers_ || spec_.nodes[static_cast<size_t>(number)].per_step;
    const auto count = static_cast<double>(per_step ? row_steps : rows);
    (number < body_layers_ ? work.forward : work.backward) += own.forward * count;
    work.backward += own.backward * count;
    if (learns(number)) weights += WeightBytes(layer(number)) / kFloat;
  }
  work.update = kUpdate * static_cast<double>(weights) * static_cast<double>(updates);
  return work;
}

void Network::AddTiles(ProductSet& products) {
  for (const auto& layer : layers_) layer->AddTiles(products);
}

int64_t Network::weight_bytes() const {
  int64_t bytes = 0;
  for (const auto& layer : layers_) bytes += WeightBytes(*layer);
  return bytes;
}

int64_t Network::confused_classes() const {
  if (spec_.outputs.size() != 1 || !spec_.output().class_targets() || ctc_ != nullptr) return 0;
  return spec_.output().width <= kMostConfusedClasses ? spec_.output().width : 0;
}

namespace {

// What another row group holds for itself, in the order of all owners.
void AddGroupBeside(const Network& network, const NeedOptions& options, std::vector<OwnerNeeds>& owners) {
  NeedList data;
  DeclareGroupData(network, options, data);
  const size_t first_group = static_cast<size_t>(network.layers()) + static_cast<size_t>(NetworkOwner::Count);
  for (size_t i = 0; i < first_group; ++i) {
    OwnerNeeds own{.owner = owners[i].owner + " beside", .needs = {}, .beside = true};
    const int number = static_cast<int>(i) - network.layers();
    if (number == static_cast<int>(NetworkOwner::Batch)) {
      own.needs = data.needs();
    } else if (number < static_cast<int>(NetworkOwner::Optimizer)) {
      for (const Need& need : owners[i].needs) {
        if (need.life != Life::Param) own.needs.push_back(need);
      }
    }
    owners.push_back(std::move(own));
  }
}

}  // namespace

std::vector<OwnerNeeds> DeclareNeeds(const Network& network, const NeedOptions& options) {
  std::vector<OwnerNeeds> owners;
  NeedList slots, optimizer;
  int64_t chunks = 0, start_rows = 0;
  bool penalties = false;
  for (int number = 0; number < network.layers(); ++number) {
    const Layer& layer = network.layer(number);
    NeedList needs;
    layer.Declare(needs, options.training);
    const int64_t weights = WeightBytes(layer);
    if (network.learns(number)) {
      chunks += (weights / kFloat + kSumChunk - 1) / kSumChunk;
      for (const WeightTensor& tensor : layer.Weights()) penalties = penalties || tensor.rule.penalised();
    }
    if (options.training && !network.learns(number)) start_rows = std::max(start_rows, StartRowsBytes(layer));
    if (options.training && network.learns(number)) {
      needs.Grad(kGradient, "gradient", weights);
      if (options.touched && network.is_table(number)) {
        needs.Grad(kTouched, "rows looked up",
                   (layer.Weights().front().rows + 63) / 64 * static_cast<int64_t>(sizeof(uint64_t)));
      }
      for (int moment = 0; moment < options.moments; ++moment) {
        const char* name = options.moments == 1 ? "moment of " : moment == 0 ? "first moment of " : "second moment of ";
        optimizer.Moment(MomentKey(number, moment), name + network.name(number), weights);
      }
      if (options.averages) optimizer.Moment(MomentKey(number, kAverage), "average of " + network.name(number), weights);
    }
    for (const Need& need : needs.needs()) {
      if (need.in_slots && options.training) {
        slots.Slots(static_cast<int>(slots.needs().size()), "slots of " + network.name(number) + " " + need.name, need.bytes);
      }
    }
    owners.push_back({network.name(number), needs.needs()});
  }
  if (options.training || penalties) {
    optimizer.Scratch(PartialSums, "partial sums", NeedUnit::Whole, chunks * static_cast<int64_t>(sizeof(double)),
                      StepMoment::Update, StepMoment::Update);
  }
  NeedList blocks, head, batch, files;
  DeclareBlocks(network, options.training, blocks);
  DeclareHead(network, options.training, head);
  DeclareBatch(network, options, batch);
  files.Scratch(WriteBuffer, "write buffer", NeedUnit::Whole, kWriteBufferBytes, StepMoment::Save, StepMoment::Save);
  if (start_rows > 0) {
    files.Scratch(StartRows, "rows of first weights", NeedUnit::Whole, start_rows, StepMoment::Save, StepMoment::Save);
  }
  if (options.trace_bytes > 0) {
    files.Scratch(TracePieces, "pieces of the trace", NeedUnit::Whole, options.trace_bytes, StepMoment::Read, StepMoment::Save);
  }
  if (const int64_t classes = network.confused_classes(); options.confusion && classes > 0) {
    files.Scratch(ConfusionCounts, "confusion matrix", NeedUnit::Whole,
                  classes * classes * static_cast<int64_t>(sizeof(int64_t)), StepMoment::Read, StepMoment::Save);
  }
  if (options.metric_bytes > 0) {
    files.Scratch(MetricCounts, "counts of metrics", NeedUnit::Whole, options.metric_bytes, StepMoment::Read, StepMoment::Save);
  }
  if (options.training) {
    files.Scratch(Examples, "examples of predictions", NeedUnit::Whole, static_cast<int64_t>(kMostExamples * sizeof(Example)),
                  StepMoment::Read, StepMoment::Save);
  }
  if (options.candidates_bytes > 0) {
    files.Scratch(TokenCandidates, "candidates of a token", NeedUnit::Whole, options.candidates_bytes, StepMoment::Read,
                  StepMoment::Save);
  }
  // In the order of NetworkOwner.
  owners.push_back({"blocks", blocks.needs()});
  owners.push_back({"head", head.needs()});
  owners.push_back({"slots", slots.needs()});
  owners.push_back({"batch", batch.needs()});
  owners.push_back({"optimizer", optimizer.needs()});
  owners.push_back({"files", files.needs()});
  for (int group = 1; group < options.abreast; ++group) AddGroupBeside(network, options, owners);
  return owners;
}

NetworkMemory::NetworkMemory(const Network& network, const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena,
                             const NetworkMemory* first)
    : layers_(network.layers()), first_(first) {
  for (int number = 0; number < network.layers(); ++number) tables_.push_back(network.table(number));
  Bind(needs, plan, arena);
}

void NetworkMemory::Bind(const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena) {
  group_rows_ = plan.group_rows;
  slice_rows_ = plan.loss_slice_rows;
  owners_.clear();
  states_.clear();
  const size_t own = static_cast<size_t>(layers_) + static_cast<size_t>(NetworkOwner::Count);
  const size_t begin = first_ == nullptr ? 0 : own;
  PLIMSOLL_CHECK(needs.size() >= begin + own, "every owner has declared");
  size_t buffer = 0;
  for (size_t number = 0; number < begin; ++number) buffer += needs[number].needs.size();
  for (size_t number = 0; number < own; ++number) {
    const OwnerNeeds& owner = needs[begin + number];
    OwnerMemory& memory = owners_.emplace_back(&position);
    for (const Need& need : owner.needs) {
      const PlannedBuffer& planned = plan.buffers[buffer++];
      PLIMSOLL_CHECK(planned.owner == owner.owner && planned.name == need.name, "the plan is one of these needs");
      memory.Bind(need, arena.At(planned.offset));
      arena.FillGuard(planned.offset + planned.bytes);
      if (need.in_slots) states_.push_back({arena.At(planned.offset), nullptr, need.bytes});
    }
    for (const Need& need : needs[number].needs) {
      if (first_ != nullptr && need.life == Life::Param) memory.Share(need.key, first_->owners_[number], need.key);
    }
  }
  for (size_t number = 0; number < tables_.size(); ++number) {
    if (tables_[number] == kNoTable) continue;
    const OwnerMemory& table = layer(tables_[number]);
    owners_[number].Share(kTiedWeights, table, kWeights);
    owners_[number].Share(kTiedGradient, table, kGradient);
  }
  const OwnerMemory& slots = owner(NetworkOwner::Slots);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (slots.Has(static_cast<int>(i))) states_[i].slots = slots.Bytes(static_cast<int>(i));
  }
}

}  // namespace plimsoll
