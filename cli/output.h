// output: how the program answers. Results go to stdout, everything else to stderr.
#pragma once

#include <plimsoll/observer.h>
#include <plimsoll/progress.h>
#include <plimsoll/status.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"

using Json = nlohmann::ordered_json;

// Writes a result. Returns the exit code: 0, or 7 when stdout did not take it.
int Answer(std::string_view text);
int AnswerJson(const Json& json);

// Tells an error, as JSON on stdout where that was asked for, else on stderr. Returns its exit code.
int Fail(bool as_json, const plimsoll::Status& status);

// The listener that the flags ask for, on stderr.
std::unique_ptr<plimsoll::Observer> ProgressFor(const Arguments& arguments);

// A name of the user's without what would move a cursor.
std::string Plain(std::string name);

int TerminalColumns();  // of stdout; 80 where it is no terminal

// "loss 0.3121 · accuracy 0.871"; `outputs` are the names of several: then "loss 0.5 (tags loss 0.3121, mood loss 0.19)".
std::string ScoreText(const plimsoll::Score& score, const std::vector<std::string>& outputs = {});
Json ScoreJson(const plimsoll::Score& score, const std::vector<std::string>& outputs = {});
