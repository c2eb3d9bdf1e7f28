// arguments: what was typed, as values.
//   in:    argv
//   out:   the verb and its Arguments; or text to show (help, version); or what is wrong, with what to try
//   never: reads a file or prints
// Flags that are only short names of job keys become overrides, so that the job's own table checks them.
#pragma once

#include <plimsoll/options.h>
#include <plimsoll/status.h>
#include <plimsoll/trainer.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct Arguments {
  std::string target;  // job file; evaluate: run or model folder
  std::string input;   // predict: its data
  std::vector<plimsoll::JobOverride> overrides;
  std::string out;
  bool json = false;
  bool quiet = false;
  bool print_config = false;
  bool dry_run = false;
  bool curve = false;
  std::string resume;
  bool allow_changes = false;
  double max_seconds = 0.0;
  std::string log_format = "auto";
  std::string color = "auto";
  int64_t log_every = 0;
  bool trace = false;
  bool no_report = false;
  std::string trace_steps;  // "10" or "10-12"
  // evaluate and resize, which have no job to override
  std::string data_file;
  std::string targets;
  std::string lengths;
  std::string target_lengths;
  std::string initial_state;
  std::string memory;
  int64_t threads = 0;
  // predict
  int64_t top = 1;
  std::string format = "jsonl";
  std::string input_format = "auto";
  int64_t skip_bad = 0;
  double wait_seconds = 120.0;        // resize
  std::string against;                // explain
  int64_t port = 6006;                // watch
  std::vector<std::string> problems;  // bench
  double seconds = 3.0;
  // generate
  std::string prompt;
  std::string prompt_file;
  int64_t tokens = 256;
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  uint64_t seed = 1;
  std::string stop;
  int64_t count = 1;
};

struct Parsed {
  int (*run)(const Arguments&) = nullptr;  // nothing: only `text` is to be shown
  Arguments arguments;
  std::string text;
};

// The tree of verbs and flags that the parser goes by, for what is made from it: completion and the man page.
struct FlagFacts {
  std::string name;   // "--memory"
  std::string value;  // "SIZE"; empty: it has none
  std::string about;
  std::vector<std::string_view> choices;  // empty: any value
};
struct VerbFacts {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view target;  // "JOB", "RUN", ...; empty: none
  std::string_view target_about;
  std::string_view about;
  std::vector<FlagFacts> flags;
  bool job_keys = false;  // every key of a job is a flag, too
  std::array<std::string_view, 2> examples;
};
std::vector<VerbFacts> DescribeVerbs();

plimsoll::Result<Parsed> ParseArguments(const std::vector<std::string>& typed);

// The updates that a trace is asked for; last = 0: none, or what was typed means none.
plimsoll::TraceOptions TracedSteps(const Arguments& arguments);

// Whether errors are to be told as JSON, known before anything else is.
bool AsksForJson(const std::vector<std::string>& typed);
