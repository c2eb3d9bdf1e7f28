// step: one training step on one row group, top to bottom.
//   Forward runs block by block through all body layers. Reverse runs block by block from the end: the body's outputs again
//   from the Tape, the head and the loss in slices, then the body's layers from the top down. So no buffer between layers is
//   longer than a block, and neither segments nor slices can change a bit: weight gradients are added in strictly descending
//   blocks, in ascending rows within a block, by one accumulator each.
#include "model/step.h"

#include <algorithm>
#include <cstring>

#include "kernels/losses.h"

namespace plimsoll {

Step::Step(const Network& network, NetworkMemory& memory, ThreadPool& pool, uint64_t dropout_seed)
    : network_(network), memory_(memory), slots_(memory), run_{.pool = &pool, .dropout_seed = dropout_seed} {}

Status Step::TrainGroup(const RowGroup& group, Schedule& schedule, double scale, StepSums& sums) {
  run_.training = true;
  scale_ = static_cast<float>(scale);
  sums_ = &sums;
  StartForward(group);
  for (Action action; schedule.Next(action);) {
    switch (action.kind) {
      case Action::Kind::Advance:
        Forward(group, action.first_block, action.blocks, Tape::None);
        break;
      case Action::Kind::Keep:
        PLIMSOLL_RETURN_IF_ERROR(slots_.Keep(action.slot, group.Active(action.first_block * kBlockSteps)));
        break;
      case Action::Kind::Restore:
        PLIMSOLL_RETURN_IF_ERROR(RestoreState(group, action.slot, action.first_block));
        break;
      case Action::Kind::Record:
        Forward(group, action.first_block, action.blocks, Tape::Keep);
        break;
      case Action::Kind::Reverse:
        Reverse(group, action.first_block, action.blocks);
        break;
    }
  }
  return Status::Ok();
}

void Step::Forward(const RowGroup& group, int64_t first_block, int64_t blocks, Tape tape) {
  segment_start_ = first_block;
  for (int64_t number = first_block; number < first_block + blocks; ++number) {
    if (tape == Tape::None) segment_start_ = number;  // every block overwrites the one before
    SetPosition(group, number);
    const Block block = BlockAt(group, number);
    Slice in = InputOf(group, block);
    for (int layer = 0; layer < network_.body_layers(); ++layer) {
      const Slice out = OutputOf(layer, block);
      network_.layer(layer).Forward(in, out, memory_.layer(layer), run_);
      in = out;
    }
  }
}

void Step::Reverse(const RowGroup& group, int64_t first_block, int64_t blocks) {
  if ((first_block + blocks) * kBlockSteps >= group.steps) StartReverse(group);
  for (int64_t number = first_block + blocks - 1; number >= first_block; --number) {
    SetPosition(group, number);
    const Block block = BlockAt(group, number);
    Slice in = InputOf(group, block);
    for (int layer = 0; layer < network_.body_layers(); ++layer) {
      const Slice out = OutputOf(layer, block);
      network_.layer(layer).Replay(in, out, memory_.layer(layer), run_);
      in = out;
    }

    const int top = network_.body_layers() - 1;
    int key = GradientA;
    if (network_.pooling() == nullptr) Head(group, block, group.Before(block.first_step), in, GradientOf(key, block, top));
    Slice d_out = GradientOf(key, block, top);
    for (int layer = top; layer >= 0 && d_out.data != nullptr; --layer) {
      if (&network_.layer(layer) != network_.pooling()) key = key == GradientA ? GradientB : GradientA;
      const Slice below = layer == 0 ? InputOf(group, block) : OutputOf(layer - 1, block);
      const Slice d_in = GradientOf(key, block, layer - 1);
      network_.layer(layer).Backward(below, OutputOf(layer, block), d_out, d_in, memory_.layer(layer), run_);
      d_out = d_in;
    }
  }
}

// The head and the loss on all items of `in`, slice by slice: forward, loss, backward. d_in may have no data (evaluation).
void Step::Head(const RowGroup& group, const Block& block, int64_t first_item, const Slice& in, const Slice& d_in) {
  const OwnerMemory& head = memory_.owner(NetworkOwner::Head);
  const Spec& spec = network_.spec();
  const int first = network_.body_layers(), last = network_.layers() - 1;
  for (int64_t begin = 0; begin < in.count; begin += kSliceRows) {
    const int64_t count = std::min(kSliceRows, in.count - begin);
    const auto slice = [&](float* data, int64_t width) {
      return Slice{.block = &block, .begin = begin, .count = count, .data = data, .stride = ActivationStride(width)};
    };
    const auto input_of = [&](int layer) {
      if (layer > first) return slice(head.F32(FirstHeadOutput + layer - 1), network_.layer(layer - 1).width());
      Slice rows = in;
      rows.begin = begin;
      rows.count = count;
      rows.data = in.data == nullptr ? nullptr : in.data + begin * in.stride;
      rows.ids = in.ids == nullptr ? nullptr : in.ids + begin;
      return rows;
    };
    for (int layer = first; layer <= last; ++layer) {
      const Slice out = slice(head.F32(FirstHeadOutput + layer), network_.layer(layer).width());
      network_.layer(layer).Forward(input_of(layer), out, memory_.layer(layer), run_);
    }

    float* outputs = head.F32(FirstHeadOutput + last);
    const int64_t stride = ActivationStride(spec.output_width);
    double *losses = head.F64(Losses), *hits = head.F64(Hits);
    const int64_t item = first_item + begin;
    if (sink_ != nullptr) sink_->Rows(group, item, count, outputs, stride);
    run_.pool->Run([&](int part) {
      const Share share = ShareOf(count, part, run_.pool->size());
      const int64_t rows = share.end - share.begin;
      float* y = outputs + share.begin * stride;
      const int64_t own = item + share.begin, width = spec.output_width;
      double* row_losses = losses + share.begin;
      const auto smoothing = static_cast<float>(spec.label_smoothing);
      if (spec.class_targets()) {
        softmax_cross_entropy(y, row_losses, hits + share.begin, group.classes + own, smoothing, scale_, rows, width, stride);
        return;
      }
      const float* targets = group.values + own * width;
      switch (spec.loss) {
        case Loss::MeanAbsoluteError:
          return mean_absolute_error(y, row_losses, targets, scale_, rows, width, stride);
        case Loss::Huber:
          return huber_loss(y, row_losses, targets, static_cast<float>(spec.huber_delta), scale_, rows, width, stride);
        case Loss::BinaryCrossentropy:
          return binary_cross_entropy(y, row_losses, targets, smoothing, scale_, rows, width, stride);
        default:
          return mean_squared_error(y, row_losses, targets, scale_, rows, width, stride);
      }
    });
    for (int64_t row = 0; row < count; ++row) {
      sums_->loss += losses[row];
      if (spec.class_targets()) sums_->hits += hits[row];
    }
    sums_->items += count;
    if (!run_.training) continue;

    Slice d_out = slice(outputs, spec.output_width);
    int key = HeadGradientA;
    for (int layer = last; layer >= first; --layer) {
      Slice d_below = d_in;
      if (layer > first) {
        d_below = slice(head.F32(key), network_.layer(layer - 1).width());
        key = key == HeadGradientA ? HeadGradientB : HeadGradientA;
      } else if (d_in.data != nullptr) {
        d_below.begin = begin;
        d_below.count = count;
        d_below.data = d_in.data + begin * d_in.stride;
      }
      const Slice out = slice(head.F32(FirstHeadOutput + layer), network_.layer(layer).width());
      network_.layer(layer).Backward(input_of(layer), out, d_out, d_below, memory_.layer(layer), run_);
      d_out = d_below;
    }
  }
}

void Step::EvaluateGroup(const RowGroup& group, StepSums& sums) {
  run_.training = false;
  scale_ = 0.0f;
  sums_ = &sums;
  StartForward(group);
  const int64_t blocks = BlocksOf(group.steps);
  for (int64_t number = 0; number < blocks; ++number) {
    Forward(group, number, 1, Tape::None);
    if (network_.pooling() != nullptr) continue;
    const Block block = BlockAt(group, number);
    const Slice top = network_.body_layers() == 0 ? InputOf(group, block) : OutputOf(network_.body_layers() - 1, block);
    Head(group, block, group.Before(block.first_step), top, {});
  }
  if (network_.pooling() != nullptr) StartReverse(group);
}

void Step::StartForward(const RowGroup& group) {
  for (int layer = 0; layer < network_.body_layers(); ++layer) {
    network_.layer(layer).StartForward(memory_.layer(layer), group.rows);
  }
}

// The end of forward has been reached: State is final. Behind pooling this is where the head runs, once.
void Step::StartReverse(const RowGroup& group) {
  if (run_.training) {
    for (int layer = 0; layer < network_.body_layers(); ++layer) {
      network_.layer(layer).StartBackward(memory_.layer(layer), group.rows);
    }
  }
  const Pooling* pooling = network_.pooling();
  if (pooling == nullptr) return;
  const OwnerMemory& memory = memory_.layer(network_.body_layers() - 1);
  const Block block = PooledBlock(group);
  const int64_t stride = ActivationStride(pooling->width());
  const Slice pooled{.block = &block, .count = group.rows, .data = pooling->Pooled(memory), .stride = stride};
  Slice gradient = pooled;
  gradient.data = run_.training && network_.learns_below(network_.body_layers()) ? pooling->PooledGradient(memory) : nullptr;
  Head(group, block, 0, pooled, gradient);
}

// A slot holds the State of the rows that are still active at the block it stands before.
Status Step::RestoreState(const RowGroup& group, int64_t slot, int64_t next_block) {
  if (slot != kStartSlot) return slots_.Restore(slot, group.Active(next_block * kBlockSteps));
  StartForward(group);
  return Status::Ok();
}

void Step::ZeroGradients() {
  for (int number = 0; number < network_.layers(); ++number) {
    if (!memory_.layer(number).Has(kGradient)) continue;
    const int64_t floats = memory_.layer(number).bytes(kGradient) / static_cast<int64_t>(sizeof(float));
    float* gradient = memory_.layer(number).F32(kGradient);
    run_.pool->Run([&](int part) {
      const Share share = ShareOf(floats, part, run_.pool->size(), 1024);
      std::memset(gradient + share.begin, 0, static_cast<size_t>(share.end - share.begin) * sizeof(float));
    });
  }
}

void Step::PrepareWeights() {
  for (int number = 0; number < network_.layers(); ++number) {
    network_.layer(number).Prepare(memory_.layer(number), *run_.pool);
  }
}

Block Step::BlockAt(const RowGroup& group, int64_t number) const {
  Block block{.rows = {}, .first_step = number * kBlockSteps, .samples = group.samples, .lengths = group.lengths};
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
  Block block{.rows = {}, .first_step = 0, .samples = group.samples, .lengths = group.lengths};
  block.rows.steps = 1;
  block.rows.rows[0] = block.rows.first[1] = static_cast<int32_t>(group.rows);
  return block;
}

Slice Step::InputOf(const RowGroup& group, const Block& block) const {
  const int64_t before = group.Before(block.first_step);
  Slice slice{.block = &block, .count = block.rows.row_steps()};
  if (group.ids != nullptr) {
    slice.ids = group.ids + before;
  } else {
    slice.stride = network_.spec().input_width;
    slice.data = const_cast<float*>(group.features) + before * slice.stride;  // layers never write their input
  }
  return slice;
}

Slice Step::OutputOf(int layer, const Block& block) const {
  Slice slice{.block = &block, .count = block.rows.row_steps()};
  if (&network_.layer(layer) == network_.pooling()) return slice;  // its output is State
  slice.stride = ActivationStride(network_.layer(layer).width());
  slice.data = memory_.owner(NetworkOwner::Blocks).F32(FirstOutput + layer);
  if (network_.layer(layer).carries_rows()) slice.data += block.rows.rows[0] * slice.stride;
  return slice;
}

// The gradient of a body layer's output; no data where no layer up to it learns. Pooling's own lies in its State and is
// only asked whether it is there.
Slice Step::GradientOf(int key, const Block& block, int layer) const {
  Slice slice{.block = &block, .count = block.rows.row_steps()};
  if (layer < 0 || !network_.learns_below(layer + 1)) return slice;
  slice.data = memory_.owner(NetworkOwner::Blocks).F32(key);
  slice.stride = ActivationStride(network_.layer(layer).width());
  return slice;
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
