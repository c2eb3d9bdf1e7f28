// Tests of gradient_routes: which buffers there are, and that two gradients that live together never share one.
#include "model/gradient_routes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll {
namespace {

Node NodeOf(std::vector<int> inputs, int64_t width, LayerKind kind = DenseOptions{}) {
  return {.name = "", .kind = std::move(kind), .inputs = std::move(inputs), .width = width};
}

std::vector<bool> NoneOf(const std::vector<Node>& nodes) { return std::vector<bool>(nodes.size(), false); }

// Walks as the step does and says whether any buffer is written while it still holds another gradient.
bool Clashes(const std::vector<Node>& nodes, const std::vector<bool>& learns, int body) {
  const GradientRoutes routes(nodes, learns, NoneOf(nodes), body);
  std::vector<int> holders[2];  // of the buffers of blocks and of slices: a node, or -1
  holders[0].assign(routes.block_widths().size(), -1);
  holders[1].assign(routes.slice_widths().size(), -1);
  const auto in_head = [&](int node) { return node >= body ? 1U : 0U; };
  for (int reader = static_cast<int>(nodes.size()) - 1; reader >= 0; --reader) {
    if (!learns[static_cast<size_t>(reader)]) continue;
    const std::vector<int>& inputs = nodes[static_cast<size_t>(reader)].inputs;
    std::vector<int> spares;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Route& route = routes.inputs(reader)[i];
      if (!route.wanted) continue;
      const int own = routes.buffer(inputs[i]);
      if (route.added) {
        if (holders[in_head(reader)][static_cast<size_t>(route.spare)] != -1) return true;
        holders[in_head(reader)][static_cast<size_t>(route.spare)] = 1000 + reader;
        spares.push_back(route.spare);
        if (own >= 0 && holders[in_head(inputs[i])][static_cast<size_t>(own)] != inputs[i]) return true;
      } else if (own >= 0) {
        int& holder = holders[in_head(inputs[i])][static_cast<size_t>(own)];
        if (holder != -1) return true;
        holder = inputs[i];
      }
    }
    for (const int spare : spares) holders[in_head(reader)][static_cast<size_t>(spare)] = -1;
    const int own = routes.buffer(reader);
    if (own < 0) continue;
    if (holders[in_head(reader)][static_cast<size_t>(own)] != reader) return true;
    holders[in_head(reader)][static_cast<size_t>(own)] = -1;
  }
  return false;
}

TEST(GradientRoutes, AChainNeedsTwoBuffersAndOneForTheHead) {
  const std::vector<Node> nodes = {NodeOf({-1}, 8), NodeOf({0}, 16), NodeOf({1}, 32), NodeOf({2}, 5), NodeOf({3}, 3)};
  const GradientRoutes routes(nodes, std::vector<bool>(5, true), NoneOf(nodes), 3);
  EXPECT_EQ(routes.block_widths(), (std::vector<int64_t>{32, 16}));
  EXPECT_EQ(routes.slice_widths(), std::vector<int64_t>{5});
  EXPECT_FALSE(Clashes(nodes, std::vector<bool>(5, true), 3));
  EXPECT_FALSE(routes.inputs(0)[0].wanted) << "of the data";
}

TEST(GradientRoutes, WhatDoesNotLearnHasNoBuffer) {
  const std::vector<Node> nodes = {NodeOf({-1}, 8), NodeOf({0}, 16), NodeOf({1}, 3)};
  const GradientRoutes routes(nodes, {false, true, true}, NoneOf(nodes), 2);
  EXPECT_FALSE(routes.inputs(1)[0].wanted);
  EXPECT_EQ(routes.buffer(0), -1);
  EXPECT_EQ(routes.block_widths(), std::vector<int64_t>{16});
}

TEST(GradientRoutes, TheSecondReaderAdds) {
  const std::vector<Node> nodes = {NodeOf({-1}, 8), NodeOf({0}, 8), NodeOf({0, 1}, 8), NodeOf({2}, 3)};
  const GradientRoutes routes(nodes, std::vector<bool>(4, true), NoneOf(nodes), 3);
  EXPECT_FALSE(routes.inputs(2)[0].added);
  EXPECT_FALSE(routes.inputs(2)[1].added);
  EXPECT_TRUE(routes.inputs(1)[0].added) << "node 0 was written for node 2 already";
  EXPECT_EQ(routes.block_widths().size(), 3U);
}

TEST(GradientRoutes, WhatIsLeftInTheStateNeedsNoBufferUnlessOthersReadTheSteps) {
  std::vector<Node> nodes = {NodeOf({-1}, 8), NodeOf({0}, 16), NodeOf({1}, 16, PoolingOptions{}), NodeOf({2}, 3)};
  const std::vector<bool> learns(4, true), by_state = {false, false, true, false};
  const GradientRoutes alone(nodes, learns, by_state, 3);
  EXPECT_FALSE(alone.inputs(2)[0].wanted);
  EXPECT_EQ(alone.buffer(1), -1);
  EXPECT_EQ(alone.block_widths(), std::vector<int64_t>{8}) << "that of node 0 alone";

  nodes[3].inputs = {2, 1};
  const GradientRoutes beside(nodes, learns, by_state, 3);
  EXPECT_FALSE(beside.inputs(2)[0].wanted);
  EXPECT_TRUE(beside.inputs(3)[1].wanted);
  EXPECT_FALSE(beside.inputs(3)[1].added) << "nobody else writes it";
  EXPECT_GE(beside.buffer(1), 0);
}

TEST(GradientRoutes, NoTwoGradientsThatLiveTogetherShareABuffer) {
  uint32_t random = 7;
  const auto below = [&](int bound) {
    random = random * 1664525U + 1013904223U;
    return static_cast<int>((random >> 8U) % static_cast<uint32_t>(bound));
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Node> nodes;
    std::vector<bool> learns;
    const int count = 2 + below(9);
    for (int node = 0; node < count; ++node) {
      std::vector<int> inputs;
      for (int i = 0; i <= below(3); ++i) inputs.push_back(below(node + 1) - 1);
      if (node > 0 && std::find(inputs.begin(), inputs.end(), node - 1) == inputs.end()) inputs.push_back(node - 1);
      bool below_learns = false;
      for (const int input : inputs) below_learns = below_learns || (input >= 0 && learns[static_cast<size_t>(input)]);
      learns.push_back(below_learns || node + 1 == count || below(2) == 0);
      nodes.push_back(NodeOf(std::move(inputs), 1 + below(40)));
    }
    ASSERT_FALSE(Clashes(nodes, learns, below(count))) << "round " << round;
  }
}

}  // namespace
}  // namespace plimsoll
