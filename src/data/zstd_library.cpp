#include "data/zstd_library.h"

#include <dlfcn.h>

namespace plimsoll {

Result<std::unique_ptr<ZstdLibrary>> ZstdLibrary::Load() {
  void* handle = ::dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return Status::Data("libzstd.so.1 is not on this machine, and .zst files need it",
                        "install the Debian package libzstd1, or unpack the file with unzstd elsewhere");
  std::unique_ptr<ZstdLibrary> library(new ZstdLibrary(handle));
  bool all = true;
  const auto find = [&](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(handle, name));
    all = all && call != nullptr;
  };
  find(library->create, "ZSTD_createDStream");
  find(library->free, "ZSTD_freeDStream");
  find(library->set, "ZSTD_DCtx_setParameter");
  find(library->decompress, "ZSTD_decompressStream");
  find(library->is_error, "ZSTD_isError");
  find(library->error_name, "ZSTD_getErrorName");
  if (!all) return Status::Data("libzstd.so.1 is too old for .zst files", "install version 1.4 or later");
  return library;
}

ZstdLibrary::~ZstdLibrary() { ::dlclose(handle_); }

}  // namespace plimsoll
