#include "train/measure.h"

#include <algorithm>
#include <new>

#include "train/batches.h"

namespace plimsoll {
namespace {

constexpr int64_t kUsualLines = 1000;  // of a whole run

double Milliseconds(int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

Measure::Measure(Setup& setup, Engine& engine, const RunOptions& options)
    : engine_(engine),
      trace_(options.trace),
      tracing_(options.trace.last > 0 && !options.out.empty()),
      trace_file_(options.out + "/trace.json"),
      timelines_{Timeline(setup.network->layers()), Timeline(setup.network->layers())},
      side_by_side_(engine.beside != nullptr && setup.pool->teams_side_by_side()),
      layer_times_(static_cast<size_t>(setup.network->layers())),
      arena_(ArenaUseOf(setup.plan)) {
  for (int layer = 0; layer < setup.network->layers(); ++layer) layers_.push_back(setup.network->name(layer));
  if (options.out.empty()) return;
  const int64_t updates = TotalUpdates(setup, engine);
  log_every_ = options.log_every > 0 ? options.log_every : std::max<int64_t>(1, updates / kUsualLines);
  if (!tracing_) return;
  char* buffer = engine.memory.owner(NetworkOwner::Files).Bytes(TracePieces);
  const std::span<TracedPiece> pieces(new (buffer) TracedPiece[kTracedPieces], static_cast<size_t>(kTracedPieces));
  const size_t own = side_by_side_ ? pieces.size() / 2 : pieces.size();
  timelines_[0].TraceInto(pieces.first(own));
  timelines_[1].TraceInto(pieces.subspan(own));
}

void Measure::Begin(int64_t update) {
  if (tracing_ && update > trace_.last) trace_status_ = FinishTrace();  // a long run has its trace early
  const bool logged = log_every_ > 0 && (update % log_every_ == 0 || update == 1);
  if (!logged && !InTrace(update)) return;
  for (Timeline& timeline : timelines_) {
    timeline.Clear();
    timeline.Trace(InTrace(update));
  }
  begin_ns_ = Timeline::Now();
  engine_.SetTimelines(timelines_.data(), &timelines_[side_by_side_ ? 1 : 0]);
}

const StepTimes* Measure::End(int64_t update) {
  if (engine_.step.timeline() == nullptr) return nullptr;
  engine_.SetTimelines(nullptr, nullptr);
  Timeline& timeline = timelines_[0];
  timeline.Add(
      {.begin_ns = begin_ns_, .end_ns = Timeline::Now(), .first = static_cast<int32_t>(update), .piece = Piece::Update});
  const auto sum = [&](Piece piece) { return timeline.sum(piece); };
  const int64_t replay = sum(Piece::LayerReplay), loss = sum(Piece::Loss);
  const auto set = [&](Phase phase, int64_t ns) { times_.phase_ms[static_cast<size_t>(phase)] = Milliseconds(ns); };
  set(Phase::Read, sum(Piece::Read) + sum(Piece::ReadAhead));
  set(Phase::Forward, sum(Piece::Advance) + sum(Piece::Record));
  set(Phase::Recompute, sum(Piece::AdvanceAgain) + sum(Piece::RecordAgain));
  set(Phase::Slots, sum(Piece::Keep) + sum(Piece::Restore));
  set(Phase::Replay, replay);
  set(Phase::Loss, loss);
  set(Phase::Backward, std::max<int64_t>(0, sum(Piece::Reverse) - replay - loss));
  set(Phase::Update, sum(Piece::Zero) + sum(Piece::Optimizer));
  for (size_t i = 0; i < layer_times_.size(); ++i) {
    layer_times_[i] = {.forward_ms = Milliseconds(timeline.layers()[i].forward),
                       .backward_ms = Milliseconds(timeline.layers()[i].backward)};
  }
  times_.layers = layer_times_;
  return &times_;
}

Status Measure::FinishTrace() {
  if (!tracing_) return trace_status_;
  tracing_ = false;
  return WriteTrace(trace_file_, {.pieces = {timelines_[0].traced(), timelines_[1].traced()},
                                  .dropped = timelines_[0].dropped() + timelines_[1].dropped(),
                                  .layers = layers_,
                                  .arena = arena_});
}

}  // namespace plimsoll
