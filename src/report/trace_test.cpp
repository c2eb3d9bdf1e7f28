#include "report/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/file.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

Json Written(const Trace& trace) {
  const std::string path = testing::TempDir() + "trace_test.json";
  const Status status = WriteTrace(path, trace);
  EXPECT_TRUE(status.ok()) << status.message();
  const Json json = Json::parse(ReadWholeFile(path, 1 << 24).value());
  std::filesystem::remove(path);
  return json;
}

TEST(Trace, SpansHaveTheNamesOfTheirLayersAndTheirPlaces) {
  const std::vector<TracedPiece> pieces = {
      {.begin_ns = 2'000, .end_ns = 5'000, .first = 3, .count = 1, .layer = 1, .piece = Piece::LayerBackward},
      {.begin_ns = 1'500, .end_ns = 9'000, .first = 2, .count = 4, .piece = Piece::Reverse},
      {.begin_ns = 1'000, .end_ns = 9'500, .first = 17, .piece = Piece::Update},
  };
  const std::vector<std::string> layers = {"embedding", "ls\"tm"};
  const std::vector<TracedPiece> beside = {
      {.begin_ns = 1'200, .end_ns = 9'100, .first = 2, .count = 4, .piece = Piece::Reverse}};
  const Json json = Written({.pieces = {pieces, beside}, .dropped = 7, .layers = layers, .arena = {}});
  std::vector<Json> spans, counters;
  std::set<std::string> names;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
    if (event["ph"] == "C") counters.push_back(event);
    if (event["ph"] == "M") names.insert(event["args"]["name"]);
  }
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0]["name"], "ls\"tm backward");
  EXPECT_EQ(spans[0]["ts"], 1.0);
  EXPECT_EQ(spans[0]["dur"], 3.0);
  EXPECT_EQ(spans[0]["args"]["block"], 3);
  EXPECT_EQ(spans[1]["args"]["blocks"], 4);
  EXPECT_EQ(spans[2]["args"]["update"], 17);
  EXPECT_EQ(spans[2]["ts"], 0.0);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(spans[i]["tid"], 1);
  EXPECT_EQ(spans[3]["tid"], 2);
  EXPECT_EQ(spans[3]["ts"], 0.2);
  EXPECT_EQ(counters.size(), 1u) << "of the first group alone";
  EXPECT_EQ(names, (std::set<std::string>{"plimsoll", "training", "the row group beside"}));
  EXPECT_EQ(json["otherData"]["pieces_left_out"], 7);
}

TEST(Trace, ThousandsOfPiecesWithLongNamesAreOneDocument) {
  std::vector<TracedPiece> pieces(5000);
  for (size_t i = 0; i < pieces.size(); ++i)
    pieces[i] = {.begin_ns = static_cast<int64_t>(i),
                 .end_ns = static_cast<int64_t>(i) + 1,
                 .layer = 0,
                 .piece = i % 2 == 0 ? Piece::LayerReplay : Piece::LayerBackward};
  const std::vector<std::string> layers = {std::string(500, '\x01')};
  EXPECT_EQ(Written({.pieces = {pieces}, .dropped = 0, .layers = layers, .arena = {}})["traceEvents"].size(), 2u + 2 * 5000u);
}

TEST(Trace, TheArenaIsCountedByMomentAndLife) {
  Plan plan;
  plan.buffers = {{.owner = "lstm", .name = "gates", .life = Life::Tape, .bytes = 100, .offset = 0, .first = 1, .last = 4},
                  {.owner = "files", .name = "buffer", .life = Life::Scratch, .bytes = 7, .offset = 0, .first = 6, .last = 6}};
  const ArenaUse use = ArenaUseOf(plan);
  const auto tape = static_cast<size_t>(Life::Tape), scratch = static_cast<size_t>(Life::Scratch);
  EXPECT_EQ(use[0][tape], 0);
  EXPECT_EQ(use[1][tape], 100);
  EXPECT_EQ(use[4][tape], 100);
  EXPECT_EQ(use[5][tape], 0);
  EXPECT_EQ(use[6][scratch], 7);
}

TEST(Trace, AFullDiskIsAnErrorAndLeavesNothing) {
  const Status status = WriteTrace("/no such folder/trace.json", {.pieces = {}, .dropped = 0, .layers = {}, .arena = {}});
  EXPECT_EQ(status.kind(), StatusKind::CannotWrite);
}

}  // namespace
}  // namespace plimsoll
