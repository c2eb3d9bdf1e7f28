// weight_layout: where an element of a canonical tensor lies in a layer's packed weights. Files, the reference and tests know
//   tensors by row and column; kernels know panels; this is the one place that knows both.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernels/product.h"
#include "plimsoll/options.h"

namespace plimsoll {

// What a job says about a tensor.
struct WeightRule {
  Initializer start = Initializer::Zeros;
  double l1 = 0.0;  // the loss has l1 sum |w| + l2 sum w^2 of it
  double l2 = 0.0;
  bool penalised() const { return l1 > 0.0 || l2 > 0.0; }
};

// A panel of a recurrent layer: some units, and the first column of each gate.
struct GatePanel {
  int64_t units = 0;
  int64_t columns = 0;
  std::array<int64_t, 4> gate = {};
};

struct WeightTensor {
  enum class Order {
    Rows,       // row r, column c at r * stride + c
    Panels,     // panels of 32 rows: [row / 32][column][row % 32]
    GatePanels  // rows are gate * units + unit; [unit / panel.units][column][panel.gate[gate] + unit % panel.units]
  };
  std::string name;  // "weight_ih"
  int64_t rows = 0;
  int64_t columns = 0;  // 1 for a vector
  bool vector = false;  // one dimension in files
  Order order = Order::Rows;
  int64_t offset = 0;            // floats from the start of the layer's weights
  int64_t stride = 0;            // Order::Rows
  int64_t gates = 1;             // Order::GatePanels
  GatePanel panel;               // Order::GatePanels
  int64_t last_gate_offset = 0;  // Order::GatePanels: where above 0, the last gate lies so far behind, in panels of its own
  WeightRule rule;
  bool forget_one = false;       // a bias of an LSTM: that of the forget gate begins at 1, whatever the rule
  bool rows_are_inputs = false;  // a table that is looked up by row; elsewhere columns are inputs
  int64_t taps = 1;              // of a Conv1D: the steps that the columns stand for, of each of which an output is one more

  int64_t Place(int64_t row, int64_t column) const {
    switch (order) {
      case Order::Rows:
        return offset + row * stride + column;
      case Order::Panels:
        return offset + (row / kPanelColumns * columns + column) * kPanelColumns + row % kPanelColumns;
      case Order::GatePanels: {
        const int64_t units = rows / gates, gate = row / units, unit = row % units;
        const int64_t in_panel = unit % panel.units, line = unit / panel.units * columns + column;
        if (last_gate_offset > 0 && gate + 1 == gates) return offset + last_gate_offset + line * panel.units + in_panel;
        return offset + line * panel.columns + panel.gate[static_cast<size_t>(gate)] + in_panel;
      }
    }
    __builtin_unreachable();
  }
};

// Floats [begin, end) of a layer's packed weights: a tensor and its padding, which is zero.
struct PackedSpan {
  int64_t begin = 0;
  int64_t end = 0;
};
// Of all tensors of a layer that holds so many floats. They lie one behind the other, in any order.
inline std::vector<PackedSpan> PackedSpans(const std::vector<WeightTensor>& tensors, int64_t floats) {
  std::vector<PackedSpan> spans;
  for (const WeightTensor& tensor : tensors) {
    PackedSpan& span = spans.emplace_back(PackedSpan{tensor.offset, floats});
    for (const WeightTensor& other : tensors) {
      if (other.offset > span.begin) span.end = std::min(span.end, other.offset);
    }
    PLIMSOLL_CHECK(span.begin < span.end, "a layer's tensors lie one behind the other");
  }
  return spans;
}

}  // namespace plimsoll
