// job_tree: a job file as plain values with line numbers, whichever language it was written in.
//   in:    the text of a TOML or JSON file, or the value of one command-line override
//   out:   a tree of values; each knows its line
//   never: knows a key; what may stand in a job is job_schema's business
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/status.h"

namespace plimsoll {

struct JobEntry;

struct JobValue {
  enum class Kind { Null, Flag, Whole, Number, Text, Date, List, Table };
  Kind kind = Kind::Null;
  bool flag = false;
  int64_t whole = 0;
  double number = 0.0;
  std::string text;             // Kind::Text; for an override of any kind also what the user typed
  std::vector<JobValue> list;   // Kind::List
  std::vector<JobEntry> table;  // Kind::Table, in the order of the file (TOML: of the keys)
  int line = 0;                 // from 1; 0: not from a file
};

struct JobEntry {
  std::string key;
  int line = 0;
  JobValue value;
};

JobValue FlagValue(bool flag);
JobValue WholeValue(int64_t whole);
JobValue NumberValue(double number);
JobValue TextValue(std::string text);
JobValue NumberListValue(const std::vector<double>& numbers);
JobValue TextListValue(const std::vector<std::string>& texts);

// As it stands in a job file that we write.
std::string TomlValue(const JobValue& value);
// A number as TOML and JSON read it back, to the bit, and never as a whole number: "1.0", "1e-07".
std::string NumberText(double number);
// `text` in double quotes, shortened and without control bytes: fit for a message.
std::string Quoted(std::string_view text);
// What was got, for a message: `text "five"`, `5`, `a list`.
std::string Describe(const JobValue& value);

// JSON where the first byte that is not blank is '{', else TOML. `file` is for messages: "FILE:LINE:COLUMN: ...".
Result<JobValue> ParseJobText(std::string_view text, const std::string& file);

// An override's value: TOML where it is TOML, a number such as ".5", else text.
JobValue ParseOverrideValue(std::string_view typed);

}  // namespace plimsoll
