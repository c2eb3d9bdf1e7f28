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
    ForGroups(static_cast<size_t>(abreast), [&](size_t group, ThreadPool& threads) {
      step_of(group).SetUpdate(update);
      step_of(group).ZeroGradients(threads);
    });
  }
  std::array<StepSums, kMostAbreast> own;
  std::array<RowGroup, kMostAbreast> rows;
  for (int64_t first = 0; first < batch_.groups(); first += abreast) {
    const std::span groups = std::span(rows).first(static_cast<size_t>(std::min(abreast, batch_.groups() - first)));
    {
      const Timed timed(timeline, Piece::Read, first);
      PLIMSOLL_RETURN_IF_ERROR(batch_.Read(first, groups));
    }
    PLIMSOLL_RETURN_IF_ERROR(Train(groups, own));
  }
  if (engine_.beside != nullptr) engine_.step.AddGradients(engine_.beside->memory);
  engine_.step.FinishGradients();
  for (const StepSums& more : own) sums.Add(more);
  return Status::Ok();
}

Status BatchGradient::Train(std::span<const RowGroup> groups, std::array<StepSums, kMostAbreast>& sums) {
  std::array<Status, kMostAbreast> done;
  ForGroups(groups.size(), [&](size_t number, ThreadPool& threads) {
    const RowGroup& rows = groups[number];
    schedules_[number].Start(BlocksOf(rows.steps));
    done[number] = step_of(number).TrainGroup(rows, schedules_[number], batch_.items(), sums[number], threads);
  });
  for (const Status& status : done) PLIMSOLL_RETURN_IF_ERROR(status);
  return Status::Ok();
}

// function(group, threads) for each of those that run side by side; a last one that has none beside it gets all threads.
template <typename Function>
void BatchGradient::ForGroups(size_t groups, const Function& function) {
  if (groups == 1) return function(0, *setup_.pool);
  setup_.pool->RunTeams([&](int team, ThreadPool& threads) { function(static_cast<size_t>(team), threads); });
}

}  // namespace plimsoll
