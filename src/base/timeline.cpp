#include "base/timeline.h"

#include <algorithm>

namespace plimsoll {

void Timeline::Clear() {
  sums_.fill(0);
  std::fill(layers_.begin(), layers_.end(), LayerNanoseconds{});
}

void Timeline::Add(const TracedPiece& piece) {
  const int64_t took = piece.end_ns - piece.begin_ns;
  sums_[static_cast<size_t>(piece.piece)] += took;
  if (piece.layer >= 0 && piece.piece >= Piece::LayerForward && piece.piece <= Piece::LayerBackward) {
    LayerNanoseconds& layer = layers_[static_cast<size_t>(piece.layer)];
    (piece.piece == Piece::LayerForward ? layer.forward : layer.backward) += took;
  }
  if (!keep_) return;
  if (traced_ < buffer_.size()) {
    buffer_[traced_++] = piece;
  } else {
    ++dropped_;
  }
}

}  // namespace plimsoll
