#include "plimsoll/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "plimsoll/plan.h"
#include "report/chart.h"
#include "report/run_log.h"
#include "report/run_record.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "report_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A run of two epochs of 50 updates that was cut for its budget.
  std::string MakeRun(const std::string& name, const std::string& layer = "lstm") {
    const std::string run = folder_ + "/" + name;
    fs::create_directory(run);
    Plan plan;
    plan.feasible = true;
    plan.budget_bytes = 32'000'000;
    plan.peak_bytes = 30'000'000;
    plan.min_bytes = 12'000'000;
    plan.min_extra_time = 0.6;
    plan.full_speed_bytes = 40'000'000;
    plan.recompute_factor = 1.5;
    plan.extra_time = 0.25;
    plan.owners = {{"tape", 20'000'000}, {"program", 10'000'000}, {"alignment", 0}};
    plan.buffers = {
        {.owner = layer, .name = "gates", .life = Life::Tape, .bytes = 20'000'000, .offset = 0, .first = 1, .last = 4}};
    EXPECT_TRUE(WriteTextFile(run + "/plan.json", PlanJson(plan)).ok());
    EXPECT_TRUE(WriteTextFile(run + "/job.toml", "[train]\nepochs = 2     # passes\nname = \"" + name + "\"\n").ok());
    RunLog log(nullptr);
    EXPECT_TRUE(log.Open(run).ok());
    const std::vector<std::string> layers = {layer, "dense"};
    RunFacts facts{.task = "classify",
                   .samples = 100,
                   .epochs = 2,
                   .batch_size = 2,
                   .threads = 2,
                   .parameters = 1234567,
                   .layers = layers};
    facts.lengths = {.shortest = 3, .longest = 40, .mean = 8.0, .bin_steps = 19, .bins = 2, .counts = {90, 10}};
    log.Started(facts);
    log.Planned(plan);
    for (int64_t update = 1; update <= 100; ++update) {
      const std::vector<LayerTime> times = {{1.0, 2.0}, {0.5, 0.5}};
      StepTimes measured{.phase_ms = {2.0, 1.0, 0.5, 0.0, 0.5, 0.5, 1.0, 0.5}, .layers = times};
      log.Step({.epoch = 1 + (update - 1) / 50,
                .epochs = 2,
                .step_in_epoch = 1 + (update - 1) % 50,
                .steps_per_epoch = 50,
                .update = update,
                .loss = 1.0 / static_cast<double>(update),
                .accuracy = 0.5,
                .step_ms = 6.5,
                .resident_bytes = 29'000'000,
                .budget_bytes = 32'000'000,
                .items = 1 + (update - 1) % 50,
                .times = &measured});
      if (update % 50 != 0) continue;
      EpochReport epoch{.epoch = update / 50, .epochs = 2, .updates = update, .seconds = 1.0, .valid_seconds = 0.5};
      epoch.train = {.loss = 0.5, .accuracy = 0.95};
      epoch.has_valid = true;
      epoch.valid = {.loss = 0.25, .accuracy = 0.8};
      epoch.valid.metrics.Add(Metric::F1Macro, 0.25 + static_cast<double>(epoch.epoch) / 8.0);
      epoch.peak_bytes = 29'500'000;
      epoch.useful_row_steps = 6 * update;
      epoch.computed_row_steps = 8 * update;
      log.Epoch(epoch);
    }
    const std::vector<int64_t> confusion = {5, 1, 2, 7};
    Score last{.loss = 0.5, .accuracy = 0.8};
    last.metrics.Add(Metric::F1Macro, 0.5);
    log.Ended({.first = {.loss = 1.5},
               .last = last,
               .updates = 100,
               .epochs = 2,
               .seconds = 2.0,
               .peak_bytes = 29'500'000,
               .classes = 2,
               .confusion = confusion});
    return run;
  }

  std::string folder_;
};

TEST_F(ReportTest, ThePageIsWholeAndNeedsNothingElse) {
  const std::string run = MakeRun("run");
  const Result<RunReport> report = MakeReport({.run = run, .against = ""});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const std::string& page = report.value().page;
  for (const char* title : {"Loss", "Accuracy", "Memory of the whole process", "Time by phase", "Time by layer",
                            "Map of the arena", "Who owns the planned bytes", "Which classes are taken for which",
                            "Lengths of the sequences", "What would make it faster or smaller"})
    EXPECT_EQ(Count(page, std::string("<h2>") + title + "</h2>"), 1u) << title;
  EXPECT_EQ(Count(page, "useful steps / computed steps = 0.75, of 800"), 1u);
  EXPECT_EQ(Count(page, "http"), 0u);
  EXPECT_EQ(Count(page, "src="), 0u);
  EXPECT_EQ(Count(page, "url("), 0u);
  EXPECT_EQ(Count(page, "@import"), 0u);
  EXPECT_EQ(Count(page, "nan"), 0u);
  for (const char* tag : {"svg", "section", "table", "div", "details", "ul"})
    EXPECT_EQ(Count(page, std::string("<") + tag + ">") + Count(page, std::string("<") + tag + " "),
              Count(page, std::string("</") + tag + ">"))
        << tag;
  EXPECT_NE(page.find(report.value().body), std::string::npos);
  const Result<std::string> written = WriteReport(report.value(), {.run = run, .against = ""}, "");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(ReadWholeFile(run + "/report.html", 1 << 24).value(), page);
}

TEST_F(ReportTest, TheJobsMetricsAreDrawnAndTold) {
  const Result<RunReport> report = MakeReport({.run = MakeRun("run"), .against = MakeRun("two")});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(Count(report.value().page, "aria-label=\"f1_macro by update\""), 1u);
  EXPECT_EQ(Count(report.value().page, "run val_f1_macro 0.5"), 1u) << "the last value is in the legend";
  EXPECT_EQ(Count(report.value().page, "<td>f1_macro at the end</td><td>0.5</td><td>0.5</td><td>1</td>"), 1u);
  EXPECT_EQ(Count(report.value().page, "recall"), 0u) << "nobody has asked for it";
  const Result<RunReport> alone = MakeReport({.run = folder_ + "/run", .against = ""});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(Count(alone.value().page, "accuracy, loss 0.5, f1_macro 0.5<"), 1u);
}

TEST_F(ReportTest, ThePageOfARunThatGoesOnBeginsWithTheLastValidation) {
  const std::string run = MakeRun("run"), log = run + "/metrics.jsonl";
  std::string lines = ReadWholeFile(log, 1 << 20).value();
  lines.resize(lines.find("{\"event\":\"end\""));
  ASSERT_TRUE(WriteTextFile(log, lines).ok());
  const Result<RunReport> report = MakeReport({.run = run, .against = ""});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(Count(report.value().page, "<b>80.00 %</b><span>accuracy, loss 0.25, f1_macro 0.5</span>"), 1u);
}

TEST_F(ReportTest, TheLargestBuffersAndOwnersAreListedAndNothingOfNoBytes) {
  const Result<RunReport> report = MakeReport({.run = MakeRun("run"), .against = ""});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(Count(report.value().page, "lstm.gates</td><td>20 MB</td><td>Forward to Back</td>"), 1u);
  EXPECT_EQ(Count(report.value().page, "alignment"), 0u);
}

TEST_F(ReportTest, AdviceRestsOnThePlanAndOnWhatWasMeasured) {
  const Result<RunReport> report = MakeReport({.run = MakeRun("run"), .against = ""});
  ASSERT_TRUE(report.ok());
  std::string advice;
  for (const std::string& sentence : report.value().advice) advice += sentence + "\n";
  EXPECT_NE(advice.find("--memory 40MB would remove all recompute, which was planned to cost 20 %"), std::string::npos)
      << advice;
  EXPECT_NE(advice.find("still runs in --memory 12MB, for about 60 % more time"), std::string::npos) << advice;
  EXPECT_NE(advice.find("lstm.gates with 20 MB"), std::string::npos) << advice;
  EXPECT_NE(advice.find("33 % of an update is reading"), std::string::npos) << advice;
  EXPECT_NE(advice.find("50 % of all time is validation"), std::string::npos) << advice;
  EXPECT_NE(advice.find("5.0 times the mean"), std::string::npos) << advice;
  EXPECT_EQ(advice.find("optimizer"), std::string::npos) << "6 % are not worth a word: " << advice;
  EXPECT_NE(report.value().text.find("planned 30 MB · measured 29.5 MB · budget 32 MB"), std::string::npos)
      << report.value().text;
}

TEST_F(ReportTest, TwoRunsStandSideBySide) {
  const Result<RunReport> report = MakeReport({.run = MakeRun("one"), .against = MakeRun("two")});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const std::string& page = report.value().page;
  EXPECT_EQ(Count(page, "<h2>Side by side</h2>"), 1u);
  EXPECT_EQ(Count(page, "<h2>Map of the arena: "), 2u);
  EXPECT_NE(page.find("- [train] name = &quot;one&quot;\n+ [train] name = &quot;two&quot;\n</pre>"), std::string::npos);
  EXPECT_NE(page.find("two val_loss"), std::string::npos);
}

TEST_F(ReportTest, NamesOfTheUsersStayText) {
  const Result<RunReport> report = MakeReport({.run = MakeRun("a<script>&\"b", "<img onerror=x>"), .against = ""});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(Count(report.value().page, "<script"), 0u);
  EXPECT_EQ(Count(report.value().page, "<img"), 0u);
  EXPECT_NE(report.value().page.find("a&lt;script&gt;&amp;&quot;b"), std::string::npos);
}

TEST_F(ReportTest, ClassesAndTokensHaveTheNamesOfTheModelFolder) {
  const std::string run = MakeRun("run");
  std::filesystem::create_directories(run + "/model");
  ASSERT_TRUE(WriteTextFile(run + "/model/labels.txt", "ham\nspam<b>\n").ok());
  ASSERT_TRUE(WriteTextFile(run + "/model/vocabulary.txt", "\\unknown\nbuy\n\\x20now\n").ok());
  const auto page_of = [&](const std::string& end) {
    EXPECT_TRUE(WriteTextFile(run + "/metrics.jsonl", "{\"event\":\"run\",\"task\":\"classify\"}\n" + end).ok());
    const Result<RunReport> report = MakeReport({.run = run, .against = ""});
    EXPECT_TRUE(report.ok());
    return report.ok() ? report.value().page : "";
  };
  const std::string page = page_of(
      "{\"event\":\"end\",\"classes\":2,\"confusion\":[1,2,3,4],\"example_kind\":\"classes\",\"examples\":["
      "{\"sample\":0,\"step\":0,\"input\":1},{\"sample\":0,\"step\":1,\"input\":2},{\"sample\":0,\"step\":0,\"target\":0,"
      "\"likely\":[[1,0.9],[0,0.1]]}]}\n");
  EXPECT_EQ(Count(page, "<th>ham</th>"), 1u);
  EXPECT_EQ(Count(page, "<span>spam&lt;b&gt;</span>"), 1u);
  EXPECT_EQ(Count(page,
                  "<td>buy \u2423now</td><td>ham</td><td><span class=\"wrong\">spam&lt;b&gt; 90\u00a0%</span></td><td>ham "
                  "10\u00a0%</td>"),
            1u)
      << page.substr(page.find("Examples"));
  EXPECT_EQ(Count(page, "<b>"), Count(page, "</b>"));
}

TEST_F(ReportTest, EachKindOfTargetHasItsExamples) {
  const std::string run = MakeRun("run");
  const auto page_of = [&](const std::string& task, const std::string& kind, const std::string& examples) {
    EXPECT_TRUE(WriteTextFile(run + "/metrics.jsonl", "{\"event\":\"run\",\"task\":\"" + task +
                                                          "\"}\n{\"event\":\"end\",\"example_kind\":\"" + kind +
                                                          "\",\"examples\":[" + examples + "]}\n")
                    .ok());
    const Result<RunReport> report = MakeReport({.run = run, .against = ""});
    EXPECT_TRUE(report.ok());
    return report.ok() ? report.value().page : "";
  };
  const std::string lm = page_of("lm", "steps",
                                 "{\"sample\":0,\"step\":1,\"input\":5,\"target\":6,\"likely\":[[6,0.5]]},"
                                 "{\"sample\":0,\"step\":0,\"input\":4,\"target\":5,\"likely\":[[9,0.5]]}");
  EXPECT_NE(lm.find("<b>4</b></span><span class=\"miss\" style=\"--p:0\" title=\"9 50\u00a0%\"><b>5</b><i>9</i></span>"),
            std::string::npos)
      << "by steps, the text that it begins with first";
  EXPECT_EQ(Count(lm, "<span class=\"hit\""), 1u);
  const std::string spelt =
      page_of("classify", "spelt", "{\"sample\":0,\"step\":0,\"target\":3},{\"sample\":0,\"step\":0,\"likely\":[[3,0]]}");
  EXPECT_NE(spelt.find("<td>3</td><td><span class=\"right\">3</span></td>"), std::string::npos);
  const std::string labels = page_of("classify", "labels",
                                     "{\"sample\":0,\"step\":2,\"wanted\":1,\"given\":0.25},"
                                     "{\"sample\":0,\"step\":7,\"wanted\":0,\"given\":0.75}");
  EXPECT_NE(
      labels.find("<td>2</td><td><span class=\"wrong\">2 25\u00a0%</span>, <span class=\"wrong\">7 75\u00a0%</span></td>"),
      std::string::npos);
  const std::string pairs =
      "{\"sample\":0,\"step\":0,\"wanted\":1,\"given\":2},{\"sample\":1,\"step\":0,\"wanted\":3,\"given\":3}";
  EXPECT_EQ(Count(page_of("regress", "values", pairs), "Values given against values wanted"), 1u);
  EXPECT_EQ(Count(page_of("forecast", "values", pairs), "Forecasts and what came"), 1u);
  EXPECT_EQ(Count(page_of("forecast", "values", pairs + ",{\"sample\":1,\"step\":1,\"wanted\":3,\"given\":4}"),
                  "Values wanted and given"),
            2u);
  for (const char* odd :
       {"", "7", "{}", "{\"sample\":\"x\",\"step\":-1,\"wanted\":null,\"given\":1e308}", "{\"likely\":[[1],[\"x\",2],3]}"}) {
    for (const char* kind : {"classes", "steps", "spelt", "labels", "values", "?"})
      EXPECT_EQ(Count(page_of("regress", kind, odd), ">nan<"), 0u);
  }
}

TEST_F(ReportTest, WhatIsNoRunIsRefusedByName) {
  EXPECT_EQ(MakeReport({.run = folder_ + "/none", .against = ""}).status().kind(), StatusKind::Data);
  const Result<RunReport> empty = MakeReport({.run = folder_, .against = ""});
  EXPECT_EQ(empty.status().kind(), StatusKind::Data);
  EXPECT_NE(empty.status().message().find("metrics.jsonl"), std::string::npos);
}

TEST_F(ReportTest, FilesThatHoldAnythingAreRead) {
  const std::string run = MakeRun("run");
  const auto with = [&](const std::string& lines, const std::string& plan) {
    EXPECT_TRUE(WriteTextFile(run + "/metrics.jsonl", lines).ok());
    EXPECT_TRUE(WriteTextFile(run + "/plan.json", plan).ok());
    return MakeReport({.run = run, .against = ""});
  };
  EXPECT_TRUE(with("", "{}").ok());
  EXPECT_TRUE(
      with("\n\n{\n[]\n\x01\xff\n{\"event\":7}\n{\"event\":\"step\"}\n{\"event\":\"epoch\",\"update\":\"x\"}\n", "{}").ok());
  EXPECT_TRUE(with("{\"event\":\"step\",\"update\":1e308,\"loss\":-1e308,\"phase_ms\":[1],\"layer_forward_ms\":{}}\n"
                   "{\"event\":\"step\",\"update\":-1e308,\"resident_bytes\":1e300,\"layer_forward_ms\":[\"x\",1e308]}\n"
                   "{\"event\":\"end\",\"classes\":3,\"confusion\":[1]}\n{\"event\":\"run\",\"layers\":[1,{}],\"lengths\":[],"
                   "\"time\":1e300}\n",
                   "{\"buffers\":[1,{\"bytes\":1e300,\"offset\":-5,\"first\":99,\"last\":-1,\"name\":7}],\"owners\":[],\"peak_"
                   "bytes\":\"x\"}")
                  .ok());
  EXPECT_TRUE(with(std::string(1 << 20, '{') + "\n", "{\"owners\":{\"a\":\"b\"},\"buffers\":{}}").ok());
  EXPECT_TRUE(with(std::string(200'000, '[') + "\n{\"event\":" + std::string(200'000, '[') + "\n", "{}").ok());
  EXPECT_FALSE(with("", std::string(1 << 20, '[')).ok());
  EXPECT_FALSE(with("", "[").ok());
}

TEST_F(ReportTest, ARunThatWentOnTellsEachUpdateOnce) {
  const std::string run = MakeRun("run");
  std::string lines;
  for (const int update : {1, 2, 3, 4, 3, 4, 5})
    lines += "{\"event\":\"step\",\"update\":" + std::to_string(update) + ",\"loss\":" + std::to_string(lines.size()) + "}\n";
  ASSERT_TRUE(WriteTextFile(run + "/metrics.jsonl", lines).ok());
  const Result<RunRecord> record = ReadRun(run);
  ASSERT_TRUE(record.ok());
  std::vector<double> updates;
  for (const RecordedStep& step : record.value().steps) updates.push_back(step.update);
  EXPECT_EQ(updates, (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST_F(ReportTest, ALongRunKeepsFewPoints) {
  const std::string run = MakeRun("run");
  std::string lines;
  for (int update = 1; update <= 20'000; ++update)
    lines += "{\"event\":\"step\",\"update\":" + std::to_string(update) + ",\"loss\":1}\n";
  ASSERT_TRUE(WriteTextFile(run + "/metrics.jsonl", lines).ok());
  const Result<RunRecord> record = ReadRun(run);
  ASSERT_TRUE(record.ok());
  EXPECT_LE(record.value().steps.size(), 2000u);
  EXPECT_GE(record.value().steps.size(), 900u);
  EXPECT_GT(record.value().steps.back().update, 19'900.0);
}

TEST(Chart, OddValuesAreDrawnOrLeftOut) {
  const double inf = INFINITY;
  for (const std::vector<ChartPoint>& points : {std::vector<ChartPoint>{},
                                                {{1, NAN}},
                                                {{1, 1}},
                                                {{1, 0}, {2, 0}},
                                                {{1, -5}, {2, 1e30}},
                                                {{1, inf}, {2, 3}},
                                                {{5, 2}, {5, 2}},
                                                {{1, 1.0}, {2, 1.0 + 1e-15}}}) {
    const std::string svg = ChartSvg({.about = "x", .lines = {{"a", "c1", points}}, .log = true});
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
  }
}

TEST(Chart, ALogScaleIsTakenWhereValuesSpreadFar) {
  const std::string wide = ChartSvg({.about = "", .lines = {{"a", "c1", {{1, 10.0}, {2, 0.01}}}}, .log = true});
  EXPECT_NE(wide.find(">0.1<"), std::string::npos) << wide;
  const std::string narrow = ChartSvg({.about = "", .lines = {{"a", "c1", {{1, 10.0}, {2, 9.0}}}}, .log = true});
  EXPECT_EQ(narrow.find(">0.1<"), std::string::npos) << narrow;
}

}  // namespace
}  // namespace plimsoll
