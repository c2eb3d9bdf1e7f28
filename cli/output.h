// output: how the program answers. Results go to stdout, everything else to stderr.
#pragma once

#include <plimsoll/observer.h>
#include <plimsoll/progress.h>
#include <plimsoll/status.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "arguments.h"

using Json = nlohmann::ordered_json;

// Writes a result. Returns the exit code: 0, or 7 when stdout did not take it.
int Answer(std::string_view text);
int AnswerJson(const Json& json);

// Tells an error, as JSON on stdout where that was asked for, else on stderr. Returns its exit code.
int Fail(bool as_json, const plimsoll::Status& status);

// The listener that the flags ask for, on stderr.
std::unique_ptr<plimsoll::Observer> ProgressFor(const Arguments& arguments);

int TerminalColumns();  // of stdout; 80 where it is no terminal

std::string ScoreText(const plimsoll::Score& score);  // "loss 0.3121 · accuracy 0.871"
Json ScoreJson(const plimsoll::Score& score);
