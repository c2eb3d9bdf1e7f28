#include "train/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "infer/scorer.h"
#include "model/weights.h"
#include "train/model_folder.h"
#include "train/vector_file.h"

namespace plimsoll {

Update::Update(Setup& setup, Engine& engine)
    : setup_(setup),
      engine_(engine),
      gradient_(setup, engine),
      optimizer_(setup.job.train, *setup.network, engine.memory, *setup.pool),
      plateau_(setup.job.train),
      total_(TotalUpdates(setup, engine)) {}

void Update::Rebind() { gradient_.Rebind(); }

Status Update::Start() {
  InitialiseWeights(*setup_.network, engine_.memory, setup_.job.train.seed);
  for (const WeightPlace& place : WeightPlaces(*setup_.network)) {
    const Node& node = setup_.network->spec().nodes[static_cast<size_t>(place.layer)];
    const auto* embedding = std::get_if<EmbeddingOptions>(&node.kind);
    if (embedding == nullptr || embedding->weights.empty()) continue;
    char* buffer = engine_.memory.owner(NetworkOwner::Files).Bytes(WriteBuffer);
    PLIMSOLL_RETURN_IF_ERROR(ReadVectors(embedding->weights, place.tensor, engine_.memory.layer(place.layer).F32(kWeights),
                                         {buffer, static_cast<size_t>(kWriteBufferBytes)}));
  }
  if (!setup_.job.init_from.empty()) {
    const Result<std::string> folder = FindModelFolder(setup_.job.init_from);
    if (!folder.ok()) return folder.status();
    PLIMSOLL_RETURN_IF_ERROR(ReadWeights(folder.value(), setup_, engine_));
  }
  optimizer_.Start();
  engine_.step.PrepareWeights();
  return Status::Ok();
}

void Update::Continue(int64_t done, int64_t step_in_epoch, const Plateau::State* plateau) {
  done_ = done;
  gradient_.batch().ContinueAfter(step_in_epoch);
  if (plateau != nullptr) plateau_.Restore(*plateau);
  engine_.step.PrepareWeights();
}

Status Update::Gradients(const int64_t* numbers, int64_t count, StepSums& sums, int64_t step_in_epoch) {
  StepSums own;
  PLIMSOLL_RETURN_IF_ERROR(gradient_.Run(numbers, count, step_in_epoch, static_cast<uint64_t>(done_ + 1), own));
  for (int64_t i = 0; i < count; ++i) useful_row_steps_ += setup_.samples->length(numbers[i]);
  const Spec& spec = setup_.network->spec();
  own.penalties += engine_.penalty.Value() * static_cast<double>(own.outputs[0].items);
  engine_.penalty.AddGradient();
  if (!std::isfinite(own.MeanLoss(spec))) {
    // Weights are finite, or the update before would have said so: the first output whose own loss is not is the place.
    size_t output = 0;
    while (output + 1 < spec.outputs.size() && std::isfinite(own.outputs[output].loss)) ++output;
    return Status::Diverged(fmt::format("the loss behind layer '{}' is not finite at update {}",
                                        setup_.network->name(spec.outputs[output].node), done_ + 1),
                            "lower train.learning_rate or set train.clip_norm (1.0 is usual)");
  }
  sums.Add(own);
  return Status::Ok();
}

void Update::ReadAhead(EpochBatches batches) {
  if (!batches.Next()) return;
  const Timed timed(engine_.step.timeline(), Piece::ReadAhead, batches.size());
  plimsoll::ReadAhead(*setup_.samples, batches.size(), [&](int64_t i) { return batches[i]; });
}

double Update::learning_rate() const {
  const double rate = LearningRateAt(setup_.job.train, done_ + 1, total_);
  return setup_.job.train.lr_schedule == LrSchedule::Plateau ? std::min(rate, plateau_.rate()) : rate;
}

Status Update::Apply(double rate_factor) {
  const Timed timed(engine_.step.timeline(), Piece::Optimizer);
  PLIMSOLL_RETURN_IF_ERROR(optimizer_.Update(done_ + 1, rate_factor * learning_rate()));
  ++done_;
  PLIMSOLL_RETURN_IF_ERROR(optimizer_.CheckFinite(done_));
  engine_.step.PrepareWeights();
  return Status::Ok();
}

void Update::SwapAverages() {
  if (!setup_.job.train.use_ema) return;
  optimizer_.SwapAverages();
  engine_.step.PrepareWeights();
}

Result<Score> Update::ScoreAveraged(Observer* observer) {
  SwapAverages();
  Result<Score> score = ScoreRun(setup_, engine_, {.observer = observer});
  SwapAverages();
  return score;
}

}  // namespace plimsoll
