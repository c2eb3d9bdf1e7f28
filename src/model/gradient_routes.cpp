#include "model/gradient_routes.h"

#include <algorithm>
#include <cstddef>
#include <variant>

namespace plimsoll {
namespace {

// Buffers of one kind: the first free one is taken and widened.
class BufferPool {
 public:
  explicit BufferPool(std::vector<int64_t>& widths) : widths_(widths) {}

  int Take(int64_t width) {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto number = static_cast<size_t>(free - taken_.begin());
    if (free == taken_.end()) {
      taken_.push_back(false);
      widths_.push_back(0);
    }
    taken_[number] = true;
    widths_[number] = std::max(widths_[number], width);
    return static_cast<int>(number);
  }
  void Free(int number) { taken_[static_cast<size_t>(number)] = false; }

 private:
  std::vector<int64_t>& widths_;
  std::vector<bool> taken_;
};

}  // namespace

GradientRoutes::GradientRoutes(const std::vector<Node>& nodes, const std::vector<bool>& learns,
                               const std::vector<bool>& by_state, int body_nodes)
    : inputs_(nodes.size()), buffers_(nodes.size(), -1) {
  BufferPool blocks(block_widths_), slices(slice_widths_);
  const auto pool_of = [&](size_t node) -> BufferPool& { return static_cast<int>(node) < body_nodes ? blocks : slices; };
  std::vector<bool> written(nodes.size(), false);
  for (size_t reader = nodes.size(); reader-- > 0;) {
    std::vector<int> spares;
    for (const int input : nodes[reader].inputs) {
      Route& route = inputs_[reader].emplace_back();
      if (input == kModelInput || !learns[static_cast<size_t>(input)] || by_state[reader]) continue;
      const auto node = static_cast<size_t>(input);
      route.wanted = true;
      route.added = written[node];
      written[node] = true;
      if (route.added) {
        route.spare = pool_of(reader).Take(nodes[node].width);
        spares.push_back(route.spare);
      } else if (!std::holds_alternative<PoolingOptions>(nodes[node].kind)) {
        buffers_[node] = pool_of(node).Take(nodes[node].width);
      }
    }
    for (const int spare : spares) pool_of(reader).Free(spare);
    if (buffers_[reader] >= 0) pool_of(reader).Free(buffers_[reader]);
  }
}

}  // namespace plimsoll
