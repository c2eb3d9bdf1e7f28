// scorer: loss and accuracy of the current weights over samples, in the planned memory of an engine.
#pragma once

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"
#include "train/setup.h"

namespace plimsoll {

enum class ScoredPart { Training, ValidationShare, ValidationFile };

// The first `count` samples of a part, in file order. `observer`, where there is one, is told how far it is.
Result<Score> ScoreSamples(Setup& setup, Engine& engine, ScoredPart part, int64_t count, Observer* observer = nullptr);

// What a run is scored on: its validation data, else the first 1024 training samples.
Result<Score> ScoreRun(Setup& setup, Engine& engine, Observer* observer = nullptr);

Score ToScore(const StepSums& sums, const Spec& spec);

}  // namespace plimsoll
