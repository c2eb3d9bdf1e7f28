#include "model/penalty.h"

#include <algorithm>

#include "kernels/penalty.h"

namespace plimsoll {

Penalty::Penalty(const Network& network, const NetworkMemory& memory, ThreadPool& pool) : memory_(memory), pool_(pool) {
  for (int layer = 0; layer < network.layers(); ++layer) {
    if (!network.learns(layer)) continue;
    const std::vector<WeightTensor> tensors = network.layer(layer).Weights();
    const int64_t floats = memory.layer(layer).bytes(kWeights) / static_cast<int64_t>(sizeof(float));
    const std::vector<PackedSpan> spans = PackedSpans(tensors, floats);
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].rule.penalised()) parts_.push_back({layer, spans[i], tensors[i].rule});
    }
  }
}

double Penalty::Value() const {
  double sum = 0.0;
  for (const Part& part : parts_) {
    const float* weights = memory_.layer(part.layer).F32(kWeights) + part.span.begin;
    double* partial = memory_.owner(NetworkOwner::Optimizer).F64(PartialSums);
    const int64_t floats = part.span.end - part.span.begin, chunks = (floats + kSumChunk - 1) / kSumChunk;
    pool_.Run([&](int thread) {
      const Share share = ShareOf(chunks, thread, pool_.size());
      for (int64_t chunk = share.begin; chunk < share.end; ++chunk) {
        const int64_t first = chunk * kSumChunk;
        partial[chunk] = penalty_sum(weights + first, std::min(kSumChunk, floats - first), part.rule.l1, part.rule.l2);
      }
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk];
  }
  return sum;
}

void Penalty::AddGradient() const {
  for (const Part& part : parts_) {
    const OwnerMemory& memory = memory_.layer(part.layer);
    pool_.Run([&](int thread) {
      const Share share = ShareOf(part.span.end - part.span.begin, thread, pool_.size(), 1024);
      const int64_t first = part.span.begin + share.begin;
      penalty_gradient(memory.F32(kGradient) + first, memory.F32(kWeights) + first, share.end - share.begin, part.rule.l1,
                       part.rule.l2);
    });
  }
}

}  // namespace plimsoll
