// data_fingerprint: a number by which a resumed run knows its data again, wherever they lie.
//   It is made of shapes, counts, every length, and the values of a few samples spread over the whole.
#pragma once

#include <cstdint>

#include "data/samples.h"
#include "plimsoll/status.h"

namespace plimsoll {

// `valid` may be null.
Result<uint64_t> FingerprintOf(Samples& train, Samples* valid);

}  // namespace plimsoll
