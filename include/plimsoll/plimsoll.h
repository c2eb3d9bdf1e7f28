// Everything a user of the library needs. Inside the tree, include the single headers instead.
#pragma once

#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"
#include "plimsoll/status.h"
#include "plimsoll/trainer.h"
