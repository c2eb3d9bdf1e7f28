// measure: which updates of a run are measured, and what came of it.
//   in:    the numbers of updates, in order
//   out:   times by phase and layer for the log, each `log_every` updates; trace.json, once the updates asked for are done
//   never: allocates after construction. An update that is not measured costs the tests of a null pointer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/timeline.h"
#include "plimsoll/observer.h"
#include "plimsoll/trainer.h"
#include "report/trace.h"
#include "train/setup.h"

namespace plimsoll {

// Room for so many pieces in the plan of a run that is traced.
inline constexpr int64_t kTracedPieces = 1 << 15;
inline constexpr int64_t kTraceBytes = kTracedPieces * static_cast<int64_t>(sizeof(TracedPiece));

class Measure {
 public:
  Measure(Setup& setup, Engine& engine, const RunOptions& options);

  void Begin(int64_t update);  // from 1
  // Null: the update was not measured. There until the next one begins.
  const StepTimes* End(int64_t update);
  // The run is over, or the engine takes another plan: what there is of the trace is written, if it has not been yet.
  Status FinishTrace();
  bool traced_nothing() const { return trace_.last > 0 && timelines_[0].traced().empty(); }
  std::span<const std::string> layer_names() const { return layers_; }

 private:
  bool InTrace(int64_t update) const { return tracing_ && update >= trace_.first && update <= trace_.last; }

  Engine& engine_;
  int64_t log_every_ = 0;  // 0: there is no log
  TraceOptions trace_;
  bool tracing_ = false;  // it has been asked for and not yet been written
  std::string trace_file_;
  Status trace_status_;
  // Of the training thread, whose sums are told, and of a row group that runs beside its own: for the trace.
  std::array<Timeline, kMostAbreast> timelines_;
  const bool side_by_side_;
  std::vector<std::string> layers_;
  std::vector<LayerTime> layer_times_;
  StepTimes times_;
  ArenaUse arena_;
  int64_t begin_ns_ = 0;
};

}  // namespace plimsoll
