// multiply_add_speed: how fast this machine multiplies and adds on what its registers hold, with all threads of a pool: no
//   product of matrices can be faster.
#pragma once

#include "base/threads.h"
#include "kernels/product_speed.h"

namespace plimsoll {

// Operations a second, over so many samples of about a millisecond.
ProductSpeed::Rate MeasureMultiplyAdds(ThreadPool& pool, int samples);

}  // namespace plimsoll
