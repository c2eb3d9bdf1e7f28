#include "train/update.h"

#include <fmt/format.h>

#include <cmath>

#include "model/weights.h"
#include "train/lr_schedule.h"
#include "train/model_folder.h"

namespace plimsoll {

Update::Update(Setup& setup, Engine& engine)
    : setup_(setup),
      engine_(engine),
      batch_(setup.samples.get(), engine.batch_buffers(), setup.plan.group_rows),
      schedule_(RecomputeOf(setup.plan), setup.plan.stages.front().blocks),
      optimizer_(setup.job.train, *setup.network, engine.memory, *setup.pool),
      total_(TotalUpdates(setup.job.train, setup.split->train_count())) {}

void Update::Rebind() {
  batch_ = Batch(setup_.samples.get(), engine_.batch_buffers(), setup_.plan.group_rows);
  schedule_ = Schedule(RecomputeOf(setup_.plan), setup_.plan.stages.front().blocks);
}

Status Update::Start() {
  InitialiseWeights(*setup_.network, engine_.memory, setup_.job.train.seed);
  if (!setup_.job.init_from.empty()) {
    const Result<std::string> folder = FindModelFolder(setup_.job.init_from);
    if (!folder.ok()) return folder.status();
    PLIMSOLL_RETURN_IF_ERROR(ReadWeights(folder.value(), setup_, engine_));
  }
  optimizer_.Start();
  engine_.step.PrepareWeights();
  return Status::Ok();
}

Status Update::Gradients(const int64_t* numbers, int64_t count, StepSums& sums) {
  StepSums own;
  batch_.Start(numbers, count);
  engine_.step.SetUpdate(static_cast<uint64_t>(done_ + 1));
  engine_.step.ZeroGradients();
  for (int64_t group = 0; group < batch_.groups(); ++group) {
    const Result<RowGroup> rows = batch_.Read(group);
    if (!rows.ok()) return rows.status();
    schedule_.Start(BlocksOf(rows.value().steps));
    PLIMSOLL_RETURN_IF_ERROR(engine_.step.TrainGroup(rows.value(), schedule_, 1.0 / static_cast<double>(batch_.items()), own));
  }
  if (!std::isfinite(own.loss)) {
    return Status::Diverged(fmt::format("the loss is not finite at update {}", done_ + 1),
                            "lower train.learning_rate or set train.clip_norm (1.0 is usual)");
  }
  sums.loss += own.loss;
  sums.hits += own.hits;
  sums.items += own.items;
  return Status::Ok();
}

Status Update::Apply() {
  PLIMSOLL_RETURN_IF_ERROR(optimizer_.Update(done_ + 1, LearningRateAt(setup_.job.train, done_ + 1, total_)));
  engine_.step.PrepareWeights();
  ++done_;
  return Status::Ok();
}

void Update::SwapAverages() {
  if (!setup_.job.train.use_ema) return;
  optimizer_.SwapAverages();
  engine_.step.PrepareWeights();
}

}  // namespace plimsoll
