// gradient_routes: where the gradient of every node's output lies on the way back, and which of its readers adds to it.
//   in:    the nodes, which of them learn, which leave the gradient of their input in the State of the layer that they read,
//          and where the head begins
//   out:   for each input of each node a Route; how many buffers there are and how wide
//   A gradient lives from the first reader in reverse order, which writes it, to the node's own Backward. Every further
//   reader writes a spare buffer, which is then added. Gradients that never live together share a buffer: a chain has two.
//   The body's buffers hold a block, the head's a slice. A pooled gradient lies in the pooling layer's State.
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace plimsoll {

// The gradient of one input of a node.
struct Route {
  bool wanted = false;
  bool added = false;  // written to the spare buffer first; a block where the reader is of the body, else a slice
  int spare = -1;
};

class GradientRoutes {
 public:
  GradientRoutes() = default;
  GradientRoutes(const std::vector<Node>& nodes, const std::vector<bool>& learns, const std::vector<bool>& by_state,
                 int body_nodes);

  const std::vector<Route>& inputs(int node) const { return inputs_[static_cast<size_t>(node)]; }
  // The buffer of a node's own gradient; -1: none (nothing learns, or pooling, or an output, or all is in its State).
  int buffer(int node) const { return buffers_[static_cast<size_t>(node)]; }
  // Widths of the buffers, in columns.
  const std::vector<int64_t>& block_widths() const { return block_widths_; }
  const std::vector<int64_t>& slice_widths() const { return slice_widths_; }

 private:
  std::vector<std::vector<Route>> inputs_;
  std::vector<int> buffers_;
  std::vector<int64_t> block_widths_, slice_widths_;
};

}  // namespace plimsoll
