#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "plimsoll/plan.h"

namespace plimsoll {
namespace {

Plan SomePlan() {
  Plan plan;
  plan.feasible = true;
  plan.budget_bytes = 256'000'000;
  plan.peak_bytes = 188'400'000;
  plan.base_bytes = 14'100'000;
  plan.arena_bytes = 174'100'000;
  plan.slack_bytes = 200'000;
  plan.min_bytes = 61'123'456;
  plan.full_speed_bytes = 402'000'000;
  plan.owners = {{"weights", 10'300'000}, {"optimizer", 20'600'000}, {"tape", 121'000'000}, {"data", 4'200'000},
                 {"program", 14'100'000}, {"scratch", 18'000'000},   {"slack", 200'000}};
  plan.buffers = {
      {.owner = "lstm", .name = "weights", .life = Life::Param, .bytes = 4096, .offset = 0, .first = 0, .last = 9},
      {.owner = "lstm", .name = "gates", .life = Life::Tape, .bytes = 121'000'000, .offset = 4096, .first = 2, .last = 5}};
  plan.group_rows = 64;
  plan.block_steps = 16;
  plan.stages = {{.layers = {"embedding", "lstm"}, .blocks = 48, .segment_blocks = 8, .slots = 5, .repeats = 1}};
  plan.loss_slice_rows = 256;
  plan.recompute_factor = 1.84;
  plan.extra_time = 0.28;
  plan.min_extra_time = 0.95;
  plan.seconds_per_epoch = 3.62;
  plan.assumptions = {"longest sequence: 768 steps"};
  return plan;
}

TEST(PlanText, SaysWhatWasDecidedInThreeLines) {
  EXPECT_EQ(
      PlanText(SomePlan()),
      "plan   fits: 188.4 MB of 256 MB (tape 121.0, optimizer 20.6, scratch 18.0, program 14.1, weights 10.3, data 4.2, other "
      "0.2)\n"
      "       64 rows together; 48 blocks of 16 steps in 6 segments, 5 slots; every block but the last segment's runs twice "
      "(about +28 % time)\n"
      "       smallest budget 61.2 MB (about +95 % time); 402 MB would remove all recompute\n"
      "       an epoch is predicted to take 3.6 s\n");
}

TEST(PlanText, APlanThatRunsEveryBlockOnceSaysSo) {
  Plan plan = SomePlan();
  plan.stages[0] = {.layers = {"lstm"}, .blocks = 1, .segment_blocks = 1, .slots = 0, .repeats = 0};
  plan.recompute_factor = 1.0;
  const std::string text = PlanText(plan);
  EXPECT_NE(text.find("64 rows together; 1 block of 16 steps; every block runs once\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("recompute"), std::string::npos) << text;
}

TEST(PlanText, SmallerRowGroupsAreAnnounced) {
  Plan plan = SomePlan();
  plan.rounding_only_change = true;
  EXPECT_NE(PlanText(plan).find("sums round differently"), std::string::npos);
}

TEST(PlanText, TheSmallestBudgetIsRoundedUpSoThatTypingItWorks) {
  Plan plan = SomePlan();
  plan.min_bytes = 61'200'001;
  EXPECT_NE(PlanText(plan).find("smallest budget 61.3 MB"), std::string::npos) << PlanText(plan);
  plan.min_bytes = 999'999'999;
  EXPECT_NE(PlanText(plan).find("smallest budget 1 GB"), std::string::npos) << PlanText(plan);
}

TEST(PlanText, ARefusalNamesTheSmallestBudget) {
  Plan plan = SomePlan();
  plan.feasible = false;
  plan.budget_bytes = 20'000'000;
  plan.changes = {{"train.batch_size = 4", 51'000'000}, {"--spill DIR", 60'000'000}};
  EXPECT_EQ(PlanText(plan),
            "plan   does not fit 20 MB: the smallest budget that works is 61.2 MB (61123456 bytes, about +95 % time)\n"
            "       train.batch_size = 4 would lower it to 51 MB\n"
            "       --spill DIR would lower it to 60 MB\n");
}

TEST(PlanText, AnEmptyPlanIsNoAccident) {
  EXPECT_FALSE(PlanText(Plan{}).empty());
  EXPECT_FALSE(PlanTable(Plan{}).empty());
  EXPECT_FALSE(PlanJson(Plan{}).empty());
}

TEST(PlanTable, ListsOwnersAndBuffersLargestFirst) {
  const std::string table = PlanTable(SomePlan());
  EXPECT_LT(table.find("tape "), table.find("optimizer ")) << table;
  EXPECT_LT(table.find("optimizer "), table.find("slack ")) << table;
  EXPECT_LT(table.find("lstm.gates"), table.find("lstm.weights")) << table;
  EXPECT_NE(table.find("64.2 %  ━━━━━━━━━━━━━━━\n"), std::string::npos) << table;
  EXPECT_NE(table.find("lstm.gates    tape          121000000            4096\n"), std::string::npos) << table;
  EXPECT_NE(table.find("assumed: longest sequence: 768 steps\n"), std::string::npos) << table;
}

TEST(PlanJson, HasTheDocumentedKeysAndNoOthers) {
  const auto json = nlohmann::json::parse(PlanJson(SomePlan()));
  const auto keys = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
  };
  EXPECT_EQ(
      keys(json),
      (std::set<std::string>{
          "feasible", "budget_bytes",    "peak_bytes",       "min_bytes",      "own_groups_bytes",     "full_speed_bytes",
          "owners",   "buffers",         "group_rows",       "groups_abreast", "rounding_only_change", "block_steps",
          "stages",   "loss_slice_rows", "recompute_factor", "extra_time",     "min_extra_time",       "seconds_per_epoch",
          "changes",  "assumptions"}));
  EXPECT_EQ(keys(json["buffers"][0]), (std::set<std::string>{"name", "life", "bytes", "offset", "first", "last"}));
  EXPECT_EQ(keys(json["stages"][0]), (std::set<std::string>{"layers", "segment_blocks", "slots", "spilled", "repeats"}));
  EXPECT_EQ(json["owners"]["tape"], 121'000'000);
  EXPECT_EQ(json["buffers"][1]["name"], "lstm.gates");
  EXPECT_EQ(json["buffers"][1]["life"], "tape");
  EXPECT_EQ(json["min_bytes"], 61'123'456);
}

TEST(PlanJson, NamesThatAreNoUtf8DoNotThrow) {
  Plan plan = SomePlan();
  plan.buffers[0].owner = "\xff\xfe";
  EXPECT_NO_THROW(static_cast<void>(PlanJson(plan)));
}

}  // namespace
}  // namespace plimsoll
