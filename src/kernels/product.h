// product: small matrix products on tiles, the only multiply-add work of the library.
//   A tile is     out[n][m]  (+)=  rows[n][k] x panel[k][m]          row-major, strides ldc, ldb, lda
//   transposed:   the rows operand lies as rows[k][n]                (weight gradients: reduction over rows)
//   batch:        the sum over a list of (panel, rows) pairs         (reduction over column panels)
// Every element has one accumulator and an ascending reduction index, with fused multiply-add where the machine has it, so a
// row's bits do not depend on the tile's height, on how the reduction is cut, or on which of the two backends ran:
// libxsmm's generator writes code for each shape into one mapping; where executable memory is refused Highway computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/machine.h"

namespace plimsoll {

inline constexpr int kPanelColumns = 32;  // columns of a weight panel: four vectors of eight
inline constexpr int kTileRows = 32;      // most rows of one tile

struct TileShape {
  int32_t m = 0, n = 0, k = 0;
  int32_t lda = 0, ldb = 0, ldc = 0;
  bool add = false;  // onto what is there; else overwrite
  bool transposed = false;
  bool batch = false;
  bool operator==(const TileShape&) const = default;
};

class Tile {
 public:
  void operator()(float* out, const float* rows, const float* panel) const;
  // Batch: pair i starts panel_bytes[i] and rows_bytes[i] bytes behind `panel` and `rows`.
  void Batch(float* out, const float* rows, const float* panel, uint64_t count, const uint64_t* panel_bytes,
             const uint64_t* rows_bytes) const;

 private:
  friend class ProductSet;
  using Function = void (*)(const float* panel, const float* rows, float* out);
  using BatchFunction = void (*)(const float* panel, const float* rows, float* out, const uint64_t* count,
                                 const uint64_t* panel_bytes, const uint64_t* rows_bytes);
  TileShape shape_;
  const void* code_ = nullptr;  // null: Highway
};

enum class ProductBackend { Generated, Portable };

// All tiles of a run. Shapes are added while the model is built, compiled once, and then only called.
class ProductSet {
 public:
  ProductSet() = default;
  ~ProductSet();
  ProductSet(const ProductSet&) = delete;
  ProductSet& operator=(const ProductSet&) = delete;

  // Adds a tile and returns its number; numbers follow each other.
  int AddNew(const TileShape& shape);
  // Tiles of n = 1 .. kTileRows; returns the number of the one with n = 1. A family that is there already is shared.
  int AddHeights(TileShape shape);

  // Writes the code, makes it executable and compares one tile of each kind with plain loops. Portable when `wanted` says
  // so, when there is no AVX2 and FMA, or when executable memory is refused.
  void Compile(ProductBackend wanted, InstructionSet set = BestInstructions());

  const Tile& operator[](int number) const { return tiles_[static_cast<size_t>(number)]; }
  ProductBackend backend() const { return backend_; }
  int64_t code_bytes() const { return code_bytes_; }
  std::string Name() const;      // "libxsmm (AVX-512)"
  std::string Describe() const;  // "libxsmm (AVX-512), 412 tiles, 0.4 MB"

 private:
  bool Generate(InstructionSet set);
  std::vector<Tile> tiles_;
  ProductBackend backend_ = ProductBackend::Portable;
  void* code_ = nullptr;
  int64_t mapped_bytes_ = 0;
  int64_t code_bytes_ = 0;
  InstructionSet set_ = InstructionSet::Basic;
};

// The portable tile (Highway), the same bits as generated code.
void product_tile(const TileShape& shape, float* out, const float* rows, const float* panel, uint64_t count,
                  const uint64_t* panel_bytes, const uint64_t* rows_bytes);

// Highway's target on this machine: "AVX2" and the like.
std::string PointwiseTarget();

}  // namespace plimsoll
