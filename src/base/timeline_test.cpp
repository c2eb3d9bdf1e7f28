#include "base/timeline.h"

#include <gtest/gtest.h>

#include <array>

namespace plimsoll {
namespace {

TEST(Timeline, SumsAreByPieceAndByLayer) {
  Timeline timeline(2);
  timeline.Add({.begin_ns = 10, .end_ns = 15, .layer = 1, .piece = Piece::LayerForward});
  timeline.Add({.begin_ns = 20, .end_ns = 27, .layer = 1, .piece = Piece::LayerReplay});
  timeline.Add({.begin_ns = 30, .end_ns = 31, .layer = 1, .piece = Piece::LayerBackward});
  timeline.Add({.begin_ns = 30, .end_ns = 90, .layer = 1, .piece = Piece::WeightGradient});  // inside the layer's own time
  EXPECT_EQ(timeline.sum(Piece::LayerForward), 5);
  EXPECT_EQ(timeline.layers()[1].forward, 5);
  EXPECT_EQ(timeline.layers()[1].backward, 8);
  EXPECT_EQ(timeline.layers()[0].forward, 0);
  timeline.Clear();
  EXPECT_EQ(timeline.sum(Piece::LayerForward), 0);
  EXPECT_EQ(timeline.layers()[1].backward, 0);
}

TEST(Timeline, WhatTheBufferCannotHoldIsCounted) {
  Timeline timeline(1);
  std::array<TracedPiece, 3> buffer;
  timeline.TraceInto(buffer);
  timeline.Add({.begin_ns = 7});  // before it is asked for
  timeline.Trace(true);
  for (int i = 0; i < 5; ++i) timeline.Add({.begin_ns = i, .end_ns = i + 1});
  EXPECT_EQ(timeline.traced().size(), 3u);
  EXPECT_EQ(timeline.traced()[2].begin_ns, 2);
  EXPECT_EQ(timeline.dropped(), 2);
}

TEST(Timeline, PiecesInsideOthersNest) {
  Timeline timeline(1);
  std::array<TracedPiece, 8> buffer;
  timeline.TraceInto(buffer);
  timeline.Add({.begin_ns = 7});  // before it is asked for
  timeline.Trace(true);
  {
    const Timed outer(&timeline, Piece::Reverse);
    const Timed inner(&timeline, Piece::LayerBackward, 3, 0, 0);
  }
  const Timed nobody(nullptr, Piece::Reverse);
  ASSERT_EQ(timeline.traced().size(), 2u);
  EXPECT_EQ(timeline.traced()[0].first, 3);
  EXPECT_GE(timeline.traced()[0].begin_ns, timeline.traced()[1].begin_ns);
  EXPECT_LE(timeline.traced()[0].end_ns, timeline.traced()[1].end_ns);
}

}  // namespace
}  // namespace plimsoll
