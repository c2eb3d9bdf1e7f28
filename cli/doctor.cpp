// doctor: the machine as Plimsoll sees it: processor, kernels chosen, libraries, memory and its limits.
#include <fmt/format.h>
#include <plimsoll/text.h>
#include <plimsoll/trainer.h>
#include <plimsoll/version.h>

#include "output.h"
#include "verbs.h"

using plimsoll::PrettyBytes;

namespace {

std::string Text(const plimsoll::MachineReport& machine) {
  std::string text = fmt::format("plimsoll   {}\ncpu        {}, {} cores\n", plimsoll::kVersion, machine.cpu, machine.cores);
  text += fmt::format("features   {}\n", fmt::join(machine.features, " "));
  text += fmt::format("products   {}\npointwise  {}\n", machine.product_backend, machine.pointwise_target);
  text += fmt::format("memory     {}, {} of it available; ", PrettyBytes(machine.memory_bytes),
                      PrettyBytes(machine.available_bytes));
  text += machine.limit_bytes > 0 ? fmt::format("limit {} ({})\n", PrettyBytes(machine.limit_bytes), machine.limit_source)
                                  : std::string("no limit below that\n");
  for (const auto& [name, version] : machine.libraries) text += fmt::format("library    {} {}\n", name, version);
  return text + fmt::format("peak       {} of this very command\n", PrettyBytes(machine.peak_bytes));
}

Json AsJson(const plimsoll::MachineReport& machine) {
  Json libraries = Json::object();
  for (const auto& [name, version] : machine.libraries) libraries[name] = version;
  return {{"version", plimsoll::kVersion},
          {"cpu", machine.cpu},
          {"features", machine.features},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes},
          {"available_bytes", machine.available_bytes},
          {"limit_bytes", machine.limit_bytes},
          {"limit_source", machine.limit_source},
          {"product_backend", machine.product_backend},
          {"pointwise_target", machine.pointwise_target},
          {"libraries", std::move(libraries)},
          {"peak_bytes", machine.peak_bytes}};
}

}  // namespace

int RunDoctor(const Arguments& arguments) {
  const plimsoll::MachineReport machine = plimsoll::Doctor();
  return arguments.json ? AnswerJson(AsJson(machine)) : Answer(Text(machine));
}
