#include "report/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

// Shares of an update's time from which on something is worth a word.
constexpr double kMuchReading = 0.2;
constexpr double kMuchLoss = 0.45;
constexpr double kMuchUpdating = 0.3;
constexpr double kMuchValidation = 0.25;
constexpr double kMuchSlots = 0.1;
constexpr double kLongTail = 3.0;  // longest over mean length

std::string Bytes(double bytes) { return PrettyBytesUp(static_cast<int64_t>(std::clamp(bytes, 0.0, 9e18))); }
// As it is typed: "--memory 16.7MB".
std::string Memory(double bytes) {
  std::string text = Bytes(bytes);
  std::erase(text, ' ');
  return "--memory " + text;
}
std::string Percent(double share) { return fmt::format("{:.0f} %", 100.0 * share); }

// The largest one by name and bytes.
std::pair<std::string, double> LargestBuffer(const Json& plan) {
  std::pair<std::string, double> largest = {"", 0.0};
  if (!plan.contains("buffers") || !plan["buffers"].is_array()) return largest;
  for (const Json& buffer : plan["buffers"]) {
    const double bytes = NumberOf(buffer, "bytes");
    if (bytes > largest.second && buffer.contains("name") && buffer["name"].is_string())
      largest = {buffer["name"].get<std::string>(), bytes};
  }
  return largest;
}

void AboutMemory(const RunRecord& run, std::vector<std::string>& advice) {
  const double full = NumberOf(run.plan, "full_speed_bytes"), extra = NumberOf(run.plan, "extra_time");
  const double factor = NumberOf(run.plan, "recompute_factor", 1.0), least = NumberOf(run.plan, "min_bytes");
  const double budget = run.budget_bytes(), planned = run.planned_bytes();
  if (factor > 1.0 && full > budget) {
    advice.push_back(fmt::format("Faster: {} would remove all recompute, which was planned to cost {} of an epoch's time.",
                                 Memory(full), Percent(extra / (1.0 + extra))));
  }
  if (least > 0.0 && planned > 1.02 * least) {
    const double cost = NumberOf(run.plan, "min_extra_time");
    advice.push_back(fmt::format("Smaller: this job still runs in {}{}.", Memory(least),
                                 cost > 0.005 ? fmt::format(", for about {} more time", Percent(cost)) : ""));
  }
  if (budget > 1.1 * planned && factor <= 1.0) {
    advice.push_back(fmt::format("Smaller at the same speed: {} of the budget of {} were planned; {} gives the same run.",
                                 Bytes(planned), Bytes(budget), Memory(planned)));
  }
  const auto [name, bytes] = LargestBuffer(run.plan);
  if (bytes > 0.15 * planned) {
    advice.push_back(fmt::format("The largest buffer is {} with {}. {}", name, Bytes(bytes),
                                 name.ends_with(".gates")
                                     ? "Fewer units, or a smaller batch, make it smaller without recompute."
                                     : "It is the first to look at when memory is short."));
  }
  if (run.facts.is_object() && run.facts.contains("lengths")) {
    const double longest = NumberOf(run.facts["lengths"], "longest"), mean = NumberOf(run.facts["lengths"], "mean");
    if (mean > 0.0 && longest > kLongTail * mean) {
      advice.push_back(
          fmt::format("Smaller: the plan is made for the longest sequences ({:.0f} steps), {:.1f} times the mean of {:.0f}. "
                      "Cutting a few long "
                      "ones in the data would shrink it.",
                      longest, longest / mean, mean));
    }
  }
}

void AboutTime(const RunRecord& run, std::vector<std::string>& advice) {
  double all = 0.0;
  for (const double ms : run.phase_ms) all += ms;
  const auto share = [&](Phase phase) { return all > 0.0 ? run.phase_ms[static_cast<size_t>(phase)] / all : 0.0; };
  if (share(Phase::Read) > kMuchReading) {
    advice.push_back(fmt::format("Faster: {} of an update is reading data. Uncompressed files on a local disk read fastest.",
                                 Percent(share(Phase::Read))));
  }
  if (share(Phase::Loss) > kMuchLoss) {
    advice.push_back(
        fmt::format("Faster: {} of an update is the output layer and the loss. Fewer classes, or a narrower last layer, "
                    "would help most.",
                    Percent(share(Phase::Loss))));
  }
  if (share(Phase::Update) > kMuchUpdating) {
    advice.push_back(fmt::format("Faster: {} of an update is the optimizer. A larger batch_size spreads it over more samples.",
                                 Percent(share(Phase::Update))));
  }
  if (share(Phase::Slots) > kMuchSlots) {
    advice.push_back(
        fmt::format("Faster: {} of an update is State on its way to and from slots. A faster disk for --spill, or more "
                    "memory, would help.",
                    Percent(share(Phase::Slots))));
  }
  double seconds = 0.0, valid = 0.0;
  for (const RecordedEpoch& epoch : run.epochs) {
    seconds += epoch.seconds;
    valid += epoch.valid_seconds;
  }
  if (seconds > 0.0 && valid > kMuchValidation * seconds) {
    advice.push_back(
        fmt::format("Faster: {} of all time is validation. A smaller share of the data would do.", Percent(valid / seconds)));
  }
}

void AboutLearning(const RunRecord& run, std::vector<std::string>& advice) {
  const RecordedEpoch* best = nullptr;
  for (const RecordedEpoch& epoch : run.epochs) {
    if (epoch.has_valid && (best == nullptr || epoch.val_loss < best->val_loss)) best = &epoch;
  }
  if (best == nullptr || run.epochs.back().epoch < best->epoch + 2.0) return;
  advice.push_back(
      fmt::format("Sooner: val_loss was best after epoch {:.0f} of {:.0f} ({:.4g}); what came later did not lower it.",
                  best->epoch, run.epochs.back().epoch, best->val_loss));
}

}  // namespace

std::vector<std::string> AdviceFor(const RunRecord& run) {
  std::vector<std::string> advice;
  AboutMemory(run, advice);
  AboutTime(run, advice);
  AboutLearning(run, advice);
  return advice;
}

}  // namespace plimsoll
