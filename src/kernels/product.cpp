// product: the set of tiles of a run and the code that libxsmm's generator writes for them.
#include "kernels/product.h"

#include <fmt/format.h>
#include <libxsmm_cpuid.h>
#include <libxsmm_generator.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/machine.h"

namespace plimsoll {
namespace {

constexpr uint64_t kNoOffset[1] = {0};
constexpr int64_t kCodeBytesPerTile = 32 * kKiB;  // address space only; what is not written is given back

// The generator splits a short sum over several accumulators where a tile of AVX-512 has few of them: narrow and low ones are
// left to AVX2, or the bits of a row would depend on its tile.
bool OneAccumulatorWide(const TileShape& s) { return s.m > 16 || s.n > 11; }

// One tile against one fmaf accumulator an element, on small whole numbers and on thirds.
bool AgreesWithPlainLoops(const Tile& tile, const TileShape& s) {
  const int64_t rows_needed = s.transposed ? int64_t{s.k} * s.ldb : int64_t{s.n} * s.ldb;
  std::vector<float> rows(static_cast<size_t>(rows_needed)), panel(static_cast<size_t>(int64_t{s.k} * s.lda));
  std::vector<float> out(static_cast<size_t>(int64_t{s.n} * s.ldc));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 3.0f;
  for (size_t i = 0; i < panel.size(); ++i) panel[i] = static_cast<float>(static_cast<int>(i * 5 % 19) - 9) / 7.0f;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i % 5);
  std::vector<float> wanted = out;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t m = 0; m < s.m; ++m) {
      float& place = wanted[static_cast<size_t>(n * s.ldc + m)];
      float sum = s.add ? place : 0.0f;
      for (int64_t k = 0; k < s.k; ++k) {
        const int64_t row = s.transposed ? k * s.ldb + n : n * s.ldb + k;
        sum = std::fmaf(rows[static_cast<size_t>(row)], panel[static_cast<size_t>(k * s.lda + m)], sum);
      }
      place = sum;
    }
  }
  if (s.batch) {
    tile.Batch(out.data(), rows.data(), panel.data(), 1, kNoOffset, kNoOffset);
  } else {
    tile(out.data(), rows.data(), panel.data());
  }
  return std::memcmp(out.data(), wanted.data(), out.size() * sizeof(float)) == 0;
}

}  // namespace

void Tile::operator()(float* out, const float* rows, const float* panel) const {
  if (code_ != nullptr) [[likely]] {
    reinterpret_cast<Function>(const_cast<void*>(code_))(panel, rows, out);
  } else {
    product_tile(shape_, out, rows, panel, 1, kNoOffset, kNoOffset);
  }
}

void Tile::Batch(float* out, const float* rows, const float* panel, uint64_t count, const uint64_t* panel_bytes,
                 const uint64_t* rows_bytes) const {
  if (code_ != nullptr) [[likely]] {
    reinterpret_cast<BatchFunction>(const_cast<void*>(code_))(panel, rows, out, &count, panel_bytes, rows_bytes);
  } else {
    product_tile(shape_, out, rows, panel, count, panel_bytes, rows_bytes);
  }
}

ProductSet::~ProductSet() {
  if (code_ != nullptr) munmap(code_, static_cast<size_t>(mapped_bytes_));
}

int ProductSet::AddNew(const TileShape& shape) {
  PLIMSOLL_CHECK(code_ == nullptr, "tiles are added before they are compiled");
  PLIMSOLL_CHECK(shape.m % 8 == 0 && shape.m > 0 && shape.n > 0 && shape.k > 0, "a tile needs whole vectors of columns");
  tiles_.emplace_back().shape_ = shape;
  return static_cast<int>(tiles_.size()) - 1;
}

int ProductSet::AddHeights(TileShape shape) {
  shape.n = 1;
  for (size_t at = 0; at < tiles_.size(); ++at) {
    // Only families begin with a height of one and go on to two.
    TileShape second = shape;
    second.n = 2;
    if (tiles_[at].shape_ == shape && at + 1 < tiles_.size() && tiles_[at + 1].shape_ == second) return static_cast<int>(at);
  }
  const int first = AddNew(shape);
  for (shape.n = 2; shape.n <= kTileRows; ++shape.n) AddNew(shape);
  return first;
}

void ProductSet::Compile(ProductBackend wanted, InstructionSet set) {
  set_ = set;
  const bool can = wanted == ProductBackend::Generated && set != InstructionSet::Basic;
  backend_ = can && Generate(set) ? ProductBackend::Generated : ProductBackend::Portable;
}

bool ProductSet::Generate(InstructionSet set) {
  mapped_bytes_ = RoundUp(static_cast<int64_t>(tiles_.size()) * kCodeBytesPerTile, 4096);
  if (mapped_bytes_ == 0) return true;
  code_ = mmap(nullptr, static_cast<size_t>(mapped_bytes_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code_ == MAP_FAILED) {
    code_ = nullptr;
    return false;
  }
  bool good = true;
  int64_t used = 0;
  for (Tile& tile : tiles_) {
    const TileShape& s = tile.shape_;
    libxsmm_descriptor_blob blob;
    const int flags = (s.transposed ? LIBXSMM_GEMM_FLAG_TRANS_B : 0) | (s.batch ? LIBXSMM_GEMM_FLAG_BATCH_REDUCE_OFFSET : 0);
    const libxsmm_gemm_descriptor* descriptor = libxsmm_sgemm_descriptor_init(
        &blob, s.m, s.n, s.k, s.lda, s.ldb, s.ldc, 1.0f, s.add ? 1.0f : 0.0f, flags, LIBXSMM_GEMM_PREFETCH_NONE);
    libxsmm_generated_code code;
    std::memset(&code, 0, sizeof code);
    code.generated_code = static_cast<char*>(code_) + used;
    code.buffer_size = static_cast<unsigned>(std::min<int64_t>(mapped_bytes_ - used, kCodeBytesPerTile * 4));
    code.code_type = 2;  // machine code into the buffer
    code.arch = set == InstructionSet::Avx512 && OneAccumulatorWide(s) ? LIBXSMM_X86_AVX512_CORE : LIBXSMM_X86_AVX2;
    if (descriptor != nullptr) libxsmm_generator_gemm_kernel(&code, descriptor);
    if (descriptor == nullptr || code.last_error != 0 || code.code_size == 0) {
      good = false;
      break;
    }
    tile.code_ = code.generated_code;
    used += RoundUp(code.code_size, 32);
  }
  const int64_t kept = RoundUp(std::max<int64_t>(used, 1), 4096);
  munmap(static_cast<char*>(code_) + kept, static_cast<size_t>(mapped_bytes_ - kept));
  mapped_bytes_ = kept;
  code_bytes_ = used;
  good = good && mprotect(code_, static_cast<size_t>(mapped_bytes_), PROT_READ | PROT_EXEC) == 0;
  bool compared[16] = {};
  for (size_t i = 0; good && i < tiles_.size(); ++i) {
    const TileShape& s = tiles_[i].shape_;
    bool& done = compared[(s.add ? 1 : 0) + (s.transposed ? 2 : 0) + (s.batch ? 4 : 0) + (OneAccumulatorWide(s) ? 8 : 0)];
    if (!done) good = AgreesWithPlainLoops(tiles_[i], s);
    done = true;
  }
  if (!good) {
    for (Tile& tile : tiles_) tile.code_ = nullptr;
    code_bytes_ = 0;
  }
  return good;
}

std::string ProductSet::Name() const {
  if (backend_ == ProductBackend::Portable) return fmt::format("Highway ({})", PointwiseTarget());
  return set_ == InstructionSet::Avx512 ? "libxsmm (AVX-512)" : "libxsmm (AVX2)";
}

std::string ProductSet::Describe() const {
  if (backend_ == ProductBackend::Portable) return Name();
  return fmt::format("{}, {} tiles, {}", Name(), tiles_.size(), PrettyBytes(code_bytes_));
}

}  // namespace plimsoll
