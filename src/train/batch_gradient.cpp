#include "train/batch_gradient.h"

#include <algorithm>

namespace plimsoll {
namespace {

static_assert(kTeams == kMostAbreast, "a team for each group");

Schedule ScheduleOf(const Plan& plan) { return {RecomputeOf(plan), plan.stages.front().blocks}; }

}  // namespace

BatchGradient::BatchGradient(Setup& setup, Engine& engine)
    : setup_(setup),
      engine_(engine),
      batch_(setup.samples.get(), engine.batch_buffers(), setup.plan.group_rows, setup.network->spec().reversed, *setup.pool),
      schedules_{ScheduleOf(setup.plan), ScheduleOf(setup.plan)} {}

void BatchGradient::Rebind() {
  batch_.Rebind(engine_.batch_buffers());
  schedules_.fill(ScheduleOf(setup_.plan));
}

Status BatchGradient::Run(const int64_t* numbers, int64_t count, int64_t step_in_epoch, uint64_t update, StepSums& sums) {
  const int64_t abreast = setup_.plan.groups_abreast;
  Timeline* timeline = engine_.step.timeline();
  {
    const Timed timed(timeline, Piece::Read);
    batch_.Start(numbers, count, step_in_epoch);
  }
  {
    const Timed timed(timeline, Piece::Zero);
    for (int64_t group = 0; group < abreast; ++group) {
      step_of(group).SetUpdate(update);
      step_of(group).ZeroGradients();
    }
  }
  std::array<StepSums, kMostAbreast> own;
  for (int64_t first = 0; first < batch_.groups(); first += abreast) {
    Reading reading;
    PLIMSOLL_RETURN_IF_ERROR(Read(first, reading));
    PLIMSOLL_RETURN_IF_ERROR(Train(reading, own));
  }
  if (engine_.beside != nullptr) engine_.step.AddGradients(engine_.beside->memory);
  engine_.step.FinishGradients();
  for (const StepSums& more : own) sums.Add(more);
  return Status::Ok();
}

Status BatchGradient::Read(int64_t first, Reading& reading) {
  const Timed timed(engine_.step.timeline(), Piece::Read, first);
  reading.count = std::min(setup_.plan.groups_abreast, batch_.groups() - first);
  for (int64_t group = 0; group < reading.count; ++group) {
    Result<RowGroup> rows = batch_.Read(first + group);
    if (!rows.ok()) return rows.status();
    reading.groups[static_cast<size_t>(group)] = rows.value();
  }
  return Status::Ok();
}

Status BatchGradient::Train(const Reading& reading, std::array<StepSums, kMostAbreast>& sums) {
  std::array<Status, kMostAbreast> done;
  const auto train = [&](int64_t group, ThreadPool& threads) {
    if (group >= reading.count) return;
    const auto number = static_cast<size_t>(group);
    const RowGroup& rows = reading.groups[number];
    schedules_[number].Start(BlocksOf(rows.steps));
    done[number] = step_of(group).TrainGroup(rows, schedules_[number], batch_.items(), sums[number], threads);
  };
  if (reading.count == 1) {  // also where a last group has none beside it
    train(0, *setup_.pool);
  } else {
    setup_.pool->RunTeams(train);
  }
  for (const Status& status : done) PLIMSOLL_RETURN_IF_ERROR(status);
  return Status::Ok();
}

}  // namespace plimsoll
