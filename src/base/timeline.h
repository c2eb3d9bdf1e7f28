// timeline: where the time of a training step goes. Work is measured only while somebody holds a Timeline: without one, all
// that
//   a measured place costs is the test of a pointer.
//   in:    pieces of work as they end (Timed)
//   out:   sums by kind and by layer of one update; and, where there is a buffer for them, the pieces themselves
//   never: allocates after construction; what the buffer cannot hold is counted and left out
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

enum class Piece : uint8_t {
  Update,        // the whole of it; first: its number
  Read,          // first: row group
  ReadAhead,     // the system is asked for the next batch; first: its samples
  Zero,          // gradients to zero
  Advance,       // actions of the schedule; first: block, count: blocks
  AdvanceAgain,  // blocks that have been run before
  Record,
  RecordAgain,
  Keep,  // first: slot
  Restore,
  Reverse,
  Loss,  // the head and the losses on some rows; first: block
  Optimizer,
  LayerForward,  // of a block; first: block
  LayerReplay,
  LayerBackward,
  BackwardInTime,  // kernels of a recurrent layer
  WeightGradient,
};
inline constexpr size_t kPieces = 18;

struct TracedPiece {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int32_t first = 0;
  int32_t count = 0;
  int16_t layer = -1;
  Piece piece = Piece::Update;
};

struct LayerNanoseconds {
  int64_t forward = 0;
  int64_t backward = 0;  // replay included
};

class Timeline {
 public:
  explicit Timeline(int layers) : layers_(static_cast<size_t>(layers)) {}

  static int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  void Clear();  // the sums
  void TraceInto(std::span<TracedPiece> buffer) { buffer_ = buffer; }
  void Trace(bool keep) { keep_ = keep; }  // whether the pieces to come are kept, beside their sums
  void Add(const TracedPiece& piece);

  int64_t sum(Piece piece) const { return sums_[static_cast<size_t>(piece)]; }
  std::span<const LayerNanoseconds> layers() const { return layers_; }
  std::span<const TracedPiece> traced() const { return buffer_.first(traced_); }
  int64_t dropped() const { return dropped_; }

 private:
  std::array<int64_t, kPieces> sums_ = {};
  std::vector<LayerNanoseconds> layers_;
  std::span<TracedPiece> buffer_;
  bool keep_ = false;
  size_t traced_ = 0;
  int64_t dropped_ = 0;
};

// Measures from its construction to its end, where there is a timeline.
class Timed {
 public:
  Timed(Timeline* timeline, Piece piece, int64_t first = 0, int64_t count = 0, int layer = -1) : timeline_(timeline) {
    if (timeline_ == nullptr) return;
    piece_ = {.begin_ns = Timeline::Now(),
              .first = static_cast<int32_t>(first),
              .count = static_cast<int32_t>(count),
              .layer = static_cast<int16_t>(layer),
              .piece = piece};
  }
  ~Timed() {
    if (timeline_ == nullptr) return;
    piece_.end_ns = Timeline::Now();
    timeline_->Add(piece_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Timeline* timeline_;
  TracedPiece piece_;
};

}  // namespace plimsoll
