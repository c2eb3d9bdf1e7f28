// run: trains a job and answers with what came of it; shared by `train` and `demo`.
#pragma once

#include <plimsoll/options.h>

#include <string>

#include "arguments.h"

// PATH, PATH-2, PATH-3, ...
std::string Numbered(const std::string& path, int number);
// Something has that name, be it a link to nothing. What cannot be looked at has not: whoever makes the folder will tell.
bool IsTaken(const std::string& path);
// The first free one of these. That --out is not it is told.
std::string NewRunFolder(const std::string& path, const Arguments& arguments);

// `out` may be empty: then nothing is written.
int TrainAndAnswer(const plimsoll::Job& job, const std::string& out, const Arguments& arguments);
