#include "model/network.h"

#include <algorithm>

#include "base/check.h"
#include "data/batch.h"
#include "layers/activation.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/layer_normalization.h"
#include "layers/recurrent.h"
#include "model/layer_kinds.h"

namespace plimsoll {
namespace {

constexpr int64_t kFloat = sizeof(float);

bool KnowsTime(const LayerKind& kind) { return IsRecurrent(kind) || std::holds_alternative<PoolingOptions>(kind); }

// Makes the layer of a node. `wants_gradient`: a layer below it learns.
std::unique_ptr<Layer> MakeLayer(const Node& node, int number, int64_t input_stride, bool wants_gradient) {
  if (const auto* embedding = std::get_if<EmbeddingOptions>(&node.kind)) {
    return std::make_unique<Embedding>(Embedding::Config{.ids = embedding->input_dim, .width = embedding->output_dim});
  }
  if (IsRecurrent(node.kind)) {
    Recurrent::Config config{
        .inputs = node.in_width, .units = node.width, .input_stride = input_stride, .input_gradient = wants_gradient};
    std::visit(
        [&]<typename Options>(const Options& options) {
          if constexpr (RecurrentOptions<Options>) {
            config.activations.outer = options.activation;
            config.use_bias = options.use_bias;
          }
          if constexpr (requires { options.recurrent_activation; }) config.activations.gate = options.recurrent_activation;
        },
        node.kind);
    if (const auto* lstm = std::get_if<LSTMOptions>(&node.kind)) {
      config.forget_one = lstm->unit_forget_bias;
    } else if (const auto* gru = std::get_if<GRUOptions>(&node.kind)) {
      config.cell = gru->reset_after ? Cell::Gru : Cell::GruBefore;
    } else {
      config.cell = Cell::Rnn;
    }
    return std::make_unique<Recurrent>(config);
  }
  if (const auto* pooling = std::get_if<PoolingOptions>(&node.kind)) {
    return std::make_unique<Pooling>(Pooling::Config{.mode = pooling->mode, .width = node.width});
  }
  if (const auto* dense = std::get_if<DenseOptions>(&node.kind)) {
    return std::make_unique<Dense>(Dense::Config{.inputs = node.in_width,
                                                 .units = dense->units,
                                                 .input_stride = input_stride,
                                                 .activation = dense->activation,
                                                 .input_gradient = wants_gradient});
  }
  if (const auto* activation = std::get_if<ActivationOptions>(&node.kind)) {
    return std::make_unique<ActivationLayer>(
        ActivationLayer::Config{.activation = activation->activation, .width = node.width});
  }
  if (const auto* normalization = std::get_if<LayerNormalizationOptions>(&node.kind)) {
    return std::make_unique<LayerNormalization>(
        LayerNormalization::Config{.width = node.width, .epsilon = normalization->epsilon});
  }
  const auto& dropout = std::get<DropoutOptions>(node.kind);
  return std::make_unique<Dropout>(Dropout::Config{
      .rate = dropout.rate, .spatial = dropout.spatial, .width = node.width, .number = static_cast<uint32_t>(number)});
}

int64_t WeightBytes(const Layer& layer) {
  NeedList needs;
  layer.Declare(needs, /*training=*/false);
  for (const Need& need : needs.needs()) {
    if (need.key == kWeights) return need.bytes;
  }
  return 0;
}

int64_t RowBytes(int64_t width) { return ActivationStride(width) * kFloat; }

void DeclareBlocks(const Network& network, bool training, NeedList& needs) {
  int64_t widest = 0;
  for (int number = 0; number < network.body_layers(); ++number) {
    const Layer& layer = network.layer(number);
    if (&layer == network.pooling()) continue;
    widest = std::max(widest, RowBytes(layer.width()));
    needs.Scratch(FirstOutput + number, "output of " + network.name(number),
                  layer.carries_rows() ? NeedUnit::BlockAndRow : NeedUnit::RowStep, RowBytes(layer.width()),
                  StepMoment::Forward, StepMoment::Backward);
  }
  if (!training || widest == 0) return;
  needs.Scratch(GradientA, "gradient of a block, a", NeedUnit::RowStep, widest, StepMoment::Head, StepMoment::Backward);
  needs.Scratch(GradientB, "gradient of a block, b", NeedUnit::RowStep, widest, StepMoment::Head, StepMoment::Backward);
}

void DeclareHead(const Network& network, NeedList& needs) {
  int64_t widest = 0;
  for (int number = network.body_layers(); number < network.layers(); ++number) {
    const int64_t row = RowBytes(network.layer(number).width());
    needs.Scratch(FirstHeadOutput + number, "output of " + network.name(number), NeedUnit::SliceRow, row, StepMoment::Head,
                  StepMoment::Head);
    if (number + 1 < network.layers()) widest = std::max(widest, row);
  }
  if (widest > 0) {
    needs.Scratch(HeadGradientA, "gradient of a slice, a", NeedUnit::SliceRow, widest, StepMoment::Head, StepMoment::Head);
    needs.Scratch(HeadGradientB, "gradient of a slice, b", NeedUnit::SliceRow, widest, StepMoment::Head, StepMoment::Head);
  }
  needs.Scratch(Losses, "losses", NeedUnit::SliceRow, sizeof(double), StepMoment::Head, StepMoment::Head);
  needs.Scratch(Hits, "hits", NeedUnit::SliceRow, sizeof(double), StepMoment::Head, StepMoment::Head);
}

void DeclareBatch(const NeedOptions& options, NeedList& needs) {
  const int64_t batch = options.batch_size;
  needs.Data(SampleNumbers, "sample numbers", NeedUnit::Whole, batch * static_cast<int64_t>(sizeof(int64_t)));
  needs.Data(EpochNumbers, "sample numbers in file order", NeedUnit::Whole, batch * static_cast<int64_t>(sizeof(int64_t)));
  needs.Data(Lengths, "lengths", NeedUnit::Whole, batch * static_cast<int64_t>(sizeof(int32_t)));
  needs.Data(Inputs, options.shape.ids ? "ids" : "features", NeedUnit::RowStep, options.shape.width * kFloat);
  needs.Data(Targets, "targets", options.shape.target_per_step ? NeedUnit::RowStep : NeedUnit::Row,
             options.shape.target_width * kFloat);
  needs.Scratch(RowBuffer, "row buffer", NeedUnit::Whole, kRowBufferBytes, StepMoment::Read, StepMoment::Read);
}

}  // namespace

Network::Network(Spec spec) : spec_(std::move(spec)) {
  bool learns = false;  // a layer so far has weights
  for (size_t i = 0; i < spec_.nodes.size(); ++i) {
    const Node& node = spec_.nodes[i];
    const int number = static_cast<int>(i);
    PLIMSOLL_CHECK(node.inputs.size() == 1 && node.inputs[0] == number - 1, "the graph is a chain so far");
    const bool first = node.inputs[0] == kModelInput;
    const int64_t input_stride = first && !spec_.id_input ? spec_.input_width : ActivationStride(node.in_width);
    learns_below_.push_back(learns);
    layers_.push_back(MakeLayer(node, number, input_stride, learns));
    learns = learns || !layers_.back()->Weights().empty();
    if (KnowsTime(node.kind)) body_layers_ = number + 1;
    if (std::holds_alternative<PoolingOptions>(node.kind)) pooling_ = static_cast<const Pooling*>(layers_.back().get());
  }
  PLIMSOLL_CHECK(body_layers_ < layers(), "the last layer is a Dense; the spec sees to it");
}

EpochWork Network::Work(int64_t rows, int64_t row_steps, int64_t updates) const {
  constexpr double kUpdate = 400.0;  // operations a weight: the optimizer waits for memory
  EpochWork work;
  int64_t weights = 0;
  for (int number = 0; number < layers(); ++number) {
    const LayerWork own = layer(number).Work();
    const auto count = static_cast<double>(pooling_ != nullptr && number >= body_layers_ ? rows : row_steps);
    (number < body_layers_ ? work.forward : work.backward) += own.forward * count;
    work.backward += own.backward * count;
    weights += WeightBytes(layer(number)) / kFloat;
  }
  work.update = kUpdate * static_cast<double>(weights) * static_cast<double>(updates);
  return work;
}

void Network::AddTiles(ProductSet& products) {
  for (const auto& layer : layers_) layer->AddTiles(products);
}

std::vector<OwnerNeeds> DeclareNeeds(const Network& network, const NeedOptions& options) {
  std::vector<OwnerNeeds> owners;
  NeedList slots, optimizer;
  int64_t chunks = 0;
  for (int number = 0; number < network.layers(); ++number) {
    const Layer& layer = network.layer(number);
    NeedList needs;
    layer.Declare(needs, options.training);
    const int64_t weights = WeightBytes(layer);
    if (weights > 0 && options.training) {
      needs.Grad(kGradient, "gradient", weights);
      for (int moment = 0; moment < options.moments; ++moment) {
        const char* name = options.moments == 1 ? "moment of " : moment == 0 ? "first moment of " : "second moment of ";
        optimizer.Moment(MomentKey(number, moment), name + network.name(number), weights);
      }
      if (options.averages) optimizer.Moment(MomentKey(number, kAverage), "average of " + network.name(number), weights);
      chunks += (weights / kFloat + kSumChunk - 1) / kSumChunk;
    }
    for (const Need& need : needs.needs()) {
      if (need.in_slots && options.training) {
        slots.Slots(static_cast<int>(slots.needs().size()), "slots of " + network.name(number) + " " + need.name, need.bytes);
      }
    }
    owners.push_back({network.name(number), needs.needs()});
  }
  if (options.training) {
    optimizer.Scratch(PartialSums, "partial sums", NeedUnit::Whole, chunks * static_cast<int64_t>(sizeof(double)),
                      StepMoment::Update, StepMoment::Update);
  }
  NeedList blocks, head, batch, files;
  DeclareBlocks(network, options.training, blocks);
  DeclareHead(network, head);
  DeclareBatch(options, batch);
  files.Scratch(WriteBuffer, "write buffer", NeedUnit::Whole, kWriteBufferBytes, StepMoment::Save, StepMoment::Save);
  // In the order of NetworkOwner.
  owners.push_back({"blocks", blocks.needs()});
  owners.push_back({"head", head.needs()});
  owners.push_back({"slots", slots.needs()});
  owners.push_back({"batch", batch.needs()});
  owners.push_back({"optimizer", optimizer.needs()});
  owners.push_back({"files", files.needs()});
  return owners;
}

NetworkMemory::NetworkMemory(const Network& network, const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena)
    : layers_(network.layers()) {
  Bind(needs, plan, arena);
}

void NetworkMemory::Bind(const std::vector<OwnerNeeds>& needs, const Plan& plan, const Arena& arena) {
  group_rows_ = plan.group_rows;
  owners_.clear();
  states_.clear();
  PLIMSOLL_CHECK(needs.size() == static_cast<size_t>(layers_) + static_cast<size_t>(NetworkOwner::Count),
                 "every owner has declared");
  size_t buffer = 0;
  for (const OwnerNeeds& owner : needs) {
    OwnerMemory& memory = owners_.emplace_back(&position);
    for (const Need& need : owner.needs) {
      const PlannedBuffer& planned = plan.buffers[buffer++];
      PLIMSOLL_CHECK(planned.owner == owner.owner && planned.name == need.name, "the plan is one of these needs");
      char* base = arena.At(planned.offset);
      memory.Bind(need, base);
      arena.FillGuard(planned.offset + planned.bytes);
    }
  }
  buffer = 0;
  for (int number = 0; number < layers_; ++number) {
    for (const Need& need : needs[static_cast<size_t>(number)].needs) {
      if (need.in_slots) states_.push_back({arena.At(plan.buffers[buffer].offset), nullptr, need.bytes});
      ++buffer;
    }
  }
  const OwnerMemory& slots = owner(NetworkOwner::Slots);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (slots.Has(static_cast<int>(i))) states_[i].slots = slots.Bytes(static_cast<int>(i));
  }
}

}  // namespace plimsoll
