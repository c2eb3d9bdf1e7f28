// weight_layout: where an element of a canonical tensor lies in a layer's packed weights. Files, the reference and tests know
//   tensors by row and column; kernels know panels; this is the one place that knows both.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/product.h"

namespace plimsoll {

enum class WeightStart { Zero, GlorotUniform, Orthogonal, ForgetOne, SmallUniform };  // Keras's initial values

struct WeightTensor {
  enum class Order {
    Rows,       // row r, column c at r * stride + c
    Panels,     // panels of 32 rows: [row / 32][column][row % 32]
    LstmPanels  // rows are gate * units + unit; panels of 8 units: [unit / 8][column][gate * 8 + unit % 8]
  };
  std::string name;  // "weight_ih"
  int64_t rows = 0;
  int64_t columns = 0;  // 1 for a vector
  bool vector = false;  // one dimension in files
  Order order = Order::Rows;
  int64_t offset = 0;  // floats from the start of the layer's weights
  int64_t stride = 0;  // Order::Rows
  WeightStart start = WeightStart::Zero;

  int64_t Place(int64_t row, int64_t column) const {
    switch (order) {
      case Order::Rows:
        return offset + row * stride + column;
      case Order::Panels:
        return offset + (row / kPanelColumns * columns + column) * kPanelColumns + row % kPanelColumns;
      case Order::LstmPanels: {
        const int64_t units = rows / 4, gate = row / units, unit = row % units;
        return offset + (unit / 8 * columns + column) * kPanelColumns + gate * 8 + unit % 8;
      }
    }
    __builtin_unreachable();
  }
};

}  // namespace plimsoll
