#include "infer/scorer.h"

#include <algorithm>

namespace plimsoll {

Score ToScore(const StepSums& sums, Task task) {
  Score score{.loss = sums.loss / static_cast<double>(sums.items), .items = sums.items};
  if (task == Task::Classify) score.accuracy = sums.hits / static_cast<double>(sums.items);
  return score;
}

Result<Score> ScoreSamples(Setup& setup, Engine& engine, ScoredPart part, int64_t count) {
  Samples* samples = part == ScoredPart::ValidationFile ? setup.valid.get() : setup.samples.get();
  Batch batch(samples, engine.batch_buffers(), setup.plan.group_rows);
  int64_t* numbers = engine.memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  const int64_t batch_size = std::min(setup.job.train.batch_size, setup.samples->count());
  StepSums sums;
  for (int64_t place = 0; place < count; place += batch_size) {
    const int64_t now = std::min(batch_size, count - place);
    for (int64_t i = 0; i < now; ++i) {
      switch (part) {
        case ScoredPart::Training:
          numbers[i] = setup.split->train(place + i);
          break;
        case ScoredPart::ValidationShare:
          numbers[i] = setup.split->valid(place + i);
          break;
        case ScoredPart::ValidationFile:
          numbers[i] = place + i;
          break;
      }
    }
    batch.Start(numbers, now);
    for (int64_t group = 0; group < batch.groups(); ++group) {
      const Result<RowGroup> rows = batch.Read(group);
      if (!rows.ok()) return rows.status();
      engine.step.EvaluateGroup(rows.value(), sums);
    }
  }
  return ToScore(sums, setup.job.task);
}

}  // namespace plimsoll
