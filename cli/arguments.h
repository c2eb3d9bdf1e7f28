// arguments: what was typed, as values.
//   in:    argv
//   out:   the verb and its Arguments; or text to show (help, version); or what is wrong, with what to try
//   never: reads a file or prints
// Flags that are only short names of job keys become overrides, so that the job's own table checks them.
#pragma once

#include <plimsoll/options.h>
#include <plimsoll/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct Arguments {
  std::string target;  // job file; evaluate: run or model folder
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
  // evaluate and resize, which have no job to override
  std::string data_file;
  std::string targets;
  std::string lengths;
  std::string target_lengths;
  std::string initial_state;
  std::string memory;
  int64_t threads = 0;
  double wait_seconds = 120.0;  // resize
};

struct Parsed {
  int (*run)(const Arguments&) = nullptr;  // nothing: only `text` is to be shown
  Arguments arguments;
  std::string text;
};

plimsoll::Result<Parsed> ParseArguments(const std::vector<std::string>& typed);

// Whether errors are to be told as JSON, known before anything else is.
bool AsksForJson(const std::vector<std::string>& typed);
