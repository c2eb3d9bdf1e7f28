// summary: the layers of a job with shapes, parameters and bytes.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>

#include <algorithm>

#include "job.h"
#include "output.h"
#include "verbs.h"

namespace {

std::string Table(const plimsoll::ModelSummary& summary) {
  size_t name_width = 5;
  size_t layer_width = 5;
  size_t output_width = 6;
  int64_t weight_bytes = 0;
  for (const plimsoll::LayerSummary& layer : summary.layers) {
    name_width = std::max(name_width, layer.name.size());
    layer_width = std::max(layer_width, layer.description.size());
    output_width = std::max(output_width, layer.output.size());
    weight_bytes += layer.weight_bytes;
  }
  const auto row = [&](std::string_view name, std::string_view layer, std::string_view output, std::string_view parameters,
                       std::string_view weights, std::string_view tape) {
    return fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>12}  {:>10}  {:>15}\n", name, name_width, layer, layer_width, output,
                       output_width, parameters, weights, tape);
  };
  std::string text = row("name", "layer", "output", "parameters", "weights", "tape a row-step");
  for (const plimsoll::LayerSummary& layer : summary.layers) {
    text += row(layer.name, layer.description, layer.output, fmt::format("{}", layer.parameters),
                plimsoll::PrettyBytes(layer.weight_bytes), plimsoll::PrettyBytes(layer.tape_bytes_per_row_step));
  }
  return text + row("total", "", "", fmt::format("{}", summary.parameters), plimsoll::PrettyBytes(weight_bytes), "");
}

Json AsJson(const plimsoll::ModelSummary& summary) {
  Json layers = Json::array();
  for (const plimsoll::LayerSummary& layer : summary.layers) {
    layers.push_back({{"name", layer.name},
                      {"layer", layer.description},
                      {"output", layer.output},
                      {"parameters", layer.parameters},
                      {"weight_bytes", layer.weight_bytes},
                      {"tape_bytes_per_row_step", layer.tape_bytes_per_row_step}});
  }
  return {{"layers", std::move(layers)}, {"parameters", summary.parameters}};
}

}  // namespace

int RunSummary(const Arguments& arguments) {
  const JobOrExit loaded = LoadJob(arguments);
  if (!loaded.job) return loaded.exit_code;
  plimsoll::Result<plimsoll::ModelSummary> summary = plimsoll::Summarize(*loaded.job);
  if (!summary.ok()) return Fail(arguments.json, summary.status());
  return arguments.json ? AnswerJson(AsJson(*summary)) : Answer(Table(*summary));
}
