// zstd_library: libzstd's decoder, loaded where a .zst file is met and given back with it.
//   Linked in, it would take 0.7 MB of every budget, for files that most jobs do not have.
//   out:   the few calls that decoding a stream needs; or which package is missing
//   never: stays loaded: whoever reads a .zst does so before the process base is measured
#pragma once

#include <zstd.h>

#include <memory>

#include "plimsoll/status.h"

namespace plimsoll {

class ZstdLibrary {
 public:
  static Result<std::unique_ptr<ZstdLibrary>> Load();
  ~ZstdLibrary();
  ZstdLibrary(const ZstdLibrary&) = delete;
  ZstdLibrary& operator=(const ZstdLibrary&) = delete;

  decltype(&ZSTD_createDStream) create = nullptr;
  decltype(&ZSTD_freeDStream) free = nullptr;
  decltype(&ZSTD_DCtx_setParameter) set = nullptr;
  decltype(&ZSTD_decompressStream) decompress = nullptr;
  decltype(&ZSTD_isError) is_error = nullptr;
  decltype(&ZSTD_getErrorName) error_name = nullptr;

 private:
  explicit ZstdLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace plimsoll
