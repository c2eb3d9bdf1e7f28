// npy: finds the array inside a .npy file, or inside a .npy member of an archive, and reads runs of its elements.
//   in:    a file and the byte range that holds the .npy
//   out:   type, shape and where the data lie; later elements as float or int32
//   never: allocates by a number that was not checked against the bytes present; runs or guesses at anything (objects
//          are pickle, and refused)
// Layout: 0x93 "NUMPY", two version bytes, header length (u16 in version 1, u32 in 2 and 3), a Python dict literal with
// descr, fortran_order and shape, then the elements, little-endian, last dimension fastest.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "plimsoll/status.h"

namespace plimsoll {

inline constexpr int64_t kNpyHeaderCap = 1 << 20;  // bytes
inline constexpr size_t kNpyRankCap = 8;
inline constexpr int64_t kNpyDimensionCap = int64_t{1} << 40;
inline constexpr std::array<char, 6> kNpyMagic = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

enum class NpyType { F4, F8, I1, I2, I4, I8, U1, U2, U4, U8, B1 };
int64_t NpyTypeBytes(NpyType type);
const char* NpyTypeName(NpyType type);  // "float32"
inline bool IsFloat(NpyType type) { return type == NpyType::F4 || type == NpyType::F8; }

// Where a .npy lies.
struct NpyPlace {
  std::shared_ptr<const File> file;
  std::string name;   // for messages: "x.npy" or "data.npz: array 'x'"
  int64_t begin = 0;  // first byte in `file`
  int64_t bytes = 0;  // of header and data; lies inside the file
};

struct NpyArray {
  std::shared_ptr<const File> file;
  std::string name;
  NpyType type = NpyType::F4;
  std::vector<int64_t> shape;
  int64_t offset = 0;    // of the first element in `file`
  int64_t elements = 0;  // product of the shape; 1 for an empty shape
};
Result<NpyArray> ReadNpyHeader(const NpyPlace& place);

std::string ShapeText(const std::vector<int64_t>& shape);  // "(3, 4)", "(3,)", "()"

// Elements [first, first + count) of the array. Neither call allocates.
// A double beyond float's range becomes infinite, so a test for finite results is also a test of range.
Status ReadAsFloat(const NpyArray& array, int64_t first, int64_t count, float* out);
// Returns how many elements were converted. Fewer than `count`: the next one is not a whole number in [0, 2^31 - 1].
Result<int64_t> ReadAsIndex(const NpyArray& array, int64_t first, int64_t count, int32_t* out);
// One element as text, for messages.
std::string ElementText(const NpyArray& array, int64_t element);

}  // namespace plimsoll
