// Everything a user of the library needs. Inside the tree, include the single headers instead.
#pragma once

#include "plimsoll/custom.h"
#include "plimsoll/data.h"
#include "plimsoll/generate.h"
#include "plimsoll/observer.h"
#include "plimsoll/options.h"
#include "plimsoll/plan.h"
#include "plimsoll/predict.h"
#include "plimsoll/progress.h"
#include "plimsoll/session.h"
#include "plimsoll/status.h"
#include "plimsoll/text.h"
#include "plimsoll/trainer.h"
#include "plimsoll/version.h"
