// lengths: how long samples are.
#pragma once

#include "data/samples.h"
#include "plimsoll/observer.h"

namespace plimsoll {

LengthCounts CountLengths(const Samples& samples);

}  // namespace plimsoll
