// session: the pieces of Train in the caller's hands.
#include "plimsoll/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/threads.h"
#include "infer/scorer.h"
#include "model/weights.h"
#include "plimsoll/text.h"
#include "train/batches.h"
#include "train/model_folder.h"
#include "train/setup.h"
#include "train/update.h"

namespace plimsoll {
namespace {

Status CheckLearns(const WeightPlace& place) {
  if (place.learns) return Status::Ok();
  return Status::Usage(fmt::format("{}: it has no gradient, because its layer has trainable = false", place.name));
}

}  // namespace

struct Session::Parts {
  Parts(std::unique_ptr<Setup> setup_of_job, std::unique_ptr<Engine> engine_of_setup)
      : setup(std::move(setup_of_job)),
        engine(std::move(engine_of_setup)),
        update(*setup, *engine),
        batches(*setup, *engine, epoch),
        places(WeightPlaces(*setup->network)) {
    for (const WeightPlace& place : places) tensors.push_back({place.name, place.shape(), place.elements()});
  }

  // The place of a tensor that a caller names beside so many values.
  Result<const WeightPlace*> Find(std::string_view tensor, size_t values) const;
  Status CheckGradient(const char* asked) const;
  const OwnerMemory& memory(const WeightPlace& place) const { return engine->memory.layer(place.layer); }

  std::unique_ptr<Setup> setup;
  std::unique_ptr<Engine> engine;
  Update update;
  int64_t epoch = 1;
  EpochBatches batches;
  std::vector<WeightPlace> places;
  std::vector<TensorInfo> tensors;  // of `places`, for the caller
  bool has_batch = false;
  bool has_gradient = false;
};

Result<const WeightPlace*> Session::Parts::Find(std::string_view tensor, size_t values) const {
  const auto place = std::find_if(places.begin(), places.end(), [&](const WeightPlace& one) { return one.name == tensor; });
  if (place == places.end()) {
    std::vector<std::string_view> names;
    for (const WeightPlace& one : places) names.push_back(one.name);
    return Status::Usage(fmt::format("the model has no tensor '{}'{}", tensor, DidYouMean(tensor, names)),
                         "tensors() lists them all");
  }
  if (values != static_cast<size_t>(place->elements())) {
    return Status::Usage(fmt::format("{}: wanted {} values, got {}", tensor, place->elements(), values));
  }
  return &*place;
}

Status Session::Parts::CheckGradient(const char* asked) const {
  if (has_gradient) return Status::Ok();
  return Status::Usage(fmt::format("{}: there is no gradient", asked),
                       "Gradients makes one; the next batch, Apply and Save use it up");
}

Result<std::unique_ptr<Session>> Session::Open(const Job& job) {
  if (job.train.lr_schedule == LrSchedule::Plateau)
    return Status::Usage("train.lr_schedule = \"plateau\" in a session, which does not know when an epoch was judged",
                         "leave it out, and give Apply a factor of the rate");
  FlushDenormals flush;
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {});
  if (!setup.ok()) return setup.status();
  Result<std::unique_ptr<Engine>> engine = plimsoll::Open(**setup);
  if (!engine.ok()) return engine.status();
  auto parts = std::make_unique<Parts>(std::move(setup).value(), std::move(engine).value());
  PLIMSOLL_RETURN_IF_ERROR(parts->update.Start());
  return std::unique_ptr<Session>(new Session(std::move(parts)));
}

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::~Session() = default;

const Job& Session::job() const { return parts_->setup->job; }
const Plan& Session::plan() const { return parts_->setup->plan; }
int64_t Session::epoch() const { return parts_->epoch; }
int64_t Session::step_in_epoch() const { return parts_->batches.number(); }
int64_t Session::steps_per_epoch() const { return parts_->batches.count(); }
int64_t Session::updates() const { return parts_->update.done(); }
double Session::learning_rate() const { return parts_->update.learning_rate(); }
const std::vector<TensorInfo>& Session::tensors() const { return parts_->tensors; }

bool Session::NextBatch() {
  Parts& parts = *parts_;
  parts.has_batch = parts.has_gradient = false;
  if (parts.update.LimitReached() || parts.epoch > job().train.epochs) return false;
  if (parts.batches.number() == parts.batches.count()) {
    if (parts.epoch == job().train.epochs) return false;
    parts.batches = EpochBatches(*parts.setup, *parts.engine, ++parts.epoch);
  }
  parts.has_batch = parts.batches.Next();
  return parts.has_batch;
}

Result<Score> Session::Gradients() {
  if (!parts_->has_batch) return Status::Usage("Gradients: there is no batch", "NextBatch takes one, until it returns false");
  FlushDenormals flush;
  parts_->has_gradient = false;
  int64_t* numbers = parts_->engine->memory.owner(NetworkOwner::Batch).I64(EpochNumbers);
  StepSums sums;
  PLIMSOLL_RETURN_IF_ERROR(parts_->update.Gradients(numbers, parts_->batches.Fill(numbers), sums, parts_->batches.number()));
  parts_->engine->CheckGuards(plan());
  parts_->has_gradient = true;
  return ToScore(sums, *parts_->setup);
}

Status Session::Apply(double rate_factor) {
  PLIMSOLL_RETURN_IF_ERROR(parts_->CheckGradient("Apply"));
  if (!std::isfinite(rate_factor) || rate_factor < 0.0) {
    return Status::Usage(fmt::format("Apply: wanted a factor of 0 or more, got {}", rate_factor));
  }
  FlushDenormals flush;
  parts_->has_gradient = false;
  return parts_->update.Apply(rate_factor);
}

Result<Score> Session::Evaluate() {
  FlushDenormals flush;
  return parts_->update.ScoreAveraged();
}

Status Session::ReadWeights(std::string_view tensor, std::span<float> out) const {
  const Result<const WeightPlace*> found = parts_->Find(tensor, out.size());
  if (!found.ok()) return found.status();
  const WeightPlace& place = *found.value();
  GatherWeights(out.data(), parts_->memory(place).F32(kWeights), place.tensor, 0, place.elements());
  return Status::Ok();
}

Status Session::WriteWeights(std::string_view tensor, std::span<const float> values) {
  const Result<const WeightPlace*> found = parts_->Find(tensor, values.size());
  if (!found.ok()) return found.status();
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    return Status::Usage(fmt::format("{}: a value that is not finite, at element {}", tensor, bad - values.begin()));
  }
  const WeightPlace& place = *found.value();
  ScatterWeights(parts_->memory(place).F32(kWeights), values.data(), place.tensor, 0, place.elements());
  if (job().train.use_ema && place.learns) {
    float* average = parts_->engine->memory.owner(NetworkOwner::Optimizer).F32(MomentKey(place.layer, kAverage));
    ScatterWeights(average, values.data(), place.tensor, 0, place.elements());
  }
  FlushDenormals flush;
  parts_->engine->step.PrepareWeights();
  return Status::Ok();
}

Status Session::ReadGradient(std::string_view tensor, std::span<float> out) const {
  PLIMSOLL_RETURN_IF_ERROR(parts_->CheckGradient("ReadGradient"));
  const Result<const WeightPlace*> found = parts_->Find(tensor, out.size());
  if (!found.ok()) return found.status();
  const WeightPlace& place = *found.value();
  PLIMSOLL_RETURN_IF_ERROR(CheckLearns(place));
  GatherWeights(out.data(), parts_->memory(place).F32(kGradient), place.tensor, 0, place.elements());
  return Status::Ok();
}

Status Session::WriteGradient(std::string_view tensor, std::span<const float> values) {
  PLIMSOLL_RETURN_IF_ERROR(parts_->CheckGradient("WriteGradient"));
  const Result<const WeightPlace*> found = parts_->Find(tensor, values.size());
  if (!found.ok()) return found.status();
  const WeightPlace& place = *found.value();
  PLIMSOLL_RETURN_IF_ERROR(CheckLearns(place));
  ScatterWeights(parts_->memory(place).F32(kGradient), values.data(), place.tensor, 0, place.elements());
  return Status::Ok();
}

Status Session::Save(const std::string& folder) {
  FlushDenormals flush;
  if (FolderExists(folder)) return Status::CannotWrite(fmt::format("{} exists already", folder), "name a new folder");
  parts_->has_gradient = false;
  parts_->update.SwapAverages();
  Status written = WriteModel(folder, *parts_->setup, *parts_->engine);
  parts_->update.SwapAverages();
  return written;
}

}  // namespace plimsoll
