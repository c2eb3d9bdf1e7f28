// scorer: loss and accuracy of the current weights over samples, in the planned memory of an engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "infer/metrics.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/status.h"
#include "train/setup.h"

namespace plimsoll {

enum class ScoredPart { Training, ValidationShare, ValidationFile };

// Who looks on while samples are scored.
struct ScoreWatch {
  Observer* observer = nullptr;                 // told how far it is
  const char* what = "validation";              // at which work
  std::span<Example> examples = {};             // gets those of a few samples, from its front on; empty: nobody asks
  std::span<int64_t> confusion = {};            // gets the counts of [true class][class that was given]; empty: nobody asks
  std::vector<ClassCounts>* classes = nullptr;  // gets the counts of each class, where the setup's metrics have them
};

// The first `count` samples of a part, in file order.
Result<Score> ScoreSamples(Setup& setup, Engine& engine, ScoredPart part, int64_t count, const ScoreWatch& watch = {});

// What a run is scored on: its validation data, else the first 1024 training samples.
Result<Score> ScoreRun(Setup& setup, Engine& engine, const ScoreWatch& watch = {});

// Loss and accuracy of sums, and what follows from the loss.
Score ToScore(const StepSums& sums, const Setup& setup);

}  // namespace plimsoll
