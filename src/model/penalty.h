// penalty: what the weights' sizes add to the loss, l1 sum |w| + l2 sum w^2 over each tensor with such a rule, and to its
//   gradient. Once an update, whatever the row groups; by fixed chunks, so that the number of threads changes no bit.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "model/network.h"

namespace plimsoll {

class Penalty {
 public:
  Penalty(const Network& network, const NetworkMemory& memory, ThreadPool& pool);

  double Value() const;      // of the weights as they are; 0 without rules
  void AddGradient() const;  // behind the last row group of a batch

 private:
  // A tensor in its layer's packed weights. Padding is zero and adds nothing.
  struct Part {
    int layer = 0;
    PackedSpan span;
    WeightRule rule;
  };
  std::vector<Part> parts_;
  const NetworkMemory& memory_;
  ThreadPool& pool_;
};

}  // namespace plimsoll
