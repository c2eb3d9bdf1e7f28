// run: trains a job and answers with what came of it; shared by `train` and `demo`.
#pragma once

#include <plimsoll/options.h>

#include <string>

#include "arguments.h"

// `out` may be empty: then nothing is written.
int TrainAndAnswer(const plimsoll::Job& job, const std::string& out, const Arguments& arguments);
