// step: one training step on one row group, top to bottom.
//   Forward runs block by block through all body layers. Reverse runs block by block from the end: the body's outputs again
//   from the Tape, the head and the loss in slices, then the body's layers from the top down. So no buffer between layers is
//   longer than a block, and neither segments nor slices can change a bit: weight gradients are added in strictly descending
//   blocks, in ascending rows within a block, by one accumulator each.
#include "model/step.h"

#include <algorithm>
#include <cstring>

#include "kernels/losses.h"
#include "kernels/pointwise.h"
#include "layers/rows.h"
#include "plimsoll/custom.h"

namespace plimsoll {

Step::Step(const Network& network, NetworkMemory& memory, ThreadPool& pool, uint64_t dropout_seed)
    : network_(network), memory_(memory), slots_(memory), pool_(pool), run_{.pool = &pool, .dropout_seed = dropout_seed} {
  size_t most = 0;
  for (int layer = 0; layer < network.layers(); ++layer) most = std::max(most, network.inputs(layer).size());
  ins_.resize(most);
  d_ins_.resize(most);
}

void StepSums::Add(const StepSums& more) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].loss += more.outputs[i].loss;
    outputs[i].hits += more.outputs[i].hits;
    outputs[i].items += more.outputs[i].items;
    outputs[i].labels += more.outputs[i].labels;
    outputs[i].label_errors += more.outputs[i].label_errors;
  }
  penalties += more.penalties;
}

double StepSums::MeanLoss(const Spec& spec) const {
  double sum = penalties / static_cast<double>(outputs[0].items);
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    sum += spec.outputs[i].weight * (outputs[i].loss / static_cast<double>(outputs[i].items));
  }
  return sum;
}

namespace {

// As what an action is measured. A segment runs again as a whole or not at all.
Piece PieceOf(const Action& action, int64_t reached) {
  const bool again = action.first_block < reached;
  switch (action.kind) {
    case Action::Kind::Advance:
      return again ? Piece::AdvanceAgain : Piece::Advance;
    case Action::Kind::Keep:
      return Piece::Keep;
    case Action::Kind::Restore:
      return Piece::Restore;
    case Action::Kind::Record:
      return again ? Piece::RecordAgain : Piece::Record;
    case Action::Kind::Reverse:
      break;
  }
  return Piece::Reverse;
}

int64_t PlaceOf(const Action& action) {
  const bool on_slot = action.kind == Action::Kind::Keep || action.kind == Action::Kind::Restore;
  return on_slot ? action.slot : action.first_block;
}

}  // namespace

Status Step::TrainGroup(const RowGroup& group, Schedule& schedule, const BatchItems& items, StepSums& sums,
                        ThreadPool& threads) {
  run_.training = true;
  const std::vector<ModelOutput>& outputs = network_.spec().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    scales_[i] = static_cast<float>(outputs[i].weight / static_cast<double>(items.Of(outputs[i].per_step)));
  }
  run_.scale = scales_[0];
  sums_ = &sums;
  run_.pool = &threads;
  Status done = RunSchedule(group, schedule);
  run_.pool = &pool_;
  return done;
}

Status Step::RunSchedule(const RowGroup& group, Schedule& schedule) {
  StartForward(group);
  int64_t reached = 0;  // blocks that have been run
  for (Action action; schedule.Next(action);) {
    const Timed timed(run_.timeline, PieceOf(action, reached), PlaceOf(action), action.blocks);
    int64_t run = 0;
    switch (action.kind) {
      case Action::Kind::Advance:
        run = Forward(group, action.first_block, action.blocks, Tape::None);
        break;
      case Action::Kind::Keep:
        PLIMSOLL_RETURN_IF_ERROR(slots_.Keep(action.slot, group.Active(action.first_block * kBlockSteps)));
        break;
      case Action::Kind::Restore:
        PLIMSOLL_RETURN_IF_ERROR(RestoreState(group, action.slot, action.first_block));
        break;
      case Action::Kind::Record:
        run = Forward(group, action.first_block, action.blocks, Tape::Keep);
        break;
      case Action::Kind::Reverse:
        Reverse(group, action.first_block, action.blocks);
        break;
    }
    if (action.first_block >= reached) trained_row_steps_ += run;
    reached = std::max(reached, action.first_block + action.blocks);
  }
  return Status::Ok();
}

int64_t Step::Forward(const RowGroup& group, int64_t first_block, int64_t blocks, Tape tape) {
  segment_start_ = first_block;
  int64_t row_steps = 0;
  for (int64_t number = first_block; number < first_block + blocks; ++number) {
    if (tape == Tape::None) segment_start_ = number;  // every block overwrites the one before
    SetPosition(group, number);
    const Block block = BlockAt(group, number);
    const Part part = WholeOf(group, block);
    for (int layer = 0; layer < network_.body_layers(); ++layer) {
      if (!network_.runs(layer)) continue;
      const Timed timed(run_.timeline, Piece::LayerForward, number, 1, layer);
      network_.layer(layer).ForwardAll(InputsOf(layer, part), OutputOf(layer, part), memory_.layer(layer), run_);
    }
    row_steps += part.count;
  }
  return row_steps;
}

void Step::Reverse(const RowGroup& group, int64_t first_block, int64_t blocks) {
  if ((first_block + blocks) * kBlockSteps >= group.steps) StartReverse(group);
  if (!network_.head_steps() && !network_.body_learns()) return;  // the head was all
  for (int64_t number = first_block + blocks - 1; number >= first_block; --number) {
    SetPosition(group, number);
    const Block block = BlockAt(group, number);
    const Part part = WholeOf(group, block);
    for (int layer = 0; layer < network_.body_layers(); ++layer) {
      if (!network_.runs(layer)) continue;
      const Timed timed(run_.timeline, Piece::LayerReplay, number, 1, layer);
      network_.layer(layer).ReplayAll(InputsOf(layer, part), OutputOf(layer, part), memory_.layer(layer), run_);
    }
    if (network_.head_steps()) Head(part, /*per_step=*/true);
    for (int layer = network_.body_layers() - 1; layer >= 0; --layer) Backward(layer, part);
  }
  if (first_block > 0 || network_.crf() == nullptr) return;
  for (int64_t row = 0; row < group.rows; ++row) {
    sums_->outputs[0].hits += static_cast<double>(network_.crf()->HitsOf(memory_.layer(network_.layers() - 1), row));
  }
}

// One layer on the way back: the gradients of its weights are added, those of its inputs written, or added where a layer
// behind it has read the same input.
void Step::Backward(int layer, const Part& part) {
  if (!network_.wants_gradient(layer) || !network_.runs(layer)) return;
  const Timed timed(run_.timeline, Piece::LayerBackward, part.block->first_step / kBlockSteps, 1, layer);
  const std::span<const Slice> ins = InputsOf(layer, part);
  const std::vector<Route>& routes = network_.routes().inputs(layer);
  const std::vector<int>& inputs = network_.inputs(layer);
  for (size_t i = 0; i < routes.size(); ++i) {
    d_ins_[i] = {.block = part.block, .begin = part.begin, .count = part.count};
    if (!routes[i].wanted) continue;
    d_ins_[i] = GradientOf(inputs[i], part);
    if (!routes[i].added) continue;
    d_ins_[i].data = SpareOf(layer, routes[i]);
  }
  network_.layer(layer).BackwardAll(ins, OutputOf(layer, part), GradientOf(layer, part), {d_ins_.data(), routes.size()},
                                    memory_.layer(layer), run_);
  for (size_t i = 0; i < routes.size(); ++i) {
    if (!routes[i].added) continue;
    const Slice& spare = d_ins_[i];
    const Slice sum = GradientOf(inputs[i], part);
    const int64_t width = WholeVectors(network_.layer(inputs[i]).width());
    ForRows(*run_.pool, sum.count, [&](int64_t first, int64_t rows) {
      add_elements(sum.data + first * sum.stride, spare.data + first * spare.stride, rows, width, sum.stride);
    });
  }
}

// The head and the losses on all items of `all`, slice by slice: forward, loss, backward; of those layers that run on steps,
// or of those that run on pooled rows. With a CRF or CTC there is no head: the loss is there at the end of forward, and its
// gradient begins in their own Backward. The outputs of CTC are those of its input.
void Step::Head(const Part& all, bool per_step) {
  const Timed head(run_.timeline, Piece::Loss, all.block->first_step / kBlockSteps, 1);
  const Spec& spec = network_.spec();
  const RowGroup& group = *all.group;
  const int64_t first_item = per_step ? all.block->row_steps_before : 0;
  if (network_.is_own_loss()) {
    const int layer = network_.layers() - 1;
    const Slice out = OutputOf(network_.ctc() != nullptr ? network_.inputs(layer)[0] : layer, all);
    if (sink_ != nullptr) sink_->Rows(0, group, first_item, out.count, out.data, out.stride);
    return;
  }
  const int first = network_.body_layers(), last = network_.layers() - 1;
  const auto runs = [&](int layer) { return spec.nodes[static_cast<size_t>(layer)].per_step == per_step; };
  const int64_t most = memory_.slice_rows();
  for (int64_t begin = 0; begin < all.count; begin += most) {
    const int64_t count = std::min(most, all.count - begin);
    const Part slice{.group = &group, .block = all.block, .begin = begin, .count = count};
    for (int layer = first; layer <= last; ++layer) {
      if (!runs(layer)) continue;
      const Timed timed(run_.timeline, Piece::LayerForward, all.block->first_step / kBlockSteps, 1, layer);
      network_.layer(layer).ForwardAll(InputsOf(layer, slice), OutputOf(layer, slice), memory_.layer(layer), run_);
    }
    for (size_t output = 0; output < spec.outputs.size(); ++output) {
      if (spec.outputs[output].per_step == per_step) LossOf(output, slice, first_item + begin);
    }
    if (!run_.training) continue;
    for (int layer = last; layer >= first; --layer) {
      if (runs(layer)) Backward(layer, slice);
    }
  }
}

// The loss of one output on the items of a slice; what it gave becomes the gradient.
void Step::LossOf(size_t number, const Part& slice, int64_t item) {
  const OwnerMemory& head = memory_.owner(NetworkOwner::Head);
  const Spec& spec = network_.spec();
  const ModelOutput& output = spec.outputs[number];
  const TargetRows& rows_of = slice.group->targets[number];
  float* outputs = head.F32(OutputKey(output.node));
  const int64_t count = slice.count, width = output.width, stride = ActivationStride(width);
  const float scale = run_.training ? scales_[number] : 0.0f;
  double *losses = head.F64(Losses), *hits = head.F64(Hits);
  if (sink_ != nullptr) sink_->Rows(number, *slice.group, item, count, outputs, stride);
  const float* weights = FillWeights(slice, item);
  const auto loss_of = [&](const Share& share) {
    const int64_t rows = share.end - share.begin;
    float* y = outputs + share.begin * stride;
    const int64_t own = item + share.begin;
    double* row_losses = losses + share.begin;
    const auto smoothing = static_cast<float>(spec.label_smoothing);
    if (output.class_targets()) {
      softmax_cross_entropy(y, row_losses, hits + share.begin, rows_of.classes + own, smoothing, scale, rows, width, stride);
      return;
    }
    const float* targets = rows_of.values + own * width;
    switch (output.loss) {
      case Loss::MeanAbsoluteError:
        return mean_absolute_error(y, row_losses, targets, scale, rows, width, stride);
      case Loss::Huber:
        return huber_loss(y, row_losses, targets, static_cast<float>(spec.huber_delta), scale, rows, width, stride);
      case Loss::Custom:
        return OwnLoss(y, row_losses, head.F32(LossGradient) + share.begin * stride, targets, rows);
      case Loss::BinaryCrossentropy:
        return binary_cross_entropy(y, row_losses, targets, smoothing, scale, rows, width, stride);
      default:
        return mean_squared_error(y, row_losses, targets, scale, rows, width, stride);
    }
  };
  run_.pool->Run([&](int part) {
    const Share share = ShareOf(count, part, run_.pool->size());
    loss_of(share);
    for (int64_t row = share.begin; row < share.end && weights != nullptr; ++row) {
      losses[row] *= static_cast<double>(weights[row]);
      for (int64_t at = 0; at < width; ++at) outputs[row * stride + at] *= weights[row];
    }
  });
  OutputSums& sums = sums_->outputs[number];
  for (int64_t row = 0; row < count; ++row) {
    sums.loss += losses[row];
    if (output.class_targets()) sums.hits += hits[row];
  }
  sums.items += count;
}

// What each item of a slice counts; null: all of them 1. Weights of classes count in training alone.
const float* Step::FillWeights(const Part& slice, int64_t first_item) const {
  const RowGroup& group = *slice.group;
  const std::vector<float>& of_class = network_.spec().class_weight;
  const bool by_class = run_.training && !of_class.empty();
  if (group.weights == nullptr && !by_class) return nullptr;
  float* weights = memory_.owner(NetworkOwner::Head).F32(ItemWeights);
  const BlockRows& rows = slice.block->rows;
  int step = 0;
  for (int64_t i = 0; i < slice.count; ++i) {
    const int64_t place = slice.begin + i;
    while (place >= rows.first[step + 1]) ++step;
    weights[i] = group.weights == nullptr ? 1.0f : group.weights[place - rows.first[step]];
    if (by_class) weights[i] *= of_class[static_cast<size_t>(group.targets[0].classes[first_item + i])];
  }
  return weights;
}

// The loss that the program brought along, of some rows: y becomes its gradient.
void Step::OwnLoss(float* y, double* losses, float* gradient, const float* targets, int64_t rows) const {
  const int64_t width = network_.spec().output().width, stride = ActivationStride(width);
  for (int64_t row = 0; row < rows; ++row) {
    float *own = y + row * stride, *d = gradient + row * stride;
    losses[row] = static_cast<double>(network_.spec().custom_loss->Of(own, targets + row * width, width, d));
    for (int64_t at = 0; at < width; ++at) own[at] = d[at] * run_.scale;
    for (int64_t at = width; at < WholeVectors(width); ++at) own[at] = 0.0f;
  }
}

void Step::EvaluateGroup(const RowGroup& group, StepSums& sums) {
  run_.training = false;
  run_.scale = 0.0f;
  sums_ = &sums;
  StartForward(group);
  const int64_t blocks = BlocksOf(group.steps);
  for (int64_t number = 0; number < blocks; ++number) {
    Forward(group, number, 1, Tape::None);
    if (!network_.head_steps()) continue;
    const Block block = BlockAt(group, number);
    Head(WholeOf(group, block), /*per_step=*/true);
  }
  StartReverse(group);
}

const float* Step::Advance(const RowGroup& group, bool begins) {
  run_.training = false;
  if (begins) StartForward(group);
  const Block block = BlockAt(group, 0);
  const Part all = WholeOf(group, block);
  segment_start_ = 0;
  SetPosition(group, 0);
  for (int layer = 0; layer < network_.body_layers(); ++layer) {
    if (!network_.runs(layer)) continue;
    network_.layer(layer).ForwardAll(InputsOf(layer, all), OutputOf(layer, all), memory_.layer(layer), run_);
  }
  const Part last{.group = &group, .block = &block, .begin = all.count - group.rows, .count = group.rows};
  for (int layer = network_.body_layers(); layer < network_.layers(); ++layer) {
    network_.layer(layer).ForwardAll(InputsOf(layer, last), OutputOf(layer, last), memory_.layer(layer), run_);
  }
  return OutputOf(network_.spec().output().node, last).data;
}

void Step::StartForward(const RowGroup& group) {
  const Spec& spec = network_.spec();
  run_.layers = &memory_.layer(0);
  for (int layer = 0; layer < network_.body_layers(); ++layer) {
    network_.layer(layer).StartForward(memory_.layer(layer), group.rows);
    const int64_t place = spec.nodes[static_cast<size_t>(layer)].state_place;
    if (group.start != nullptr && place >= 0)
      LoadState(network_.layer(layer).state(), memory_.layer(layer), group.start + place, spec.state_width, group.rows);
  }
}

// The end of forward has been reached: State is final. Behind pooling this is where the head runs, once.
void Step::StartReverse(const RowGroup& group) {
  const Spec& spec = network_.spec();
  for (int layer = 0; layer < network_.body_layers() && group.end != nullptr; ++layer) {
    const int64_t place = spec.nodes[static_cast<size_t>(layer)].state_place;
    if (place >= 0)
      SaveState(network_.layer(layer).state(), memory_.layer(layer), group.end + place, spec.state_width, group.rows);
  }
  if (run_.training) {
    for (int layer = 0; layer < network_.body_layers(); ++layer) {
      network_.layer(layer).StartBackward(memory_.layer(layer), group.rows);
    }
  }
  if (network_.is_own_loss()) SumSequenceLosses(group);
  if (!network_.head_rows()) return;
  const Block block = PooledBlock(group);
  Head(WholeOf(group, block), /*per_step=*/false);
}

// The losses of a CRF or CTC, and without training what their best sequences hit. While training a CRF's hits come in the end
// of Reverse.
void Step::SumSequenceLosses(const RowGroup& group) {
  const int layer = network_.layers() - 1;
  const OwnerMemory& memory = memory_.layer(layer);
  for (int64_t row = 0; row < group.rows; ++row) {
    if (const Ctc* ctc = network_.ctc(); ctc != nullptr) {
      const double weight = group.weights == nullptr ? 1.0 : static_cast<double>(group.weights[row]);
      sums_->outputs[0].loss += weight * ctc->LossOf(memory, row);
      ++sums_->outputs[0].items;
      if (run_.training) continue;
      sums_->outputs[0].labels += group.target_lengths[row];
      sums_->outputs[0].label_errors += ctc->ErrorsOf(memory, row, group.target_lengths[row]);
      continue;
    }
    sums_->outputs[0].loss += network_.crf()->LossOf(memory, row);
    sums_->outputs[0].items += group.lengths[row];
    if (run_.training) continue;
    const auto packed = [&](int64_t t) { return group.Before(t) + row; };
    network_.crf()->Decode(memory, row, group.lengths[row], packed);
    for (int64_t t = 0; t < group.lengths[row]; ++t) {
      const int64_t item = packed(t);
      const int32_t tag = network_.crf()->TagAt(memory, item);
      sums_->outputs[0].hits += tag == group.targets[0].classes[item] ? 1.0 : 0.0;
      if (sink_ != nullptr) sink_->Decoded(group, row, t, item, tag);
    }
  }
}

// A slot holds the State of the rows that are still active at the block it stands before.
Status Step::RestoreState(const RowGroup& group, int64_t slot, int64_t next_block) {
  if (slot != kStartSlot) return slots_.Restore(slot, group.Active(next_block * kBlockSteps));
  StartForward(group);
  return Status::Ok();
}

void Step::ZeroGradients(ThreadPool& threads) {
  for (int number = 0; number < network_.layers(); ++number) {
    const OwnerMemory& memory = memory_.layer(number);
    for (const int key : {kGradient, kTouched, kSums}) {
      if (!memory.Has(key)) continue;
      char* bytes = memory.Bytes(key);
      threads.Run([&](int part) {
        const Share share = ShareOf(memory.bytes(key), part, threads.size(), 4096);
        std::memset(bytes + share.begin, 0, static_cast<size_t>(share.end - share.begin));
      });
    }
  }
}

void Step::AddGradients(const NetworkMemory& beside) {
  for (int number = 0; number < network_.layers(); ++number) {
    const OwnerMemory &own = memory_.layer(number), &other = beside.layer(number);
    for (const int key : {kGradient, kSums}) {
      if (!own.Has(key)) continue;
      pool_.Run([&](int part) {
        const Share share = ShareOf(own.bytes(key) / static_cast<int64_t>(sizeof(float)), part, pool_.size(), 1024);
        const int64_t count = share.end - share.begin;
        add_elements(own.F32(key) + share.begin, other.F32(key) + share.begin, 1, count, count);
      });
    }
    if (!own.Has(kTouched)) continue;
    for (size_t i = 0; i < own.bytes(kTouched) / sizeof(uint64_t); ++i) own.U64(kTouched)[i] |= other.U64(kTouched)[i];
  }
}

void Step::FinishGradients() {
  for (int number = 0; number < network_.layers(); ++number) {
    if (!memory_.layer(number).Has(kSums)) continue;
    const Timed timed(run_.timeline, Piece::LayerBackward, 0, 1, number);
    network_.layer(number).FinishGradients(memory_.layer(number), *run_.pool);
  }
}

void Step::PrepareWeights() {
  for (int number = 0; number < network_.layers(); ++number) {
    network_.layer(number).Prepare(memory_.layer(number), *run_.pool);
  }
}

Block Step::BlockAt(const RowGroup& group, int64_t number) const {
  const int64_t first_step = number * kBlockSteps, before = group.Before(first_step);
  Block block{.rows = {},
              .first_step = first_step,
              .samples = group.samples,
              .lengths = group.lengths,
              .row_steps_before = before,
              .rows_before = first_step == 0 ? 0 : group.Active(first_step - 1),
              .classes = group.targets[0].classes == nullptr ? nullptr : group.targets[0].classes + before};
  if (group.target_lengths != nullptr) {
    block.classes = nullptr;
    block.labels = {.labels = group.targets[0].classes,
                    .lengths = group.target_lengths,
                    .longest = group.longest_target,
                    .weights = group.weights};
  }
  BlockRows& rows = block.rows;
  for (int64_t t = block.first_step; t < group.steps && rows.steps < kBlockSteps; ++t) {
    const auto active = static_cast<int32_t>(group.Active(t));
    rows.rows[rows.steps] = active;
    rows.first[rows.steps + 1] = rows.first[rows.steps] + active;
    ++rows.steps;
  }
  return block;
}

Block Step::PooledBlock(const RowGroup& group) const {
  return {.rows = OneStep(group.rows), .first_step = 0, .samples = group.samples, .lengths = group.lengths};
}

Step::Part Step::WholeOf(const RowGroup& group, const Block& block) {
  return {.group = &group, .block = &block, .begin = 0, .count = block.rows.row_steps()};
}

// What a layer reads. The slices are the step's own and stand until the next call.
std::span<const Slice> Step::InputsOf(int layer, const Part& part) {
  const std::vector<int>& inputs = network_.inputs(layer);
  for (size_t i = 0; i < inputs.size(); ++i) ins_[i] = inputs[i] == kModelInput ? DataOf(part) : OutputOf(inputs[i], part);
  return {ins_.data(), inputs.size()};
}

Slice Step::DataOf(const Part& part) const {
  const RowGroup& group = *part.group;
  const int64_t before = group.Before(part.block->first_step) + part.begin;
  Slice slice{.block = part.block, .begin = part.begin, .count = part.count};
  if (group.ids != nullptr) {
    slice.ids = group.ids + before;
  } else {
    slice.stride = network_.spec().input_width;
    slice.data = const_cast<float*>(group.features) + before * slice.stride;  // layers never write their input
  }
  return slice;
}

Slice Step::OutputOf(int layer, const Part& part) const {
  float* data = nullptr;
  if (layer >= network_.body_layers()) return SliceOf(memory_.owner(NetworkOwner::Head).F32(OutputKey(layer)), layer, part);
  if (const Pooling* pooling = network_.pooling(layer); pooling != nullptr) {
    data = pooling->Pooled(memory_.layer(layer));
  } else {
    data = memory_.owner(NetworkOwner::Blocks).F32(OutputKey(layer));
  }
  const int64_t before = network_.layer(layer).carries_rows() ? part.block->rows.rows[0] : 0;
  return SliceOf(data + (before + part.begin) * ActivationStride(network_.layer(layer).width()), layer, part);
}

// The gradient of a layer's output, where the layer learns. A loss leaves that of an output in its place.
Slice Step::GradientOf(int layer, const Part& part) const {
  if (network_.is_output(layer)) return OutputOf(layer, part);
  const int buffer = network_.routes().buffer(layer), key = GradientKey(network_.layers(), buffer);
  if (layer >= network_.body_layers()) return SliceOf(memory_.owner(NetworkOwner::Head).F32(key), layer, part);
  const Pooling* pooling = network_.pooling(layer);
  if (pooling == nullptr && buffer < 0) return SliceOf(nullptr, layer, part);  // its readers have left it in its State
  float* data =
      pooling != nullptr ? pooling->PooledGradient(memory_.layer(layer)) : memory_.owner(NetworkOwner::Blocks).F32(key);
  return SliceOf(data + part.begin * ActivationStride(network_.layer(layer).width()), layer, part);
}

float* Step::SpareOf(int reader, const Route& route) const {
  const NetworkOwner owner = reader < network_.body_layers() ? NetworkOwner::Blocks : NetworkOwner::Head;
  return memory_.owner(owner).F32(GradientKey(network_.layers(), route.spare));
}

Slice Step::SliceOf(float* data, int layer, const Part& part) const {
  return {.block = part.block,
          .begin = part.begin,
          .count = part.count,
          .data = data,
          .stride = ActivationStride(network_.layer(layer).width())};
}

void Step::SetPosition(const RowGroup& group, int64_t block) {
  memory_.position = {};
  if (block == segment_start_) return;
  memory_.position.row_steps = group.Before(block * kBlockSteps) - group.Before(segment_start_ * kBlockSteps);
  for (int64_t row = 0; row < group.rows; ++row) {
    const int64_t started = BlocksOf(group.lengths[row]);  // blocks in which the row is active
    memory_.position.border_rows += std::max<int64_t>(0, std::min(block, started) - segment_start_);
  }
}

}  // namespace plimsoll
