#include "plimsoll/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/allocation_test_count.h"
#include "plimsoll/plan.h"

namespace plimsoll {
namespace {

StepReport SomeStep() {
  return {.epoch = 2,
          .epochs = 5,
          .step_in_epoch = 312,
          .steps_per_epoch = 1250,
          .update = 1562,
          .loss = 0.31214,
          .accuracy = 0.8712,
          .step_ms = 12.0,
          .resident_bytes = 188'400'000,
          .budget_bytes = 256'000'000};
}
EpochReport SomeEpoch() {
  return {.epoch = 2,
          .epochs = 5,
          .updates = 2500,
          .seconds = 75.4,
          .train = {.loss = 0.3, .accuracy = 0.9, .items = 80'000},
          .has_valid = true,
          .valid = {.loss = 0.4, .accuracy = 0.85, .items = 8'000},
          .peak_bytes = 189'000'000};
}

// What comes out at the other end of a pipe or a terminal.
class Channel {
 public:
  static Channel Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    return {ends[0], ends[1]};
  }
  static Channel Terminal(unsigned short columns) {
    int reader = -1;
    int writer = -1;
    winsize window = {.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::openpty(&reader, &writer, nullptr, nullptr, &window), 0);
    return {reader, writer};
  }
  Channel(int reader, int writer) : reader_(reader), writer_(writer) { ::fcntl(reader_, F_SETFL, O_NONBLOCK); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() {
    ::close(reader_);
    ::close(writer_);
  }
  int writer() const { return writer_; }
  std::string Read() {
    std::string text;
    char chunk[4096];
    pollfd wait = {.fd = reader_, .events = POLLIN, .revents = 0};
    while (::poll(&wait, 1, 50) > 0) {
      const ssize_t got = ::read(reader_, chunk, sizeof chunk);
      if (got <= 0) break;
      text.append(chunk, static_cast<size_t>(got));
    }
    return text;
  }

 private:
  int reader_;
  int writer_;
};

// The environment decides about looks; each test says what it is.
class ProgressTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
    ::setenv("TERM", "xterm", 1);
  }
};

int Columns(const std::string& text) {
  int count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

// The lines as a terminal would show them: without escapes, each redraw a line of its own.
std::vector<std::string> Drawn(const std::string& raw) {
  std::vector<std::string> lines(1);
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\x1b') {
      i = raw.find_first_of("mK", i);
    } else if (raw[i] == '\r' || raw[i] == '\n') {
      if (!lines.back().empty()) lines.emplace_back();
    } else {
      lines.back() += raw[i];
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

TEST_F(ProgressTest, IntoAPipeGoPlainLinesWithoutEscapesOrCarriageReturns) {
  Channel pipe = Channel::Pipe();
  const auto progress = MakeProgress({.fd = pipe.writer(), .color = ColorMode::Always, .line_seconds = 0.0});
  Plan plan;
  plan.feasible = true;
  plan.budget_bytes = 256'000'000;
  plan.peak_bytes = 188'400'000;
  progress->Planned(plan);
  progress->Message("8 threads");
  progress->Step(SomeStep());
  progress->Epoch(SomeEpoch());
  const std::string text = pipe.Read();
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
  EXPECT_NE(text.find("plan   fits: 188.4 MB of 256 MB\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("8 threads\nEpoch 2/5  312/1250  0:11 left · 12 ms/step · loss 0.3121 · accuracy 0.871 · mem 188/256 MB\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "Epoch 2/5  312/1250  1:15 · loss 0.3000 · accuracy 0.900 · val_loss 0.4000 · val_accuracy 0.850 · mem 189/256 MB\n"),
      std::string::npos)
      << text;
}

TEST_F(ProgressTest, EachOfSeveralOutputsHasALineUnderTheEpochs) {
  const std::vector<std::string> names = {"tags", "mood\"s"};
  EpochReport report = SomeEpoch();
  report.train.outputs = {OutputScore{.loss = 0.25, .accuracy = 0.9}, OutputScore{.loss = 0.0001}};
  report.valid.outputs = {OutputScore{.loss = 0.5, .accuracy = 0.8}, OutputScore{.loss = 2.0}};
  report.outputs = names;
  for (const ProgressFormat format : {ProgressFormat::Line, ProgressFormat::Json}) {
    Channel pipe = Channel::Pipe();
    MakeProgress({.fd = pipe.writer(), .format = format})->Epoch(report);
    const std::string text = pipe.Read();
    if (format == ProgressFormat::Line) {
      EXPECT_NE(text.find("\n  tags  loss 0.2500 · accuracy 0.900 · val_loss 0.5000 · val_accuracy 0.800\n"
                          "  mood\"s  loss 1.000e-04 · val_loss 2.0000\n"),
                std::string::npos)
          << text;
    } else {
      EXPECT_NE(text.find("{\"event\":\"output\",\"epoch\":2,\"output\":\"mood\\\"s\",\"loss\":0.0001,\"val_loss\":2}\n"),
                std::string::npos)
          << text;
    }
  }
}

TEST_F(ProgressTest, LinesKeepTheirDistanceAndAnEpochsEndIsAlwaysTold) {
  Channel pipe = Channel::Pipe();
  const auto progress = MakeProgress({.fd = pipe.writer(), .line_seconds = 3600.0});
  for (int i = 0; i < 1000; ++i) progress->Step(SomeStep());
  progress->Epoch(SomeEpoch());
  EXPECT_EQ(Drawn(pipe.Read()).size(), 1u);
}

TEST_F(ProgressTest, OnATerminalABarIsDrawn) {
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer()});
  progress->Step(SomeStep());
  const std::string raw = terminal.Read();
  EXPECT_EQ(raw.find('\n'), std::string::npos);
  EXPECT_NE(raw.find("\x1b[32m━"), std::string::npos) << raw;
  ASSERT_EQ(Drawn(raw).size(), 1u);
  EXPECT_EQ(Drawn(raw)[0],
            "Epoch 2/5  312/1250 ━━━━──────────────── 0:11 left · 12 ms/step · loss 0.3121 · accuracy 0.871 · mem 188/256 MB");
}

TEST_F(ProgressTest, TheBarIsDrawnAtMostTenTimesASecond) {
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer()});
  for (int i = 0; i < 1000; ++i) progress->Step(SomeStep());
  EXPECT_LE(Drawn(terminal.Read()).size(), 3u);
}

TEST_F(ProgressTest, AnEpochsLineStaysAndAMessageStartsOnAFreshLine) {
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer(), .color = ColorMode::Never});
  progress->Step(SomeStep());
  progress->Message("saved");
  progress->Epoch(SomeEpoch());
  const std::string raw = terminal.Read();
  EXPECT_NE(raw.find("MB\x1b[K\r\nsaved\r\n"), std::string::npos) << raw;  // the terminal makes \r\n of \n
  EXPECT_TRUE(raw.ends_with("MB\x1b[K\r\n")) << raw;
}

TEST_F(ProgressTest, NoColorIsRespected) {
  ::setenv("NO_COLOR", "1", 1);
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer()});
  progress->Step(SomeStep());
  const std::string raw = terminal.Read();
  EXPECT_EQ(raw.find("\x1b[32m"), std::string::npos) << raw;
  EXPECT_NE(raw.find("━"), std::string::npos) << raw;
}

TEST_F(ProgressTest, ALocaleWithoutLineDrawingGetsAscii) {
  ::setenv("LC_ALL", "C", 1);
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer(), .color = ColorMode::Never});
  progress->Step(SomeStep());
  for (const char c : terminal.Read()) EXPECT_LT(static_cast<unsigned char>(c), 128);
}

TEST_F(ProgressTest, ADumbTerminalGetsLines) {
  ::setenv("TERM", "dumb", 1);
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer(), .line_seconds = 0.0});
  progress->Step(SomeStep());
  EXPECT_EQ(terminal.Read().find('\x1b'), std::string::npos);
}

TEST_F(ProgressTest, ANarrowWindowLosesTheFieldsOfLeastWorthAndNeverWraps) {
  for (unsigned short columns = 1; columns <= 140; columns = static_cast<unsigned short>(columns + 3)) {
    Channel terminal = Channel::Terminal(columns);
    const auto progress = MakeProgress({.fd = terminal.writer()});
    progress->Step(SomeStep());
    progress->Epoch(SomeEpoch());
    for (const std::string& line : Drawn(terminal.Read()))
      EXPECT_LE(Columns(line), std::max(1, columns - 1)) << columns << " columns: " << line;
  }
  const auto at = [](unsigned short columns) {
    Channel terminal = Channel::Terminal(columns);
    const auto progress = MakeProgress({.fd = terminal.writer()});
    progress->Step(SomeStep());
    return Drawn(terminal.Read()).at(0);
  };
  EXPECT_EQ(at(90), "Epoch 2/5  312/1250 ━━───────── 0:11 left · loss 0.3121 · accuracy 0.871 · mem 188/256 MB");
  EXPECT_EQ(at(80), "Epoch 2/5  312/1250 ━━━━────────────── 0:11 left · loss 0.3121 · mem 188/256 MB");
  EXPECT_EQ(at(60), "Epoch 2/5  312/1250 ━━──────── loss 0.3121 · mem 188/256 MB");
  EXPECT_EQ(at(50), "Epoch 2/5  312/1250  loss 0.3121 · mem 188/256 MB");
  EXPECT_EQ(at(40), "Epoch 2/5  312/1250  loss 0.3121");
  EXPECT_EQ(at(25), "Epoch 2/5  312/1250");
}

TEST_F(ProgressTest, ValidationIsShownLikeAnEpoch) {
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer(), .color = ColorMode::Never});
  progress->Step(SomeStep());
  ::usleep(110'000);
  progress->Work({.what = "validation", .done = 30, .total = 120});
  EXPECT_EQ(Drawn(terminal.Read()).at(1), "Epoch 2/5  validation  30/120 ━━━━━─────────────── 0:00 left · mem 188/256 MB");
  Channel pipe = Channel::Pipe();
  const auto json = MakeProgress({.fd = pipe.writer(), .format = ProgressFormat::Json, .line_seconds = 0.0});
  json->Work({.what = "validation", .done = 30, .total = 120});
  EXPECT_EQ(pipe.Read(), "{\"event\":\"work\",\"what\":\"validation\",\"epoch\":0,\"done\":30,\"total\":120}\n");
}

TEST_F(ProgressTest, ABarOfWorkThatIsDoneLeavesNothing) {
  Channel terminal = Channel::Terminal(120);
  auto progress = MakeProgress({.fd = terminal.writer(), .color = ColorMode::Never});
  progress->Work({.what = "validation", .done = 30, .total = 120});
  EXPECT_TRUE(terminal.Read().ends_with("\x1b[K"));
  progress->Message("told");
  EXPECT_EQ(terminal.Read(), "\r\x1b[Ktold\r\n");
  ::usleep(110'000);
  progress->Work({.what = "validation", .done = 60, .total = 120});
  terminal.Read();
  progress.reset();
  EXPECT_EQ(terminal.Read(), "\r\x1b[K");
}

TEST_F(ProgressTest, TextOnItsWayIntoAStoreIsShownWithItsShareAndItsLines) {
  const ReadingReport report{.file = "a.tsv", .bytes = 25, .total_bytes = 100, .lines = 1234, .counts = true};
  Channel terminal = Channel::Terminal(120);
  const auto bar = MakeProgress({.fd = terminal.writer(), .color = ColorMode::Never});
  bar->Reading(report);
  EXPECT_EQ(Drawn(terminal.Read()).at(0), "counting ━━━━━─────────────── 25 % · 1234 lines");
  Channel pipe = Channel::Pipe();
  const auto lines = MakeProgress({.fd = pipe.writer(), .line_seconds = 0.0});
  lines->Reading({.file = "a.tsv", .bytes = 100, .total_bytes = 100, .lines = 2000});
  EXPECT_EQ(pipe.Read(), "storing  100 % · 2000 lines\n");
  const auto json = MakeProgress({.fd = pipe.writer(), .format = ProgressFormat::Json, .line_seconds = 0.0});
  json->Reading(report);
  EXPECT_EQ(pipe.Read(), "{\"event\":\"reading\",\"pass\":\"count\",\"bytes\":25,\"total_bytes\":100,\"lines\":1234}\n");
}

TEST_F(ProgressTest, NamesCannotMoveTheCursor) {
  Channel pipe = Channel::Pipe();
  const auto progress = MakeProgress({.fd = pipe.writer(), .line_seconds = 0.0});
  const std::vector<std::string> names = {"ta\x1b[2Jgs\r"};
  EpochReport report = SomeEpoch();
  report.outputs = names;
  Plan plan;
  plan.feasible = true;
  plan.stages = {{.layers = {"a\x1b\r"}, .blocks = 1}, {.layers = {"b"}, .blocks = 1}};
  progress->Planned(plan);
  progress->Message("no file \x1b[31m\rred");
  progress->Work({.what = "\x1b"});
  progress->Epoch(report);
  const std::string text = pipe.Read();
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
  EXPECT_NE(text.find("no file ?[31m?red\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  ta?[2Jgs?  loss"), std::string::npos) << text;
}

TEST_F(ProgressTest, ThePlanIsBrokenBetweenWordsInANarrowWindow) {
  Plan plan;
  plan.feasible = true;
  plan.budget_bytes = 64'000'000;
  plan.peak_bytes = 60'000'000;
  plan.min_bytes = 10'000'000;
  plan.own_groups_bytes = 12'000'000;
  plan.owners = {{"program", 9'000'000}, {"tape", 40'000'000}, {"workspace", 6'000'000}, {"weights", 5'000'000}};
  Channel terminal = Channel::Terminal(48);
  MakeProgress({.fd = terminal.writer()})->Planned(plan);
  EXPECT_EQ(
      Drawn(terminal.Read()),
      (std::vector<std::string>{"plan   fits: 60 MB of 64 MB (tape 40.0, program", "       9.0, workspace 6.0, weights 5.0)",
                                "       smallest budget 10 MB; 12 MB for row", "       groups of the job's own size"}));
}

TEST_F(ProgressTest, AWindowThatBecomesNarrowerLeavesNothingOfTheOldBar) {
  Channel terminal = Channel::Terminal(120);
  const auto progress = MakeProgress({.fd = terminal.writer(), .color = ColorMode::Never});
  progress->Step(SomeStep());
  const int before = Columns(Drawn(terminal.Read()).at(0));
  ASSERT_GT(before, 80);
  const winsize window = {.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal.writer(), TIOCSWINSZ, &window), 0);
  ::usleep(110'000);
  progress->Step(SomeStep());
  const std::string raw = terminal.Read();
  EXPECT_TRUE(raw.starts_with("\x1b[2A\r\x1b[J")) << raw;  // three lines of 40 columns: up to the first, then all below goes
}

TEST_F(ProgressTest, JsonIsOneObjectALine) {
  Channel pipe = Channel::Pipe();
  const auto progress = MakeProgress({.fd = pipe.writer(), .format = ProgressFormat::Json, .line_seconds = 0.0});
  StepReport step = SomeStep();
  step.loss = std::numeric_limits<double>::quiet_NaN();
  progress->Planned(Plan{});
  progress->Message("a \"quoted\"\tline" + std::string(5000, '\x01'));
  progress->Step(step);
  progress->Epoch(SomeEpoch());
  std::vector<nlohmann::json> objects;
  for (const std::string& line : Drawn(pipe.Read())) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 4u);
  EXPECT_EQ(objects[0]["event"], "plan");
  EXPECT_EQ(objects[1]["text"].get<std::string>().substr(0, 15), "a \"quoted\"\tline");
  EXPECT_TRUE(objects[2]["loss"].is_null());
  EXPECT_EQ(objects[2]["step"], 312);
  EXPECT_EQ(objects[3]["val_loss"], 0.4);
  EXPECT_EQ(objects[3]["peak_bytes"], 189'000'000);
}

TEST_F(ProgressTest, NoneSaysNothing) {
  Channel pipe = Channel::Pipe();
  const auto progress = MakeProgress({.fd = pipe.writer(), .format = ProgressFormat::None, .line_seconds = 0.0});
  progress->Planned(Plan{});
  progress->Message("text");
  progress->Step(SomeStep());
  progress->Epoch(SomeEpoch());
  EXPECT_EQ(pipe.Read(), "");
}

TEST_F(ProgressTest, StepAndEpochTakeNothingFromTheHeap) {
  for (const ProgressFormat format : {ProgressFormat::Bar, ProgressFormat::Line, ProgressFormat::Json, ProgressFormat::None}) {
    const int null = ::open("/dev/null", O_WRONLY);
    const auto progress = MakeProgress({.fd = null, .format = format, .line_seconds = 0.0});
    const int64_t before = heap.allocations;
    for (int i = 0; i < 100; ++i) {
      StepReport step = SomeStep();
      step.epoch = i;  // each draws: the bar's clock is the only limit
      step.loss = 1e-9 * i;
      step.step_ms = i * 100.0;
      progress->Step(step);
      progress->Work({.what = "validation", .done = i, .total = 100});
      progress->Epoch(SomeEpoch());
    }
    EXPECT_EQ(heap.allocations, before);
    ::close(null);
  }
}

TEST_F(ProgressTest, OddNumbersAreShownAndNotStumbledOver) {
  Channel pipe = Channel::Pipe();
  const auto progress = MakeProgress({.fd = pipe.writer(), .line_seconds = 0.0});
  progress->Step({});
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  constexpr double kNoNumber = std::numeric_limits<double>::infinity();
  progress->Step({.epoch = kHuge,
                  .epochs = kHuge,
                  .step_in_epoch = kHuge,
                  .steps_per_epoch = kHuge,
                  .update = kHuge,
                  .loss = -kNoNumber,
                  .accuracy = kNoNumber,
                  .step_ms = kNoNumber,
                  .resident_bytes = kHuge,
                  .budget_bytes = kHuge});
  progress->Epoch({.epoch = -1, .epochs = 0, .updates = 0, .seconds = std::nan(""), .train = {.loss = 1e300}, .valid = {}});
  EXPECT_EQ(Drawn(pipe.Read()).size(), 3u);
}

}  // namespace
}  // namespace plimsoll
