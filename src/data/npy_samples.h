// npy_samples: samples that lie in .npy or .npz files, used where they lie.
//   in:    x, y and optionally lengths, as arrays of a .npz or as .npy files of their own
//   out:   Samples; each read is a pread into the caller's memory
//   never: holds the data; allocates after opening; lets a value through that is not finite or an id or class number
//          that is not below shape().vocabulary or shape().classes, even when the file changes later
//
// What the shapes mean. N = samples, T = steps of the rows, R = all steps of all samples (the sum of lengths).
//   x (N, T)             whole numbers: ids; floats: one feature a step. Rows end at `lengths` where it is given
//   x (N, T, features)   features, of any type
//   x (R,), lengths      packed rows: ids, or one feature a step
//   x (R, features), lengths   packed rows of features, of any type
//     (N, T) and (R, features) both fit only when every length is 1: whole numbers are then (N, T), floats (R, features).
//   With packed rows T is the longest length. Targets, the first line that fits:
//   y (N,)               one a sample
//   y (R,)               one a step, packed
//   y (N, T), T > 1      one a step; so a vector of T values a sample is written (N, 1, T)
//   y (N, width)         one a sample      }
//   y (R, width)         one a step        }  width must be 1 for class numbers
//   y (N, T, width)      one a step        }
//   y (N, 1, width)      one a sample      }
//   With SamplesRequest::one_hot: y (N, classes), (R, classes) or (N, T, classes), rows of zeros with a one in them.
//   With SamplesRequest::unaligned: y (N, L) or, with target_lengths, packed (S,): labels from 1, which have no steps. Where
//   target_lengths (N,) is given it says how many of the L belong to a sample.
//   weights (N,)         what each sample counts
// Values behind a sample's length are padding and never looked at. Class numbers may be stored as floats if whole.
#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "data/samples.h"
#include "plimsoll/status.h"

namespace plimsoll {

// The file holds `x`, `y` and, where rows end early or are packed, `lengths`. Other arrays are left alone.
Result<std::unique_ptr<Samples>> OpenNpz(File file, const SamplesRequest& request);

// `file` is x; the request's `targets` and, unless empty, `lengths` are paths of .npy files.
Result<std::unique_ptr<Samples>> OpenNpy(File file, const SamplesRequest& request);

}  // namespace plimsoll
