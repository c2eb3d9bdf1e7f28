// vector_file: a table of vectors from a file into the packed weights of an Embedding, without a copy of it anywhere.
//   .npy       float32 of (rows, width)
//   otherwise  text, as word2vec and GloVe write it: a line for each row in the order of ids, a word first, which is not looked
//              at, then its numbers. The first line may be "ROWS WIDTH" instead.
// Refused, with file and line: another number of rows or of numbers, what is no number, what is not finite.
#pragma once

#include <span>
#include <string>

#include "layers/weight_layout.h"
#include "plimsoll/status.h"

namespace plimsoll {

// The file is read through `buffer`, whose size bounds a word.
Status ReadVectors(const std::string& path, const WeightTensor& table, float* packed, std::span<char> buffer);

}  // namespace plimsoll
