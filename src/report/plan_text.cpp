// plan_text: a Plan for people (a few lines, a table) and for programs (JSON).
//   in:    a Plan
//   out:   text
//   never: decides or recomputes anything that the plan says
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/bytes.h"
#include "plimsoll/plan.h"
#include "report/curve.h"
#include "report/plan_json.h"
#include "report/plan_words.h"

namespace plimsoll {
namespace {

constexpr size_t kOwnersInText = 6;
constexpr int kBarCells = 24;
constexpr const char* kIndent = "       ";  // below "plan   "

std::string ExtraTime(double share) { return fmt::format("about +{:.0f} % time", 100.0 * share); }

std::vector<std::pair<std::string, int64_t>> LargestFirst(std::vector<std::pair<std::string, int64_t>> owners) {
  std::stable_sort(owners.begin(), owners.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return owners;
}

std::string OwnersInBrackets(const Plan& plan) {
  std::string text;
  int64_t rest = plan.peak_bytes;
  size_t shown = 0;
  for (const auto& [name, bytes] : LargestFirst(plan.owners)) {
    if (shown == kOwnersInText || bytes < 50'000) break;  // would print as 0.0
    fmt::format_to(std::back_inserter(text), "{}{} {:.1f}", shown == 0 ? "" : ", ", name, static_cast<double>(bytes) / 1e6);
    rest -= bytes;
    ++shown;
  }
  if (rest >= 50'000 && shown > 0) fmt::format_to(std::back_inserter(text), ", other {:.1f}", static_cast<double>(rest) / 1e6);
  return text.empty() ? "" : fmt::format(" ({})", text);
}

// "48 blocks of 16 steps in 6 segments; every block but the last segment's runs twice"
std::string StageText(const PlannedStage& stage, int64_t block_steps) {
  std::string text = StageShape(stage, block_steps);
  if (stage.repeats == 0) {
    text += "; every block runs once";
  } else if (stage.repeats == 1) {
    text += "; every block but the last segment's runs twice";
  } else {
    fmt::format_to(std::back_inserter(text), "; no block runs more than {}", HowOften(stage.repeats + 1));
  }
  return text;
}

std::string StagesText(const Plan& plan) {
  std::string text = fmt::format("{}{} rows together; ", kIndent, RowsOf(plan));
  const std::string time = plan.recompute_factor > 1.0 ? fmt::format(" ({})", ExtraTime(plan.extra_time)) : "";
  if (plan.stages.size() == 1) return text + StageText(plan.stages[0], plan.block_steps) + time + "\n";
  fmt::format_to(std::back_inserter(text), "{} stages{}\n", plan.stages.size(), time);
  for (const PlannedStage& stage : plan.stages) {
    fmt::format_to(std::back_inserter(text), "{}{}: {}\n", kIndent, fmt::join(stage.layers, ", "),
                   StageText(stage, plan.block_steps));
  }
  return text;
}

std::string BudgetsText(const Plan& plan) {
  std::vector<std::string> parts;
  if (plan.min_bytes > 0) {
    parts.push_back(fmt::format("smallest budget {}", PrettyBytesUp(plan.min_bytes)));
    if (plan.min_extra_time > 0.0) parts.back() += fmt::format(" ({})", ExtraTime(plan.min_extra_time));
    if (plan.own_groups_bytes > plan.min_bytes) {
      parts.push_back(fmt::format("{} for row groups of the job's own size", PrettyBytesUp(plan.own_groups_bytes)));
    }
  }
  if (plan.recompute_factor > 1.0 && plan.full_speed_bytes > 0) {
    parts.push_back(fmt::format("{} would remove all recompute", PrettyBytesUp(plan.full_speed_bytes)));
  }
  std::string text = parts.empty() ? "" : fmt::format("{}{}\n", kIndent, fmt::join(parts, "; "));
  if (plan.seconds_per_epoch > 0.0) {
    fmt::format_to(std::back_inserter(text), "{}an epoch is predicted to take {}\n", kIndent,
                   SecondsText(plan.seconds_per_epoch));
  }
  return text;
}

// The refusal: what would work, what it costs, and what would lower it.
std::string DoesNotFitText(const Plan& plan) {
  std::string text = fmt::format("plan   does not fit {}: the smallest budget that works is {} ({} bytes{})\n",
                                 PrettyBytes(plan.budget_bytes), PrettyBytesUp(plan.min_bytes), plan.min_bytes,
                                 plan.min_extra_time > 0.0 ? ", " + ExtraTime(plan.min_extra_time) : "");
  for (const PlanChange& change : plan.changes) {
    fmt::format_to(std::back_inserter(text), "{}{} would lower it to {}\n", kIndent, change.change,
                   PrettyBytesUp(change.min_bytes));
  }
  return text;
}

}  // namespace

const char* LifeName(Life life) {
  switch (life) {
    case Life::Param:
      return "param";
    case Life::Grad:
      return "grad";
    case Life::Moment:
      return "moment";
    case Life::State:
      return "state";
    case Life::Tape:
      return "tape";
    case Life::Scratch:
      return "scratch";
    case Life::Data:
      return "data";
  }
  return "unknown";
}

std::string PlanText(const Plan& plan) {
  if (!plan.feasible) return DoesNotFitText(plan);
  std::string text = fmt::format("plan   fits: {} of {}{}\n", PrettyBytes(plan.peak_bytes), PrettyBytes(plan.budget_bytes),
                                 OwnersInBrackets(plan));
  if (!plan.stages.empty()) text += StagesText(plan);
  if (plan.rounding_only_change) {
    fmt::format_to(std::back_inserter(text), "{}{}\n", kIndent, kSmallerGroups);
  }
  return text + BudgetsText(plan);
}

std::string PlanTable(const Plan& plan) {
  std::string text;
  auto out = std::back_inserter(text);
  const auto owners = LargestFirst(plan.owners);
  size_t owner_width = 5;
  size_t name_width = 6;
  for (const auto& [name, bytes] : owners) owner_width = std::max(owner_width, name.size());
  for (const PlannedBuffer& buffer : plan.buffers)
    name_width = std::max(name_width, buffer.owner.size() + 1 + buffer.name.size());

  fmt::format_to(out, "{:<{}}  {:>10}  share\n", "owner", owner_width, "memory");
  for (const auto& [name, bytes] : owners) {
    const double share = plan.peak_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(plan.peak_bytes) : 0.0;
    const int cells = std::clamp(static_cast<int>(std::lround(share * kBarCells)), 0, kBarCells);
    std::string bar;
    for (int i = 0; i < cells; ++i) bar += "━";
    fmt::format_to(out, "{:<{}}  {:>10}  {:>4.1f} %{}{}\n", name, owner_width, PrettyBytes(bytes), 100.0 * share,
                   cells > 0 ? "  " : "", bar);
  }
  fmt::format_to(out, "{:<{}}  {:>10}  of {}\n", "peak", owner_width, PrettyBytes(plan.peak_bytes),
                 PrettyBytes(plan.budget_bytes));

  if (!plan.buffers.empty()) {
    std::vector<const PlannedBuffer*> buffers;
    for (const PlannedBuffer& buffer : plan.buffers) buffers.push_back(&buffer);
    std::stable_sort(buffers.begin(), buffers.end(), [](const PlannedBuffer* a, const PlannedBuffer* b) {
      return a->bytes != b->bytes ? a->bytes > b->bytes : a->offset < b->offset;
    });
    fmt::format_to(out, "\n{:<{}}  {:<7}  {:>14}  {:>14}\n", "buffer", name_width, "life", "bytes", "offset");
    for (const PlannedBuffer* buffer : buffers) {
      fmt::format_to(out, "{:<{}}  {:<7}  {:>14}  {:>14}\n", buffer->owner + "." + buffer->name, name_width,
                     LifeName(buffer->life), buffer->bytes, buffer->offset);
    }
  }
  for (const std::string& assumption : plan.assumptions) fmt::format_to(out, "assumed: {}\n", assumption);
  return text;
}

// Made in place, part by part: a list of braces would copy all that it names, and the heap of a run that writes its plan
// counts.
std::string PlanJson(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json json = Json::object();
  json["feasible"] = plan.feasible;
  json["budget_bytes"] = plan.budget_bytes;
  json["peak_bytes"] = plan.peak_bytes;
  json["min_bytes"] = plan.min_bytes;
  json["own_groups_bytes"] = plan.own_groups_bytes;
  json["full_speed_bytes"] = plan.full_speed_bytes;
  Json& owners = json["owners"] = Json::object();
  for (const auto& [name, bytes] : plan.owners) owners[name] = owners.value(name, int64_t{0}) + bytes;
  json["buffers"] = nullptr;  // the most of it: written as text, below
  json["group_rows"] = plan.group_rows;
  json["groups_abreast"] = plan.groups_abreast;
  json["rounding_only_change"] = plan.rounding_only_change;
  json["block_steps"] = plan.block_steps;
  json["stages"] = StagesJson(plan);
  json["loss_slice_rows"] = plan.loss_slice_rows;
  json["recompute_factor"] = plan.recompute_factor;
  json["extra_time"] = plan.extra_time;
  json["min_extra_time"] = plan.min_extra_time;
  json["seconds_per_epoch"] = plan.seconds_per_epoch;
  Json& changes = json["changes"] = Json::array();
  for (const PlanChange& change : plan.changes) changes.push_back({{"change", change.change}, {"min_bytes", change.min_bytes}});
  json["assumptions"] = plan.assumptions;

  std::string text = JsonText(json);
  const std::string_view place = "\"buffers\": null";
  std::string buffers = "\"buffers\": [";
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (&buffer != plan.buffers.data()) buffers += ',';
    fmt::format_to(std::back_inserter(buffers),
                   "\n    {{\"name\": {}, \"life\": \"{}\", \"bytes\": {}, \"offset\": {}, \"first\": {}, \"last\": {}}}",
                   JsonLine(buffer.owner + "." + buffer.name), LifeName(buffer.life), buffer.bytes, buffer.offset, buffer.first,
                   buffer.last);
  }
  buffers += plan.buffers.empty() ? "]" : "\n  ]";
  text.replace(text.find(place), place.size(), buffers);
  return text;
}

}  // namespace plimsoll
