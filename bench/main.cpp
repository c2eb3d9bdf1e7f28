// plimsoll-bench: how fast this machine trains problems (problem.h), and in how much memory. `plimsoll bench` becomes this
//   program, so that none of it counts against the budget of what trains.
//   PROBLEM... [--threads N] [--seconds S] [--json]    verifies each, then times it in a process of its own
//   PROBLEM --describe                                 its sizes, lengths and operations as JSON, for bench/compare
//   PROBLEM --threads N --worker [--json]              runs steps when asked (serve.h)
//   out:   a table, or JSON with one object a line. Exit code 6 where a step is wrong; it is then not timed
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/threads.h"
#include "bench/serve.h"
#include "bench/verified.h"
#include "bench/worker_process.h"
#include "cli/output.h"

namespace plimsoll {
namespace {

// Some seconds each: the usual sizes, another cell, and rows of all lengths.
const std::vector<std::string> kUsualProblems = {"lstm t50 b32 d64 h64", "lstm t100 b64 d256 h256", "gru t100 b64 d256 h256",
                                                 "lstm t1000 b32 d128 h128 ragged"};

struct Asked {
  std::vector<std::string> problems;
  int threads = 0;
  double seconds = 3.0;
  bool json = false, worker = false, describe = false;
};

template <typename T>
bool ReadNumber(const std::string& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<Asked> ReadWords(const std::vector<std::string>& words) {
  Asked asked;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "--json") {
      asked.json = true;
    } else if (word == "--worker") {
      asked.worker = true;
    } else if (word == "--describe") {
      asked.describe = true;
    } else if (word == "--threads") {
      if (!ReadNumber(value, asked.threads) || asked.threads < 0 || asked.threads > kMaxThreads)
        return Status::Usage(fmt::format("--threads: wanted a whole number from 0 to {}, got {}", kMaxThreads, value));
      ++i;
    } else if (word == "--seconds") {
      if (!ReadNumber(value, asked.seconds) || !(asked.seconds > 0.0 && asked.seconds <= 3600.0))
        return Status::Usage(fmt::format("--seconds: wanted a number above 0 and up to 3600, got {}", value));
      ++i;
    } else if (word.starts_with("--")) {
      return Status::Usage(fmt::format("unknown flag {}", word), "plimsoll bench --help");
    } else {
      asked.problems.push_back(word);
    }
  }
  if (asked.threads == 0) asked.threads = static_cast<int>(ReadCpuFacts().cores);
  if (asked.problems.empty()) asked.problems = kUsualProblems;
  return asked;
}

// What a problem came to. Times and rates are zero where it was not timed.
struct Timed {
  double ms = 0.0, best_ms = 0.0;
  double limit_gflops = 0.0, registers_gflops = 0.0;
  int64_t peak_bytes = 0, plan_bytes = 0;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// In turns: the machine's limits, then steps, so that what else the machine does hits both.
bool TakeTurns(WorkerProcess& worker, double seconds, Timed& timed) {
  constexpr double kTurnMs = 150.0;
  constexpr int kFewestTurns = 3, kMostSteps = 1000;
  using Clock = std::chrono::steady_clock;
  std::vector<double> answer, times, products, registers;
  int steps = 1;
  if (!worker.Ask("", "ready", answer)) return false;
  if (!worker.Ask("go 1", "ms", answer)) return false;  // not counted: it tells how many steps make a turn
  const Clock::time_point start = Clock::now();
  for (int turn = 0; turn < kFewestTurns || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++turn) {
    steps = std::clamp(static_cast<int>(kTurnMs / answer[0]), 1, kMostSteps);
    if (!worker.Ask("limit", "gflops", answer)) return false;
    products.push_back(answer[0]);
    registers.push_back(answer[2]);
    if (!worker.Ask(fmt::format("go {}", steps), "ms", answer)) return false;
    times.insert(times.end(), answer.begin(), answer.end());
  }
  timed.ms = Median(times);
  timed.best_ms = *std::min_element(times.begin(), times.end());
  timed.limit_gflops = Median(products);
  timed.registers_gflops = Median(registers);
  if (!worker.Ask("plan", "plan", answer)) return false;
  timed.plan_bytes = static_cast<int64_t>(answer[0]);
  if (!worker.Ask("memory", "peak", answer)) return false;
  timed.peak_bytes = static_cast<int64_t>(answer[0]);
  return true;
}

std::string Line(const Problem& problem, int threads, const Verified& verified, const Timed& timed, bool json) {
  const bool whole = verified.on.rows == problem.rows && verified.on.steps == problem.steps;
  const double gflops = timed.ms > 0.0 ? problem.Operations() / timed.ms / 1e6 : 0.0;
  const double share = timed.limit_gflops > 0.0 ? gflops / timed.limit_gflops : 0.0;
  if (!json && !verified.ok) return fmt::format("{:<36} {:>2}  NOT VERIFIED: {}\n", problem.text, threads, verified.difference);
  if (!json) {
    return fmt::format("{:<36} {:>2} {:>9.2f} {:>9.2f} {:>8.1f} {:>9.1f} {:>9.1f} {:>6.0f}% {:>8.1f} {:>8.1f}  {}\n",
                       problem.text, threads, timed.ms, timed.best_ms, gflops, timed.limit_gflops, timed.registers_gflops,
                       1e2 * share, static_cast<double>(timed.peak_bytes) / 1e6, static_cast<double>(timed.plan_bytes) / 1e6,
                       whole ? "all of it" : fmt::format("{} rows, {} steps", verified.on.rows, verified.on.steps));
  }
  Json line = {{"problem", problem.text}, {"threads", threads}};
  if (verified.ok) {
    line.update({{"ms", timed.ms},
                 {"best_ms", timed.best_ms},
                 {"gflops", gflops},
                 {"limit_gflops", timed.limit_gflops},
                 {"registers_gflops", timed.registers_gflops},
                 {"share", share},
                 {"peak_bytes", timed.peak_bytes},
                 {"plan_bytes", timed.plan_bytes}});
  }
  line.update({{"verified", verified.ok}, {"verified_rows", verified.on.rows}, {"verified_steps", verified.on.steps}});
  if (!verified.ok) line["difference"] = verified.difference;
  return line.dump() + "\n";
}

int Bench(const Problem& problem, const Asked& asked) {
  const Result<Verified> verified = VerifyProblem(problem, asked.threads);
  if (!verified.ok()) return Fail(asked.json, verified.status());
  Timed timed;
  if (verified.value().ok) {
    std::vector<std::string> words = {problem.text, "--threads", std::to_string(asked.threads), "--worker"};
    if (asked.json) words.emplace_back("--json");
    WorkerProcess worker(words);
    if (!TakeTurns(worker, asked.seconds, timed)) {
      // What stopped it is told by itself, on stderr or as JSON.
      const std::string last = worker.LastWords();
      const int code = worker.ExitCode();
      if (!last.empty()) Answer(last);
      if (code != 0) return code;
      return Fail(asked.json, Status(StatusKind::Internal, {.message = "the process that is timed ended early", .hint = ""}));
    }
  }
  const int answered = Answer(Line(problem, asked.threads, verified.value(), timed, asked.json));
  if (answered != 0) return answered;
  return verified.value().ok ? 0 : static_cast<int>(StatusKind::PromiseBroken);
}

int Describe(const Problem& problem) {
  return AnswerJson({{"problem", problem.text},
                     {"cell", problem.cell},
                     {"steps", problem.steps},
                     {"rows", problem.rows},
                     {"inputs", problem.inputs},
                     {"units", problem.units},
                     {"layers", problem.layers},
                     {"words", problem.words},
                     {"projected", problem.projected},
                     {"ragged", problem.ragged},
                     {"budget", problem.budget},
                     {"classes", problem.classes()},
                     {"operations", problem.Operations()},
                     {"lengths", problem.Lengths()}});
}

int Run(const std::vector<std::string>& words, bool json) {
  const Result<Asked> asked = ReadWords(words);
  if (!asked.ok()) return Fail(json, asked.status());
  std::vector<Problem> problems;
  for (const std::string& text : asked.value().problems) {  // all are understood before the first takes its time
    const Result<Problem> problem = ParseProblem(text);
    if (!problem.ok()) return Fail(json, problem.status());
    problems.push_back(problem.value());
  }
  if (asked.value().describe) return Describe(problems.front());
  if (asked.value().worker) {
    const Status served = Serve(problems.front(), asked.value().threads);
    return served.ok() ? 0 : Fail(json, served);
  }
  if (!json) {
    const int answered =
        Answer(fmt::format("{:<36} {:>2} {:>9} {:>9} {:>8} {:>9} {:>9} {:>7} {:>8} {:>8}  {}\n", "problem", "th", "ms",
                           "best ms", "GFLOP/s", "products", "registers", "share", "peak MB", "plan MB", "verified on"));
    if (answered != 0) return answered;
  }
  int code = 0;
  for (const Problem& problem : problems) {
    const int result = Bench(problem, asked.value());
    if (result != 0 && result != static_cast<int>(StatusKind::PromiseBroken)) return result;
    code = std::max(code, result);
  }
  if (json) return code;
  const int answered = Answer(
      "\nms: the median training step. products, registers: GFLOP/s of this machine's product tiles and of its multiply-adds "
      "in\n"
      "registers, measured in the same turns; share: of products. verified: against plain loops in double precision.\n");
  return answered != 0 ? answered : code;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a timed process that ends early is an error that is told, not the end
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  try {
    return plimsoll::Run(words, json);
  } catch (const std::exception& error) {
    return Fail(json, plimsoll::Status(plimsoll::StatusKind::Internal, {.message = error.what(), .hint = ""}));
  }
}
