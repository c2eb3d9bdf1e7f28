// signals: how a person or a system ends a run. The first SIGINT or SIGTERM asks it to finish its step, save and leave; the
//   second leaves at once.
#pragma once

#include <plimsoll/trainer.h>

// From here on, for the rest of the process. What is returned is for RunOptions.
const plimsoll::StopRequest* HearSignals();
