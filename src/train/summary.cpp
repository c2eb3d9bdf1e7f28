// summary: what a job's layers are and what they hold; what this machine offers.
#include <fmt/format.h>
#include <hwy/highway.h>
#include <libxsmm_version.h>
#include <zlib.h>

#include "base/machine.h"
#include "kernels/product.h"
#include "model/network.h"
#include "plimsoll/trainer.h"
#include "train/setup.h"

namespace plimsoll {

Result<ModelSummary> Summarize(const Job& job) {
  Result<std::unique_ptr<Setup>> setup = SetUp(job, {.must_fit = false});
  if (!setup.ok()) return setup.status();
  const Network& network = *(*setup)->network;
  ModelSummary summary;
  for (int number = 0; number < network.layers(); ++number) {
    const Layer& layer = network.layer(number);
    const Node& node = network.spec().nodes[static_cast<size_t>(number)];
    LayerSummary line{
        .name = node.name,
        .description = layer.Describe(),
        .output = node.per_step ? fmt::format("(rows, steps, {})", node.width) : fmt::format("(rows, {})", node.width)};
    for (const WeightTensor& tensor : layer.Weights()) line.parameters += tensor.rows * tensor.columns;
    if (line.parameters > 0 && !node.trainable) line.description += ", not trained";
    NeedList needs;
    layer.Declare(needs, /*training=*/true);
    for (const Need& need : needs.needs()) {
      if (need.key == kWeights && line.parameters > 0) line.weight_bytes = need.bytes;
      if (need.life == Life::Tape && need.unit == NeedUnit::RowStep) line.tape_bytes_per_row_step += need.bytes;
    }
    summary.parameters += line.parameters;
    summary.layers.push_back(std::move(line));
  }
  return summary;
}

MachineReport Doctor() {
  const CpuFacts cpu = ReadCpuFacts();
  const MemoryFacts memory = ReadMemoryFacts();
  ProductSet products;
  products.AddHeights({.m = kPanelColumns, .k = 16, .lda = kPanelColumns, .ldb = 16, .ldc = kPanelColumns, .add = true});
  products.Compile(ProductBackend::Generated);
  return {.cpu = cpu.model,
          .features = cpu.features,
          .cores = cpu.cores,
          .memory_bytes = memory.total_bytes,
          .available_bytes = memory.available_bytes,
          .limit_bytes = memory.limit_bytes,
          .limit_source = memory.limit_source,
          .product_backend = products.Name(),
          .pointwise_target = PointwiseTarget(),
          .libraries = {{"libxsmm", LIBXSMM_CONFIG_VERSION},
                        {"highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
                        {"zlib", zlibVersion()},
                        {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}},
          .peak_bytes = PeakResidentBytes()};
}

}  // namespace plimsoll
